package charts_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/tenanttest"
)

// TestTenantFolderChangesNoObjectOnTheHub is rule W1 to its end. The objects that
// charts/fleet-secret renders on the hub for a member differ, after any commit of its tenant, in
// labels and annotations of the cluster Secret alone. It renders those of many generated commits
// that change a member's values.
func TestTenantFolderChangesNoObjectOnTheHub(t *testing.T) {
	files := tenanttest.Fleet(0)
	good := querytest.NoProblems(t, querytest.Build(t, files))
	registered := func(st *fleetstate.State) map[string]string {
		out := map[string]string{}
		for _, s := range querytest.List(t, st, querytest.Query(t, `{"view":"members"}`)) {
			out[s.Text("name")] = s.Text("helmValues")
		}
		return out
	}
	before := registered(good)
	objects := map[string]map[string]any{}
	for name, values := range before {
		objects[name] = objectsOnHub(t, values)
	}
	random := rand.New(rand.NewPCG(3, 4))
	changed := 0
	for commits := 0; changed < cases.Times(8); commits++ {
		if commits > 1000*cases.Times(1) {
			t.Fatalf("only %d of %d commits change a registration", changed, commits)
		}
		data := make([]byte, 96)
		for i := 0; i < len(data); i += 8 {
			binary.LittleEndian.PutUint64(data[i:], random.Uint64())
		}
		commit := tenanttest.Commit(files, data)
		if len(commit.Links) > 0 || commit.Members {
			continue
		}
		for name, values := range registered(querytest.Next(t, good, fleettest.Snapshot("rev", commit.Files), good.Facts())) {
			if values == before[name] {
				continue
			}
			changed++
			if diff := cmp.Diff(objects[name], objectsOnHub(t, values)); diff != "" || !tenanttest.IsRed(name) {
				t.Errorf("%s has other objects on the hub: %s\nthe commit:\n%s", name, diff, cmp.Diff(files, commit.Files))
			}
		}
	}
}

// objectsOnHub are what charts/fleet-secret makes of values, by kind and name, without the labels
// and annotations of the cluster Secret.
func objectsOnHub(t *testing.T, values string) map[string]any {
	t.Helper()
	text, err := helmTemplate(repo+"/charts/fleet-secret", valuesFile(t, values))
	if err != nil {
		t.Fatalf("%v\n%s", err, values)
	}
	out := map[string]any{}
	for _, doc := range documents(text) {
		var object struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
			Spec     map[string]any
		}
		require.NoError(t, yaml.Unmarshal([]byte(doc), &object))
		target, _ := object.Spec["target"].(map[string]any)
		template, _ := target["template"].(map[string]any)
		if template["metadata"] == nil {
			t.Fatalf("no metadata of a Secret in\n%s", doc)
		}
		delete(template, "metadata")
		out[object.Kind+" "+object.Metadata.Namespace+"/"+object.Metadata.Name] = object.Spec
	}
	return out
}

// schemaNode is what of a JSON Schema says which keys there are.
type schemaNode struct {
	Type                 any
	Properties           map[string]schemaNode
	AdditionalProperties json.RawMessage
}

// keys are all paths that a schema allows, at any depth, with "any" for keys that it leaves open.
func (n schemaNode) keys(path []string) [][]string {
	out := [][]string{path}
	for name, below := range n.Properties {
		out = append(out, below.keys(append(path[:len(path):len(path)], name))...)
	}
	var open schemaNode
	if err := json.Unmarshal(n.AdditionalProperties, &open); err == nil {
		out = append(out, open.keys(append(path[:len(path):len(path)], "any"))...)
	}
	return out
}

// TestTenantSetsLabelsAndAnnotationsAlone is rule W1: of all keys in the schema of the chart that
// lands on the hub, a tenant's level may set labels and annotations, whatever the value is.
func TestTenantSetsLabelsAndAnnotationsAlone(t *testing.T) {
	text, err := os.ReadFile(repo + "/charts/fleet-secret/values.schema.json")
	require.NoError(t, err)
	var root schemaNode
	require.NoError(t, json.Unmarshal(text, &root))
	schema, err := tenancy.ParseSchema("tenant.schema.json", charts.FleetSecretTenantSchema)
	require.NoError(t, err)
	all := root.keys(nil)[1:]
	if len(all) < 80 {
		t.Fatalf("%d keys: the schema is not read", len(all))
	}
	for _, path := range all {
		name := strings.Join(path, ".")
		for _, value := range []any{nil, true, "x", 1, []any{"x"}, map[string]any{}, map[string]any{"x": "y"}} {
			tree := value
			for i := len(path) - 1; i >= 0; i-- {
				tree = map[string]any{path[i]: tree}
			}
			text, err := yaml.Marshal(tree)
			require.NoError(t, err)
			doc, err := yamldoc.Parse("values.yaml", text)
			require.NoError(t, err)
			_, isMap := value.(map[string]any)
			may := strings.HasPrefix(name, "externalSecret.labels.") || strings.HasPrefix(name, "externalSecret.annotations.") ||
				(name == "externalSecret.labels" || name == "externalSecret.annotations") && (isMap || value == nil) || name == "externalSecret" && fmt.Sprint(value) == "map[]"
			if got := len(schema.Check(doc.Root, "component")) == 0; got != may {
				t.Errorf("%s: %v: allowed %v", name, value, got)
			}
		}
	}
}

// TestProgramsOfClusters: charts/fleet-secret has Argo CD run no program but its own.
func TestProgramsOfClusters(t *testing.T) {
	for command, ok := range map[string]bool{"argocd-k8s-auth": true, "sh": false, "/bin/sh": false, "": false} {
		values := "clusterName: a\nsecretManagerSecretName: fleet/a\nsecretStore: {aws: {region: eu-west-1}}\n" +
			fmt.Sprintf("externalSecret: {config: {execProviderConfig: {command: %q}}}\n", command)
		_, err := helmTemplate(repo+"/charts/fleet-secret", valuesFile(t, values))
		if (err == nil) != ok {
			t.Errorf("%q: %v", command, err)
		}
	}
}
