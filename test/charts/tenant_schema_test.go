package charts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
)

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
	if err != nil {
		t.Fatal(err)
	}
	var root schemaNode
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	schema, err := tenancy.ParseSchema("tenant.schema.json", charts.FleetSecretTenantSchema)
	if err != nil {
		t.Fatal(err)
	}
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
			if err != nil {
				t.Fatal(err)
			}
			doc, err := yamldoc.Parse("values.yaml", text)
			if err != nil {
				t.Fatal(err)
			}
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
