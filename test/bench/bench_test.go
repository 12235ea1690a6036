//go:build bench

package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var (
	sizes   = flag.String("clusters", "20,30", "sizes of the fleets, separated by commas")
	rounds  = flag.Int("rounds", 1, "rounds of each measurement; half as many, at least 3, on fleets of 5,000 clusters and more")
	saveTo  = flag.String("save", "", "write the figures to a `file`, from the repository's root")
	against = flag.String("compare", "", "compare with the figures of an earlier run in a `file`, from the repository's root")
	loadFor = flag.Duration("load", 200*time.Millisecond, "how long clients ask in each round")
	clock   = flag.String("clock", "cpu", "cpu measures processor time, wall the time that passes; latencies over HTTP are the latter always")
	enforce = flag.Bool("enforce", false, "have the kernel end the hostile service beyond its memory, by a cgroup (needs root)")
	hubTook = flag.Float64("hub", 0, "the median of a push to an updated Application that test/e2e prints, in `seconds`")
)

// bench gathers figures.
type bench struct {
	*testing.T
	clusters int
	program  string // the built argosy
	figures  []figure
	// oneCommit and oneState are, by size, how long one commit takes, and the new state alone.
	oneCommit, oneState map[int]float64
}

func (b *bench) add(f figure) {
	b.figures = append(b.figures, f)
	fmt.Fprintf(os.Stderr, "%s, %s: %s%s (%s) %s\n", f.what, f.fleet, number(f.value()), f.goal.unit, f.detail, f.goal.verdict(f.value()))
}

func (b *bench) rounds() int {
	if b.clusters >= 5000 {
		return min(*rounds, max(3, *rounds/2))
	}
	return *rounds
}

// TestHostiles measures what a hostile tenant costs, and nothing else.
func TestHostiles(t *testing.T) {
	b := &bench{T: t, oneCommit: map[int]float64{}, oneState: map[int]float64{}}
	if _, err := fmt.Sscan(*sizes, &b.clusters); err != nil {
		t.Fatal(err)
	}
	b.program = b.build()
	b.hostiles()
}

// TestRings measures what rings cost, and nothing else.
func TestRings(t *testing.T) {
	b := &bench{T: t}
	if _, err := fmt.Sscan(*sizes, &b.clusters); err != nil {
		t.Fatal(err)
	}
	b.inRings(newFleet(t, sparse, b.clusters))
}

// TestColdAndPlan measures a cold resolve and a plan, and nothing else.
func TestColdAndPlan(t *testing.T) {
	b := &bench{T: t}
	if _, err := fmt.Sscan(*sizes, &b.clusters); err != nil {
		t.Fatal(err)
	}
	b.program = b.build()
	f := newFleet(t, sparse, b.clusters)
	b.resolve(f)
	b.plans(f, b.program)
}

// TestFigures measures everything and prints the table.
func TestFigures(t *testing.T) {
	b := &bench{T: t, oneCommit: map[int]float64{}, oneState: map[int]float64{}}
	var all []int
	for _, text := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("-clusters %s: expected numbers separated by commas", *sizes)
		}
		all = append(all, n)
	}
	if *clock != "cpu" && *clock != "wall" {
		t.Fatalf("-clock %s: expected cpu or wall", *clock)
	}
	var before *saved // read first: what follows may take an hour
	if *against != "" {
		var err error
		if before, err = load(fromRoot(*against), *clock); err != nil {
			t.Fatal(err)
		}
	}
	b.program = b.build()
	for _, b.clusters = range all {
		b.measure()
	}
	b.clusters = all[0]
	b.imports()
	b.hostiles()
	if smallest, largest := all[0], all[len(all)-1]; largest > smallest {
		for what, took := range map[string]map[int]float64{"a commit of one cluster's file": b.oneCommit, "a commit of one cluster's file, the state alone": b.oneState} {
			b.add(figure{
				what: what, fleet: fmt.Sprintf("sparse %d to %d", smallest, largest), against: fmt.Sprintf("the same on %d", smallest),
				goal: atMost(2, "x"), rounds: []float64{took[largest] / took[smallest]}, detail: seconds(took[smallest]) + " to " + seconds(took[largest]),
			})
		}
	}
	if *hubTook > 0 {
		b.add(figure{what: "push to Application updated", fleet: "test/e2e", against: "Argo CD's 3 min (Git), 30 min (plugin)", goal: atMost(2, " s"), rounds: []float64{*hubTook}})
	}
	fmt.Println(machine())
	table(os.Stdout, b.figures)
	if before != nil {
		fmt.Println()
		compare(os.Stdout, *before, b.figures)
	}
	if *saveTo != "" {
		require.NoError(t, save(fromRoot(*saveTo), *clock, b.figures))
	}
}

// fromRoot is a file as the user of make names it: a test runs in its package's folder.
func fromRoot(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join("..", "..", file)
}

// measure measures fleets of one size. The dense one is there where it has no more than the files
// that are read by default.
func (b *bench) measure() {
	f := newFleet(b.T, sparse, b.clusters)
	cold := median(b.resolve(f))
	st := f.build(nil, f.read())
	b.members(f, st)
	b.commits(f, st, cold)
	b.warm(f)
	b.pages(f, min(readersFor, 7*(*loadFor)))
	if b.clusters <= 1000 {
		b.throughput(f, *loadFor)
	}
	b.memory(f)
	b.inRings(f)
	b.commands(f, b.program)
	b.plans(f, b.program) // last: it adds files to the fleet
	if b.clusters <= 1000 {
		b.resolve(newFleet(b.T, dense, b.clusters))
	}
}
