package response_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// The shapes that are measured: sparse is how fleets look (a cluster overrides 3 of 20 components),
// dense has a file at every level for every cluster and component.
var shapes = []struct {
	name string
	fleettest.Options
}{
	{"sparse", fleettest.Default},
	{"dense", fleettest.Options{Clusters: 1000, Components: 20, Tenants: 5, Overrides: 20, Seed: 1}},
}

// timed is how long f takes, in seconds.
func timed(f func()) float64 {
	start := time.Now()
	f()
	return time.Since(start).Seconds()
}

func build(b *testing.B, previous *fleetstate.State, s *snapshot.Snapshot) *fleetstate.State {
	b.Helper()
	st, err := fleetstate.Build(previous, s, facts.Set{})
	require.NoError(b, err)
	if len(st.Problems) > 0 {
		b.Fatal(st.Problems[0])
	}
	return st
}

func answer(b *testing.B, st *fleetstate.State, component int) []byte {
	b.Helper()
	out, err := response.Bytes(st, query.Query{
		View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group, Component: fleettest.Component(component),
	})
	require.NoError(b, err)
	return out
}

func answerAll(b *testing.B, st *fleetstate.State, o fleettest.Options) (size int) {
	b.Helper()
	for c := range o.Components {
		size += len(answer(b, st, c))
	}
	return size
}

// BenchmarkResolveAll reads a fleet from disk and merges the values of every component of every
// cluster, all rules checked. What it costs to write all the answers as well is answers-s/op.
// test/bench compares it with Helm's own merge.
func BenchmarkResolveAll(b *testing.B) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			files := fleettest.Files(shape.Options)
			dir := b.TempDir()
			require.NoError(b, fleettest.Write(dir, files))
			var resolve, answers float64
			for b.Loop() {
				var st *fleetstate.State
				runtime.GC()
				resolve += timed(func() { st = build(b, nil, readAll(b, dir, files)) })
				answers += timed(func() { answerAll(b, st, shape.Options) })
			}
			b.ReportMetric(resolve/float64(b.N), "argosy-s/op")
			b.ReportMetric(answers/float64(b.N), "answers-s/op")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// readAll reads the files from disk.
func readAll(b *testing.B, dir string, files map[string]string) *snapshot.Snapshot {
	b.Helper()
	out := make(map[string]*snapshot.File, len(files))
	for p := range files {
		data, err := os.ReadFile(filepath.Join(dir, p))
		require.NoError(b, err)
		out[p] = snapshot.NewFile(p, data, snapshot.MaxFileSize)
	}
	return snapshot.New("bench", out)
}

// BenchmarkWarmAnswer asks again for one component on all clusters; x-write is how many times the
// cost of writing the answer's bytes (copying them into a buffer) that is.
func BenchmarkWarmAnswer(b *testing.B) {
	st := build(b, nil, snapshot.FromMap(fleettest.Files(fleettest.Default)))
	want := answer(b, st, 0)
	b.SetBytes(int64(len(want)))
	var ask, write float64
	for b.Loop() {
		var out bytes.Buffer
		write += timed(func() { out.Write(want) })
		var warm bytes.Buffer
		ask += timed(func() { warm.Write(answer(b, st, 0)) })
	}
	b.ReportMetric(ask/write, "x-write")
}

// BenchmarkColdAnswer asks for one component on all clusters for the first time.
func BenchmarkColdAnswer(b *testing.B) {
	s := snapshot.FromMap(fleettest.Files(fleettest.Default))
	st := build(b, nil, s)
	component := 0
	for b.Loop() {
		if component == fleettest.Default.Components {
			st, component = build(b, nil, s), 0
		}
		answer(b, st, component)
		component++
	}
}

