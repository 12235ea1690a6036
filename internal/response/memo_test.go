package response_test

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"testing"
	"weak"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// TestOldCommitsAreForgotten: a state that succeeds many others holds no value of the first one's
// files, and responds as if it were alone. (H10)
func TestOldCommitsAreForgotten(t *testing.T) {
	o := fleettest.Options{Clusters: 10, Components: 5, Tenants: 2, Overrides: 3, Seed: 1}
	files := fleettest.Files(o)
	respond := func(previous *fleetstate.State, s *snapshot.Snapshot) (*fleetstate.State, []byte) {
		st := querytest.Next(t, previous, s, facts.Set{})
		response, err := response.Bytes(st, query.Query{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group})
		if err != nil {
			t.Fatal(err)
		}
		return st, response
	}
	const file = "addons/defaults/" + fleettest.Group + "/%s/values.yaml"
	var st *fleetstate.State
	var first weak.Pointer[yamldoc.Node]
	for i := range 300 {
		commit := maps.Clone(files)
		for c := range o.Components {
			commit[fmt.Sprintf(file, fleettest.Component(c))] += fmt.Sprintf("\ncommit: %d\n", i)
		}
		s := snapshot.FromMap(commit)
		var response []byte
		st, response = respond(st, s)
		if i == 0 {
			first = weak.Make(value(t, st, "commit"))
		}
		if i%50 == 49 {
			if _, alone := respond(nil, s); !bytes.Equal(response, alone) {
				t.Fatalf("commit %d: another response than without predecessors", i)
			}
		}
	}
	if runtime.GC(); first.Value() != nil {
		t.Error("a value of the first commit is still in memory")
	}
	runtime.KeepAlive(st)
}

// value is a top-level value of the first component on the first cluster.
func value(t testing.TB, st *fleetstate.State, key string) *yamldoc.Node {
	t.Helper()
	c := st.Cluster(fleettest.Hub, fleettest.Cluster(0))
	r, problems := st.ResolverOf(c).Resolve(c, c.Groups[fleettest.Group], fleettest.Component(0), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if v := r.Values.Root.Get(key); v != nil {
		return v
	}
	t.Fatalf("no value %s", key)
	return nil
}
