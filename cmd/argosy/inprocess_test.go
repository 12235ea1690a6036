package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/argosy-hub/argosy/internal/change/expand/sandbox"
)

// TestMain lets the test binary be the command: as the program argosy in $PATH, and when the
// command starts itself. A test that needs a process of its own runs that one.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); name == "argosy" || len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		if file := os.Getenv(peakFile); file != "" {
			os.Exit(runMeasured(file))
		}
		main()
	}
	os.Exit(withProgram(m))
}

// withProgram runs the tests with the program argosy in $PATH, and with few of the variables of
// the user who runs them.
func withProgram(m *testing.M) int {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "GO") && !slices.Contains([]string{"PATH", "HOME", "TMPDIR"}, name) {
			mustWork(os.Unsetenv(name))
		}
	}
	self, err := os.Executable()
	mustWork(err)
	dir, err := os.MkdirTemp("", "argosy-bin")
	mustWork(err)
	defer func() { _ = os.RemoveAll(dir) }()
	mustWork(os.Symlink(self, filepath.Join(dir, "argosy")))
	mustWork(os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")))
	return m.Run()
}

// inProcess runs the command in the process of the tests, which saves what its libraries take to
// start: 80 ms of processor time, some 500 times. The commands share the processes that render
// charts, which take as long. The working directory and the environment belong to the process,
// hence one command runs at a time.
type inProcess struct {
	mu        sync.Mutex
	variables []string // which variables a script may set
	charts    *sandbox.Charts
}

// newInProcess reads from the scripts which variables they set, besides those of their setup.
func newInProcess(t *testing.T, dir string, setup []string) *inProcess {
	t.Helper()
	p := &inProcess{variables: append(setup, "TMPDIR", "WORK"), charts: sandbox.New(renderer)}
	t.Cleanup(p.charts.Close)
	scripts, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^env (\w+)=`).FindAllSubmatch(text, -1) {
			p.variables = append(p.variables, string(m[1]))
		}
	}
	return p
}

// command is argosy of the scripts.
func (p *inProcess) command(ts *testscript.TestScript, neg bool, args []string) {
	if status := p.run(ts, args); (status != exitGood) != neg {
		ts.Fatalf("argosy: exit status %d", status)
	}
}

// run runs the command in the script's folder with the script's environment and returns its exit
// status.
func (p *inProcess) run(ts *testscript.TestScript, args []string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { mustWork(os.Chdir(before)) }()
	for _, name := range append([]string{"PWD"}, p.variables...) {
		value := ts.Getenv(name)
		if name == "PWD" {
			value = ts.MkAbs(".")
		}
		old, was := os.LookupEnv(name)
		if value == old {
			continue
		}
		ts.Check(os.Setenv(name, value))
		defer func() { //nolint:gocritic // when the command has ended
			if mustWork(os.Unsetenv(name)); was {
				mustWork(os.Setenv(name, old))
			}
		}()
	}
	return runWith(context.Background(), p.charts, args, strings.NewReader(""), ts.Stdout(), ts.Stderr())
}

// mustWork ends the tests when their own process cannot be set up.
func mustWork(err error) {
	if err != nil {
		panic(fmt.Sprintf("the tests' process: %v", err))
	}
}
