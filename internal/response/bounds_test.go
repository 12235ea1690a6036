package response_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
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
	if err != nil {
		t.Fatal(err)
	}
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
