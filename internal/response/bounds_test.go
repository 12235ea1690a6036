package response_test

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// hostile is a fleet of many members whose shared files have a problem in every line.
func hostile(members int) fleettest.Tree {
	files := fleettest.Small().With(fleettest.Tree{
		"addons/defaults/addons/dns/values.yaml":                              strings.Repeat("a: 1\n", 20_000),
		"addons/defaults/application-sets/addons.yaml":                        strings.Repeat("dns: {enabled: true}\n", 10_000),
		"addons/tenants/retail/defaults/application-sets/addons.yaml":         strings.Repeat("dns: {enabled: true}\n", 10_000),
		"addons/tenants/retail/environments/prod/addons/dns/values.yaml":      "a: [1,\n",
		"addons/tenants/retail/environments/prod/application-sets/fleet.yaml": strings.Repeat("- x\n", 10_000),
	})
	for i := range members {
		files[fleettest.Member(fmt.Sprintf("m%d", i))] = fleettest.Spoke(fmt.Sprintf("m%d", i), "")
	}
	return files
}

// TestManyProblemsAreBounded is rule H10: files that are shared by many clusters and are wrong in
// every line take little memory, and what is not kept is counted.
func TestManyProblemsAreBounded(t *testing.T) {
	const members = 300
	s := fleettest.Snapshot("rev", hostile(members))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	st, err := fleetstate.Build(nil, s, facts.NewSet(false))
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if most := (members + 3) * (problem.OfCluster + 1); len(st.Problems) < members || len(st.Problems) > most {
		t.Errorf("%d problems are kept, at most %d", len(st.Problems), most)
	}
	if kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; kept > 150 {
		t.Errorf("%d MiB are in use", kept)
	}
	found := problem.OnePerPlace(st.Problems)
	if len(found) > 1000 || !strings.Contains(querytest.Problems(found), "more problems are not listed") {
		t.Errorf("%d findings:\n%.2000s", len(found), querytest.Problems(found))
	}
	if n := len(lint.Run(st, expand.Tools{})); n > 1000 {
		t.Errorf("lint has %d findings", n)
	}
	runtime.KeepAlive(st)
}

// TestOldCommitsAreForgotten: a state that succeeds many others holds no value of the first one's
// files, and responds as if it were alone. (H10)
func TestOldCommitsAreForgotten(t *testing.T) {
	o := fleettest.Options{Clusters: 10, Components: 5, Tenants: 2, Overrides: 3, Seed: 1}
	files := fleettest.Files(o)
	respond := func(previous *fleetstate.State, s *snapshot.Snapshot) (*fleetstate.State, []byte) {
		st := querytest.Next(t, previous, s, facts.Set{})
		response, err := response.Bytes(st, query.Query{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group})
		require.NoError(t, err)
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
