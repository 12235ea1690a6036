package main

import (
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/sandbox"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/testkit/require"
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
	for _, v := range plainGit {
		name, value, _ := strings.Cut(v, "=")
		mustWork(os.Setenv(name, value))
	}
	var err error
	repository, err = filepath.Abs("../..")
	mustWork(err)
	self, err := os.Executable()
	mustWork(err)
	dir, err := os.MkdirTemp("", "argosy-bin")
	mustWork(err)
	defer func() { _ = os.RemoveAll(dir) }()
	mustWork(os.Symlink(self, filepath.Join(dir, "argosy")))
	mustWork(os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")))
	renderers := sandbox.New(renderer)
	defer renderers.Close()
	inProcess.charts.Charts = renderers
	fleetClones.dir = filepath.Join(dir, "fleet.git")
	return m.Run()
}

// plainGit has git copy no examples of hooks into a new repository, and start nothing by itself.
var plainGit = []string{"GIT_TEMPLATE_DIR=", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false"}

// repository is the folder of this repository. The working directory changes.
var repository string

// inProcess runs commands in the process of the tests, which saves what its libraries take to
// start: 80 ms of processor time, some 500 times. The commands share the processes that render
// charts, which take as long, and what these rendered: most plans are of the same few charts. The
// working directory and the environment belong to the process, hence one command runs at a time.
var inProcess struct {
	sync.Mutex
	charts chartsOnce
}

// chartsOnce renders a chart with the same values once.
type chartsOnce struct {
	source.Charts
	rendered sync.Map // by digest
}

func (r *chartsOnce) Template(c source.Chart) ([]manifest.Manifest, error) {
	key := c
	key.Own = nil
	if c.Archive != nil {
		key.Archive = &source.Archive{Digest: c.Archive.Digest}
	}
	digest := sha256.New()
	if err := gob.NewEncoder(digest).Encode(key); err != nil { // a file that cannot be read, for example
		return r.Charts.Template(c)
	}
	sum := string(digest.Sum(nil))
	if known, is := r.rendered.Load(sum); is {
		return known.([]manifest.Manifest), nil //nolint:forcetypeassert // as stored below
	}
	out, err := r.Charts.Template(c)
	if err == nil {
		r.rendered.Store(sum, out)
	}
	return out, err
}

// fleetClones makes clones of one repository with the fleet of this one, in one commit.
var fleetClones struct {
	sync.Once
	dir string
	err error
}

// cloneFleet makes a repository with the fleet of this one, on the branch main.
func cloneFleet(t *testing.T) (dir string) {
	t.Helper()
	git := func(args ...string) error {
		command := exec.CommandContext(context.WithoutCancel(t.Context()), "git", args...)
		command.Env = append(os.Environ(), readersGit...)
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w\n%s", args, err, out)
		}
		return nil
	}
	fleetClones.Do(func() {
		at := []string{"--git-dir=" + fleetClones.dir, "--work-tree=" + repository, "-C", repository}
		fleetClones.err = errors.Join(
			git("init", "--quiet", "--bare", "--initial-branch=main", fleetClones.dir),
			git(append(at, "add", "--force", "fleet", "addons", "resources", "provisioning", "workloads", "versions", "charts")...),
			git(append(at, "commit", "--quiet", "--message=fleet")...),
		)
	})
	dir = filepath.Join(t.TempDir(), "clone")
	err := errors.Join(fleetClones.err, git("clone", "--quiet", "--shared", fleetClones.dir, dir), git("-C", dir, "remote", "remove", "origin"))
	require.NoError(t, err)
	return dir
}

// runInProcess runs a command in a folder, with variables beside those of the process, and returns
// its exit status.
func runInProcess(dir string, variables, args []string, stdout, stderr io.Writer) int {
	inProcess.Lock()
	defer inProcess.Unlock()
	before, err := os.Getwd()
	mustWork(err)
	mustWork(os.Chdir(dir))
	defer func() { mustWork(os.Chdir(before)) }()
	for _, v := range append([]string{"PWD=" + dir}, variables...) {
		name, value, _ := strings.Cut(v, "=")
		old, was := os.LookupEnv(name)
		if value == old {
			continue
		}
		mustWork(os.Setenv(name, value))
		defer func() { //nolint:gocritic // when the command has ended
			if mustWork(os.Unsetenv(name)); was {
				mustWork(os.Setenv(name, old))
			}
		}()
	}
	return runWith(context.Background(), &inProcess.charts, args, strings.NewReader(""), stdout, stderr)
}

// scripts runs the command for scripts.
type scripts struct {
	variables []string // names of those that a script may set
}

// newScripts reads from the scripts which variables they set, besides those of their setup.
func newScripts(t *testing.T, dir string, setup []string) *scripts {
	t.Helper()
	s := &scripts{variables: append(setup, "TMPDIR", "WORK")}
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^env (\w+)=`).FindAllSubmatch(text, -1) {
			s.variables = append(s.variables, string(m[1]))
		}
	}
	return s
}

// command is argosy of the scripts.
func (s *scripts) command(ts *testscript.TestScript, neg bool, args []string) {
	if status := s.run(ts, args); (status != exitGood) != neg {
		ts.Fatalf("argosy: exit status %d", status)
	}
}

// run runs the command in the script's folder with the script's environment.
func (s *scripts) run(ts *testscript.TestScript, args []string) int {
	var variables []string
	for _, name := range s.variables {
		variables = append(variables, name+"="+ts.Getenv(name))
	}
	return runInProcess(ts.MkAbs("."), variables, args, ts.Stdout(), ts.Stderr())
}

// mustWork ends the tests when their own process cannot be set up.
func mustWork(err error) {
	if err != nil {
		panic(fmt.Sprintf("the tests' process: %v", err))
	}
}
