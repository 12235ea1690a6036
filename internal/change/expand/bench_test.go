package expand_test

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/rendercache"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// large is a generated fleet with this repository's roots and charts, followed as a whole.
func large(b *testing.B, clusters int) map[string]string {
	b.Helper()
	files, err := repository()
	require.NoError(b, err)
	out := fleettest.Files(fleettest.Options{Clusters: clusters, Components: 20, Tenants: 5, Overrides: 3, Seed: 1})
	for p, f := range files {
		switch {
		case strings.HasPrefix(p, "charts/application-sets/"), strings.HasPrefix(p, "charts/fleet-secret/"):
			out[p] = string(f.Data)
		case p == "fleet/bootstrap/hub-eu.yaml", p == "fleet/bootstrap/hub-eu/addons.yaml", p == "fleet/bootstrap/hub-eu/members.yaml":
			out[strings.ReplaceAll(p, "hub-eu", fleettest.Hub)] = strings.ReplaceAll(string(f.Data), "hub-eu", fleettest.Hub)
		}
	}
	out["charts/application-sets/catalogs/addons.yaml"] = strings.ReplaceAll(out["addons/defaults/application-sets/addons.yaml"], "    enabled: true\n", "    enabled: false\n    namespace: system\n")
	out["versions/applicationSets.yaml"] = `releases:
  globals: {use_helm_repo_path: "true", chartRepoUrl: https://github.com/argosy-hub/argosy, chartRepoPath: charts/application-sets, chartRepoRevision: main}
  addons: [{type: default}, {type: canary}]
`
	return out
}

// BenchmarkPlan compares two revisions that differ by one file of one cluster, states included,
// with the rendering of one of them as a whole (goal: under a tenth).
func BenchmarkPlan(b *testing.B) {
	for _, clusters := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%dx20", clusters), func(b *testing.B) {
			files := large(b, clusters)
			changed := maps.Clone(files)
			for p := range files {
				if strings.HasSuffix(p, "/clusters/"+fleettest.Cluster(0)+"/addons/"+fleettest.Component(0)+"/values.yaml") {
					changed[p] += "extra: true\n"
				}
			}
			base, head := snapshot.FromMap(files), snapshot.FromMap(changed)
			var plan, full time.Duration
			var found, all int
			for b.Loop() {
				began := time.Now()
				before, err := fleetstate.Build(nil, base, facts.Set{})
				require.NoError(b, err)
				after, err := fleetstate.Build(before, head, facts.Set{})
				require.NoError(b, err)
				cache := &rendercache.Cache{}
				hub := func(st *fleetstate.State, s *snapshot.Snapshot) *expand.Hub {
					return expand.New(expand.Options{State: st, Snapshot: s, Hub: fleettest.Hub, Tools: tools(), Cache: cache})
				}
				was := hub(before, base)
				found = 0
				for range expand.Compare(was, hub(after, head)) {
					found++
				}
				plan += time.Since(began)
				runtime.GC()
				began, all = time.Now(), 0
				hub(before, base).Walk(false, func(*object.Object) bool { all++; return true })
				full += time.Since(began)
				for _, p := range was.Problems() {
					b.Fatal(p)
				}
			}
			if found != 1 || all < clusters*20 {
				b.Fatalf("%d objects differ of %d", found, all)
			}
			b.ReportMetric(plan.Seconds()/float64(b.N), "plan-s/op")
			b.ReportMetric(full.Seconds()/float64(b.N), "render-s/op")
			b.ReportMetric(full.Seconds()/plan.Seconds(), "x-render")
			b.ReportMetric(0, "ns/op")
		})
	}
}
