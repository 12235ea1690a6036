package component

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

// C1, C5, C6: commands under their names, with their version; files beside them.
func TestBuild(t *testing.T) {
	t.Parallel()
	o := module(t, "greeter")
	b, err := build(t.Context(), o, greeter(), []string{"greeter"})
	require.NoError(t, err)
	out, err := exec.Command(b.Path("greet")).Output()
	if got := string(out); err != nil || got != "hello from v1.22.333 of 1.22\n" {
		t.Errorf("greet says %q, %v", got, err)
	}
	if b.Path("greet") != b.Path("greeter/greet") {
		t.Errorf("%s is not %s", b.Path("greeter/greet"), b.Path("greet"))
	}
	if _, err := os.Stat(filepath.Join(b.Files("greeter"), "crds", "one.yaml")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(b.Files("greeter"), "crds", "kustomization.yaml")); err == nil {
		t.Error("an excluded file was copied")
	}
	if path, err := b.Find("serve"); err == nil || !strings.Contains(err.Error(), "built components (greeter)") || b.Path("serve") != "" {
		t.Errorf("a command nobody has is at %q, %v", path, err)
	}
	if b.Files("other") != "" {
		t.Error("a component that was not built has files")
	}
}

// C2: what is there is not built again, and go.mod's change is seen. C7: three are kept.
func TestBuildOnce(t *testing.T) {
	t.Parallel()
	o := module(t, "greeter")
	var lines []string
	o.Progress = func(line string) { lines = append(lines, line) }
	again := func() {
		t.Helper()
		if _, err := build(t.Context(), o, greeter(), []string{"greeter"}); err != nil {
			t.Fatal(err)
		}
	}
	again()
	if len(lines) != 2 || lines[0] != "building greeter (1 of 1)" || !strings.HasPrefix(lines[1], "built greeter (1 of 1) in ") {
		t.Errorf("the first build tells %q", lines)
	}
	lines = nil
	again()
	if lines != nil {
		t.Errorf("unchanged, and yet: %q", lines)
	}
	gomod := filepath.Join(o.Root, "greeter", "go.mod")
	text, err := os.ReadFile(gomod)
	require.NoError(t, err)
	for i := range 4 {
		write(t, gomod, fmt.Sprintf("%s\n// %d\n", text, i))
		again()
	}
	if len(lines) != 8 {
		t.Errorf("four changes, and: %q", lines)
	}
	if dirs := cached(t, o); len(dirs) != kept {
		t.Errorf("kept %v", dirs)
	}
	lines = nil
	write(t, filepath.Join(o.Root, "greeter", "own", "own.go"), "package own\n") // a change of its own program
	again()
	if len(lines) != 2 {
		t.Errorf("a Go file of its own, and: %q", lines)
	}
}

// C8: files below overlay replace those of a module, and are part of what is built.
func TestOverlay(t *testing.T) {
	t.Parallel()
	o := module(t, "greeter")
	r := greeter()["greeter"]
	r.Overlay = "example.org/versioned"
	for _, says := range []string{"one", "two"} {
		write(t, filepath.Join(o.Root, "greeter", "overlay", "versioned.go"), fmt.Sprintf("package versioned\n\nfunc init() { println(%q) }\n", says))
		b, err := build(t.Context(), o, map[string]recipe{"greeter": r}, []string{"greeter"})
		require.NoError(t, err)
		out, err := exec.Command(b.Path("greet")).CombinedOutput()
		if got := string(out); err != nil || got != says+"\nhello from v1.22.333 of 1.22\n" {
			t.Errorf("greet says %q, %v", got, err)
		}
	}
}

// C3: a component that cannot be built leaves nothing; the error says what, where and why.
func TestBroken(t *testing.T) {
	t.Parallel()
	o := module(t, "greeter")
	source := filepath.Join(o.Root, "greeter", "cmd", "greeting", "main.go")
	var broken strings.Builder
	broken.WriteString("package main\n\nfunc main() {\n")
	for i := range 9 {
		fmt.Fprintf(&broken, "\tundefined%d()\n", i)
	}
	write(t, source, broken.String()+"}\n")

	_, err := build(t.Context(), o, greeter(), []string{"greeter"})
	if err == nil {
		t.Fatal("built what cannot be")
	}
	for _, part := range []string{
		"build component greeter: go build -trimpath -gcflags all=-dwarf=false -ldflags '-s -w -X main.minor=1.22 -X main.version=v1.22.333' -o ",
		" tool (in " + filepath.Join(o.Root, "greeter") + "): exit status 1\n",
		"main.go:4:2: undefined: undefined0\n",
		"\nhint: `go env` tells",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("missing %q in:\n%v", part, err)
		}
	}
	if dirs := cached(t, o); len(dirs) != 0 {
		t.Errorf("the cache has %v", dirs)
	}

	_, err = Build(t.Context(), o, "unheard-of")
	if err == nil || !strings.Contains(err.Error(), `component "unheard-of": open `) || !strings.Contains(err.Error(), "components are directories of "+o.Root) {
		t.Errorf("a component nobody knows: %v", err)
	}
	if _, err := Build(t.Context(), Options{}, "etcd"); err == nil {
		t.Error("no root, and no error")
	}
}