// BenchmarkOneFile changes one file and builds the state anew from the previous one; x-load is how
// many times cheaper that is than loading everything.
func BenchmarkOneFile(b *testing.B) {
	levels := map[string]string{
		"cluster":     "addons/tenants/tenant-0/clusters/cluster-00000",
		"environment": "addons/tenants/tenant-0/environments/dev",
		"member":      "",
	}
	for name, level := range levels {
		b.Run(name, func(b *testing.B) {
			files := fleettest.Files(fleettest.Default)
			path := fmt.Sprintf("%s/%s/%s/values.yaml", level, fleettest.Group, fleettest.Component(0))
			if level == "" {
				path = fmt.Sprintf("fleet/fleet-members/%s/%s.yaml", fleettest.Hub, fleettest.Cluster(7))
			}
			first := snapshot.FromMap(files)
			load := timed(func() { build(b, nil, first) })
			st := build(b, nil, first)
			current := map[string]*snapshot.File{}
			for p := range files {
				current[p] = first.File(p)
			}
			var change float64
			n := 0
			for b.Loop() {
				n++
				next := make(map[string]*snapshot.File, len(current))
				for p, f := range current {
					next[p] = f
				}
				next[path] = snapshot.NewFile(path, fmt.Appendf(nil, "%s# change %d\n", files[path], n), snapshot.MaxFileSize)
				s := snapshot.New(fmt.Sprint(n), next)
				change += timed(func() { st = build(b, st, s) })
			}
			b.ReportMetric(load*float64(b.N)/change, "x-load")
		})
	}
}

// BenchmarkBesideABrokenTenant reports how many times as long a commit of others takes beside a
// tenant whose files are broken at much expense, against the same fleet with that tenant's files as
// they were: the least of each of all rounds. (W2)
func BenchmarkBesideABrokenTenant(b *testing.B) {
	const own = "addons/tenants/tenant-0/defaults/"
	good := fleettest.Tree(fleettest.Files(fleettest.Options{Clusters: 200, Components: 20, Tenants: 5, Overrides: 3, Seed: 1}))
	kinds := map[string]string{
		"versions":    `{{ range until 20000 }}{{ if semverCompare ">1 <3 || ^4" "2.0.0" }}{{ end }}{{ end }}a: 1`,
		"expressions": `{{ range until 2000 }}{{ if regexMatch "(a|b|c)*[a-z]{50}x" (repeat 400 "a") }}{{ end }}{{ end }}a: 1`,
		"steps":       `{{ range until 400 }}{{ range until 400 }}{{ end }}{{ end }}a: {{ repeat 900000 .cluster | sha256sum }}`,
		"texts":       `a: {{ repeat 1000000 "x" }}`,
		"a function":  `a: {{ derivePassword 1 "long" "p" "u" "s" }}`,
	}
	commits := map[string]func(round int) fleettest.Tree{
		"another's": func(n int) fleettest.Tree {
			return fleettest.Tree{"addons/tenants/tenant-1/defaults/addons/component-000/values.yaml": fmt.Sprintf("round: %d\n", n)}
		},
		"the platform's": func(n int) fleettest.Tree {
			return fleettest.Tree{"addons/defaults/addons/component-000/values.yaml": fmt.Sprintf("round: %d\n", n)}
		},
	}
	for name, text := range kinds {
		broken := good.With(nil)
		for i := range 20 {
			broken[fmt.Sprintf("%saddons/component-%03d/values.yaml.gotmpl", own, i)] = text + "\n"
		}
		for who, change := range commits {
			b.Run(name+" "+who, func(b *testing.B) {
				least := map[bool]float64{}
				states := map[bool]*fleetstate.State{}
				next := func(n int) {
					for is, files := range map[bool]fleettest.Tree{true: broken, false: good} {
						s := fleettest.Snapshot(fmt.Sprint(n), files.With(change(n)))
						runtime.GC()
						took := timed(func() {
							st, err := fleetstate.Build(states[is], s, facts.Set{})
							require.NoError(b, err)
							states[is] = st
						})
						if least[is] == 0 || took < least[is] {
							least[is] = took
						}
					}
				}
				for _, files := range []fleettest.Tree{good, broken} {
					st, err := fleetstate.Build(states[true], fleettest.Snapshot("0", files), facts.Set{})
					require.NoError(b, err)
					states[true] = st
				}
				states[false] = build(b, nil, fleettest.Snapshot("0", good))
				n := 0
				next(n)
				clear(least) // the first round is the broken commit's
				for b.Loop() {
					n++
					next(n)
				}
				b.ReportMetric(least[true]/least[false], "x-good")
				b.ReportMetric(least[true]*1000, "ms-broken")
			})
		}
	}
}
