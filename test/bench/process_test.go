//go:build bench

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
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// residentOf is the environment variable that names the fleet of BenchmarkResident.
const residentOf = "ARGOSY_BENCH_RESIDENT"

// BenchmarkResident builds a fleet's state and all its responses, and reports what they take of the
// process's resident memory. The process should do nothing else: memory starts one.
func BenchmarkResident(b *testing.B) {
	f := &fleet{TB: b, dir: os.Getenv(residentOf)}
	if f.dir == "" {
		f = newFleet(b, sparse, 100)
	}
	for b.Loop() {
		files, documents, distinct, alone, answered := f.resident()
		b.ReportMetric(float64(alone), "state-B")
		b.ReportMetric(float64(answered), "answered-B")
		b.ReportMetric(float64(files), "files-B")
		b.ReportMetric(float64(documents), "documents-B")
		b.ReportMetric(float64(distinct), "documents")
	}
}

// resident measures the files, the distinct documents of the responses, and the resident memory of
// a state before and after all components have been asked for.
func (f *fleet) resident() (files, documents int64, distinct int, alone, answered int64) {
	f.Helper()
	before := resident(f)
	s := f.read()
	for _, p := range s.Paths() {
		files += int64(len(s.File(p).Data))
	}
	st := f.build(nil, s)
	alone = resident(f) - before
	known := map[[sha256.Size]byte]bool{}
	for c := range components {
		for text := range documentsOf(f.answer(st, oneComponent(c))) {
			if key := sha256.Sum256(text); !known[key] {
				known[key] = true
				documents += int64(len(text) - bytes.Count(text, []byte{'\\'}))
			}
		}
	}
	answered = resident(f) - before
	runtime.KeepAlive(st)
	runtime.KeepAlive(s)
	return files, documents, len(known), alone, answered
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
func resident(t testing.TB) int64 {
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
		{what: "resident memory, all components answered", fleet: f.name, against: "files + distinct documents", goal: atMost(4, "x")},
	}
	measured := min(b.rounds(), 3)
	if b.clusters >= 5000 {
		measured = 1 // it hardly varies, and takes long
	}
	for range measured {
		cmd := exec.Command(os.Args[0], "-test.run", "^$", "-test.bench", "^BenchmarkResident$", "-test.benchtime", "1x")
		cmd.Env = append(os.Environ(), residentOf+"="+f.dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		is := map[string]float64{}
		fields := strings.Fields(string(out))
		for i, unit := range fields[1:] {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				is[unit] = v
			}
		}
		if is["files-B"] == 0 || is["documents-B"] == 0 || is["documents"] == 0 || is["answered-B"] == 0 {
			b.Fatalf("not measured:\n%s", out)
		}
		for i, v := range []float64{is["state-B"], is["answered-B"]} {
			rows[i].rounds = append(rows[i].rounds, v/(is["files-B"]+is["documents-B"]))
			rows[i].detail = fmt.Sprintf("%.0f MB; files %.0f MB, %.0f documents %.0f MB", v/1e6, is["files-B"]/1e6, is["documents"], is["documents-B"]/1e6)
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
		{"params", []string{"params", "--repo", f.dir, "--view", string(query.Components), "--group", "addons", "--component", "component-000"}},
	} {
		row := figure{what: "argosy " + c.name, fleet: f.name, against: "reading the files", goal: atMost(5, "x")}
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
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "../../cmd/argosy").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return program
}