// C4: two runs at once build once; the second says that it waits.
func TestTwoRuns(t *testing.T) {
	o := module(t, "greeter")
	g := slowGo(t)
	var runs sync.WaitGroup
	start := func(progress func(string)) {
		mine := o
		mine.Progress = progress
		runs.Go(func() {
			if _, err := build(t.Context(), mine, greeter(), []string{"greeter"}); err != nil {
				t.Error(err)
			}
		})
	}
	start(nil)
	g.wait(t)
	waits, second := make(chan string, 10), []string(nil)
	start(func(line string) { second = append(second, line); waits <- line })
	select {
	case <-waits:
	case <-time.After(time.Minute):
		t.Error("the second run says nothing")
	}
	g.release(t)
	runs.Wait()
	if len(second) != 1 || second[0] != "waiting for another run that is building components" {
		t.Errorf("the second run tells %q", second)
	}
	if n := g.builds(t); n != 1 {
		t.Errorf("built %d times", n)
	}
}

// Cancelling ends every process of the build and leaves nothing (C3); so does being killed, once a
// later run comes by.
func TestCancel(t *testing.T) {
	o := module(t, "greeter")
	leftover := filepath.Join(o.Cache, unfinished+"killed")
	require.NoError(t, os.MkdirAll(leftover, 0o755))
	g := slowGo(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := build(ctx, o, greeter(), []string{"greeter"})
		ended <- err
	}()
	pid := g.wait(t)
	enough := errors.New("enough")
	cancel(enough)
	err := <-ended
	if !errors.Is(err, enough) || !strings.Contains(err.Error(), "build component greeter: ended after ") {
		t.Errorf("the cancelled build says: %v", err)
	}
	if dirs := cached(t, o); len(dirs) != 0 {
		t.Errorf("the cache has %v", dirs)
	}
	// The compiler's stand-in is a grandchild, which init reaps in its own time.
	eventually(t, "the build's processes end", func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || bytes.Contains(status, []byte(") Z "))
	})
}

func TestHints(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"compile: write $WORK/b001/_pkg_.a: no space left on device":                                  "the disk is full",
		"go: k8s.io/kubernetes@v1.33.13: Get \"https://proxy\": dial tcp: lookup proxy: no such host": "check the network",
		"link: signal: killed": "memory ran out",
		"go: go.mod requires go >= 1.26.0 (running go 1.24.1; GOTOOLCHAIN=local)":                       "the installed Go is too old",
		"missing go.sum entry for module providing package example.org/x; to add:\n\tgo mod download x": "run `go mod tidy` in /src",
	} {
		if got := hint(output, "/src", "/cache"); !strings.Contains(got, want) {
			t.Errorf("%q: %s", output, got)
		}
	}
	lines := strings.Repeat("line\n", 30)
	if got := failure([]string{"build"}, "/src", errors.New("exit status 1"), lines, "/cache").Error(); !strings.Contains(got, "... (10 lines before)") || strings.Count(got, "line\n") != shownLines {
		t.Errorf("a long output: %s", got)
	}
}

func TestRequire(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Require("redis-server", "git", "surely-not-there")
	want := `command "redis-server" is needed and not in PATH (Debian package redis-server: apt-get install redis-server)
command "git" is needed and not in PATH (Debian package git: apt-get install git)
command "surely-not-there" is needed and not in PATH`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Every component of the suite has a module, and every recipe a component.
func TestRecipes(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "components")
	for name, r := range recipes {
		text, err := goOutput(t.Context(), filepath.Join(root, name), "mod", "edit", "-json")
		if err != nil {
			t.Error(err)
			continue
		}
		mod := decode(t, text)
		flags, err := r.ldflags(mod)
		if err != nil || strings.ContainsAny(flags, "{}") {
			t.Errorf("%s: %s, %v", name, flags, err)
		}
		for _, f := range r.Files {
			if _, ok := mod.version(f.Module); !ok {
				t.Errorf("%s: go.mod does not require %s", name, f.Module)
			}
		}
	}
}
