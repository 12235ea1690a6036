//go:build bench

package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// components is how many components each fleet has.
const components = 20

// Shapes of fleets: sparse is how fleets look (a cluster overrides 3 of 20 components), dense has a
// file at every level for every cluster and component.
const (
	sparse = "sparse"
	dense  = "dense"
)

// fleet is a generated fleet in a folder.
type fleet struct {
	testing.TB
	name  string
	o     fleettest.Options
	files map[string]string
	dir   string
	cache response.Cache
}

func newFleet(t testing.TB, shape string, clusters int) *fleet {
	t.Helper()
	o := fleettest.Options{Clusters: clusters, Components: components, Tenants: max(2, clusters/200), Overrides: 3, Seed: 1}
	if shape == dense {
		o.Overrides = components
	}
	f := &fleet{TB: t, name: fmt.Sprintf("%s %d", shape, clusters), o: o, files: fleettest.Files(o), dir: t.TempDir()}
	require.NoError(t, fleettest.Write(f.dir, f.files))
	return f
}

// limits are beyond the defaults: a dense fleet has many files.
var limits = source.Limits{Files: 500_000}

// read reads the repository as the service and the commands do.
func (f *fleet) read() *snapshot.Snapshot {
	f.Helper()
	src, err := dir.New(f.dir, limits)
	require.NoError(f, err)
	s, err := src.Snapshot(context.Background())
	require.NoError(f, err)
	return s
}

// build computes a state, which has no problems.
func (f *fleet) build(previous *fleetstate.State, s *snapshot.Snapshot) *fleetstate.State {
	f.Helper()
	st, err := fleetstate.Build(previous, s, facts.Set{})
	require.NoError(f, err)
	if len(st.Problems) > 0 {
		f.Fatal(st.Problems[0])
	}
	return st
}

func (f *fleet) answer(st *fleetstate.State, r query.Query) []byte {
	f.Helper()
	r.Hub = fleettest.Hub
	out, err := response.Bytes(st, r)
	require.NoError(f, err)
	return out
}

// ready computes an answer, so that it could be written, as the service does: it shares with the
// answer of the state before what both say alike, and is remembered.
func (f *fleet) ready(st *fleetstate.State, r query.Query) *response.Response {
	f.Helper()
	r.Hub = fleettest.Hub
	out, err := f.cache.Get(context.Background(), st, r)
	require.NoError(f, err)
	return out
}

// write writes an answer to nowhere.
func (f *fleet) write(resp *response.Response) {
	f.Helper()
	if n, err := resp.WriteTo(io.Discard); err != nil || n != int64(resp.Len()) {
		f.Fatal(n, err)
	}
}

func oneComponent(i int) query.Query {
	return query.Query{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group, Component: fleettest.Component(i)}
}

var revisions atomic.Int64

// commit is a snapshot with some files changed.
func (f *fleet) commit(s *snapshot.Snapshot, change func(path string) bool, paths ...string) *snapshot.Snapshot {
	f.Helper()
	n := revisions.Add(1)
	changed := make(map[string]*snapshot.File, len(paths))
	for _, p := range paths {
		if change(p) {
			changed[p] = snapshot.NewFile(p, fmt.Appendf(nil, "%srevised: %d\n", f.files[p], n), snapshot.MaxFileSize)
		}
	}
	if len(changed) == 0 {
		f.Fatal("nothing is changed")
	}
	all := make(map[string]*snapshot.File, s.Len())
	for _, p := range s.Paths() {
		all[p] = s.File(p)
	}
	for p, file := range changed {
		all[p] = file
	}
	return snapshot.New(fmt.Sprintf("revision-%d", n), all)
}

// clusterFile is a values file of a cluster's own.
func (f *fleet) clusterFile(cluster int) string {
	return fmt.Sprintf("addons/tenants/%s/clusters/%s/%s/%s/values.yaml", f.o.Tenant(cluster), fleettest.Cluster(cluster), fleettest.Group, fleettest.Component(cluster%components))
}

// levelFiles are the values files of one component for a cluster, least specific first.
func (f *fleet) levelFiles(cluster, component int) []string {
	tenant := "addons/tenants/" + f.o.Tenant(cluster)
	var out []string
	for _, level := range []string{
		"addons/defaults", "addons/tenants/defaults", tenant + "/defaults", tenant + "/environments/" + f.o.Environment(cluster),
		tenant + "/clusters/" + fleettest.Cluster(cluster),
	} {
		p := filepath.Join(level, fleettest.Group, fleettest.Component(component), "values.yaml")
		if _, is := f.files[p]; is {
			out = append(out, p)
		}
	}
	return out
}

// readFiles reads all files, which is the least that a command has to do.
func (f *fleet) readFiles() (size int64) {
	f.Helper()
	for p := range f.files {
		data, err := os.ReadFile(filepath.Join(f.dir, p))
		require.NoError(f, err)
		size += int64(len(data))
	}
	return size
}

// timed is what f takes, in seconds, without the garbage of before: processor time of this process
// by default, which other programs on the machine disturb the least.
func timed(f func()) float64 {
	runtime.GC()
	return timedHere(f)
}

// timedHere is timed with the garbage of before.
func timedHere(f func()) float64 {
	before, start := processorTime(), time.Now()
	f()
	if *clock == "wall" {
		return time.Since(start).Seconds()
	}
	return processorTime() - before
}

// timedWall is how long f takes, in seconds.
func timedWall(f func()) float64 {
	start := time.Now()
	f()
	return time.Since(start).Seconds()
}

// processorTime is what this process has used of all processors, in seconds.
func processorTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// parallel calls f for 0 to n-1 on all processors.
func parallel(n int, f func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}
