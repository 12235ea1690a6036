package bench

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/generator"
)

// childOf is the environment variable that makes TestResident measure a fleet, in a process of its own.
const childOf = "ARGOSY_BENCH_RESIDENT"

// TestResident is the process that memory measures: it holds a fleet's state, and says what it takes.
func TestResident(t *testing.T) {
	dir := os.Getenv(childOf)
	if dir == "" {
		t.Skip("it is a part of TestFigures")
	}
	f := &fleet{T: t, dir: dir}
	before := resident(t)
	s := f.read()
	var files, documents int64
	for _, p := range s.Paths() {
		files += int64(len(s.File(p).Data))
	}
	st := f.build(nil, s)
	alone := resident(t) - before
	distinct := map[[sha256.Size]byte]bool{}
	for c := range components {
		for text := range documentsOf(f.answer(st, oneComponent(c))) {
			if key := sha256.Sum256(text); !distinct[key] {
				distinct[key] = true
				documents += int64(len(text) - bytes.Count(text, []byte{'\\'}))
			}
		}
	}
	answered := resident(t) - before
	fmt.Printf("RESIDENT %d %d %d %d %d\n", files, documents, len(distinct), alone, answered)
	runtime.KeepAlive(st)
	runtime.KeepAlive(s)
}

// documentsOf are the values in an answer's sets, as JSON writes them.
func documentsOf(answer []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			_, rest, found := bytes.Cut(answer, []byte(`"helmValues":"`))
			if !found {
				return
			}
			end := 0
			for rest[end] != '"' {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			if !yield(rest[:end]) {
				return
			}
			answer = rest[end:]
		}
	}
}

// resident is what of this process is in memory when all garbage has been given back.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// memory measures what a state takes, in a process of its own.
func (b *bench) memory(f *fleet) {
	b.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	rows := []figure{
		{what: "resident memory of a state", fleet: f.name, against: "files + distinct documents", goal: atMost(3, "x")},
		{what: "resident memory, all components answered", fleet: f.name, against: "files + distinct documents", goal: atMost(3, "x")},
	}
	measured := min(b.rounds(), 3)
	if b.clusters >= 5000 {
		measured = 1 // it hardly varies, and takes long
	}
	for range measured {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestResident$", "-test.v")
		cmd.Env = append(os.Environ(), childOf+"="+f.dir)
		out, err := cmd.CombinedOutput()
		_, figures, found := strings.Cut(string(out), "RESIDENT ")
		if err != nil || !found {
			b.Fatalf("%v\n%s", err, out)
		}
		var files, documents, distinct, alone, answered int64
		if _, err := fmt.Sscan(figures, &files, &documents, &distinct, &alone, &answered); err != nil {
			b.Fatal(err)
		}
		for i, v := range []int64{alone, answered} {
			rows[i].rounds = append(rows[i].rounds, float64(v)/float64(files+documents))
			rows[i].detail = fmt.Sprintf("%.0f MB; files %.0f MB, %d documents %.0f MB", float64(v)/1e6, float64(files)/1e6, distinct, float64(documents)/1e6)
		}
	}
	b.figures = append(b.figures, rows...)
	fmt.Fprintln(os.Stderr, rows[0].detail, rows[1].detail)
}

// commands runs the program's own commands.
func (b *bench) commands(f *fleet, program string) {
	b.Helper()
	for _, c := range []struct {
		name string
		args []string
	}{
		{"lint", []string{"lint", "--repo", f.dir}},
		{"params", []string{"params", "--repo", f.dir, "--view", string(generator.Components), "--group", "addons", "--component", "component-000"}},
	} {
		row := figure{what: "argosy " + c.name, fleet: f.name, against: "reading the files", goal: atMost(10, "x")}
		var took, reading []float64
		for i := range b.rounds() {
			reading = append(reading, timed(func() { f.readFiles() }))
			took = append(took, b.command(program, c.args...))
			row.rounds = append(row.rounds, took[i]/reading[i])
		}
		row.detail = fmt.Sprintf("%s, reading %s", seconds(median(took)), seconds(median(reading)))
		b.add(row)
	}
}

// command is what a program takes.
func (b *bench) command(program string, args ...string) float64 {
	b.Helper()
	cmd := exec.Command(program, args...)
	var took float64
	wall := timedWall(func() {
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%.2000s", args, err, out)
		}
	})
	took = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if *clock == "wall" {
		return wall
	}
	return took
}

// build compiles the program, as `make build` does.
func (b *bench) build() string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "argosy")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/argosy").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return program
}
