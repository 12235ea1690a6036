//go:build bench

package bench

import (
	"flag"
	"fmt"
	"runtime"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

var simulate = flag.Int("simulate", 40, "clusters that are simulated, in ten hubs")

// BenchmarkManyHubs simulates a fleet that is too large for one hub, as ten of them: one hub with a
// tenth of the clusters and a repository of its own, and ten hubs in one repository, as one state.
// Each cluster has one values file of its own. Heap is what a state takes beyond the files.
func BenchmarkManyHubs(b *testing.B) {
	for _, hubs := range []int{1, 10} {
		clusters := max(2, *simulate/10) * hubs
		b.Run(fmt.Sprintf("hubs=%d/clusters=%d", hubs, clusters), func(b *testing.B) {
			f := &fleet{TB: b, o: fleettest.Options{Clusters: clusters, Hubs: hubs, Components: components, Tenants: max(2, clusters/200), Overrides: 1, Seed: 1}}
			f.files = fleettest.Files(f.o)
			s := snapshot.FromMap(f.files)
			var cold, commit float64
			for b.Loop() {
				before := heap()
				var st *fleetstate.State
				cold += timed(func() { st = f.build(nil, s) })
				b.ReportMetric(float64(heap()-before)/1e6, "heap-MB")
				f.ready(st, oneComponent(0))
				next := f.commit(s, always, f.clusterFile(0))
				commit += timed(func() {
					st = f.build(st, next)
					f.ready(st, oneComponent(0))
				})
				f.changed(st, oneComponent(0), next.Revision)
				runtime.KeepAlive(st)
			}
			b.ReportMetric(cold/float64(b.N), "cold-s/op")
			b.ReportMetric(commit/float64(b.N), "commit-s/op")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// heap is what is in use when all garbage is gone.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
