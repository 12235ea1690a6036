package charts_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
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
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatal(err)
		}
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
