package bench

import (
	"flag"
	"fmt"
	"runtime"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

var simulate = flag.Int("simulate", 40, "clusters that are simulated, in ten hubs")

// TestBeyond simulates a fleet that is too large for one hub, as ten of them: with a repository each, of which one is
// computed, and with one repository for all, as one state. A cluster overrides one component.
func TestBeyond(t *testing.T) {
	row := func(clusters, hubs int) (cold, commit float64, memory uint64) {
		f := &fleet{T: t, o: fleettest.Options{Clusters: clusters, Hubs: hubs, Components: components, Tenants: max(2, clusters/200), Overrides: 1, Seed: 1}}
		f.files = fleettest.Files(f.o)
		s := snapshot.FromMap(f.files)
		before := heap()
		var st *generator.State
		cold = timed(func() { st = f.build(nil, s) })
		memory = heap() - before
		f.ready(st, oneComponent(0))
		next := f.commit(s, always, f.clusterFile(0))
		commit = timed(func() {
			st = f.build(st, next)
			f.ready(st, oneComponent(0))
		})
		f.changed(st, oneComponent(0), next.Revision)
		runtime.KeepAlive(st)
		return cold, commit, memory
	}
	for _, hubs := range []int{1, 10} {
		clusters := max(2, *simulate/10) * hubs
		cold, commit, memory := row(clusters, hubs)
		fmt.Printf("hubs: %d, clusters: %d: cold %s (%s a cluster), one commit %s, heap beyond the files %.0f MB\n",
			hubs, clusters, seconds(cold), seconds(cold/float64(clusters)), seconds(commit), float64(memory)/1e6)
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
