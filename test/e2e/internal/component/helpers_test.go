package component

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

// module writes a component without dependencies: building it needs no network.
func module(t *testing.T, name string) Options {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"go.mod":                            "module example.org/" + name + "\n\ngo 1.24\n\nrequire example.org/versioned v1.22.333\n\nreplace example.org/versioned => ./versioned\n\ntool example.org/" + name + "/cmd/greeting\n",
		"versioned/go.mod":                  "module example.org/versioned\n\ngo 1.24\n",
		"versioned/versioned.go":            "package versioned\n",
		"versioned/crds/one.yaml":           "kind: CustomResourceDefinition\n",
		"versioned/crds/kustomization.yaml": "kind: Kustomization\n",
		"cmd/greeting/main.go": `package main

import (
	"fmt"

	_ "example.org/versioned"
)

var version, minor string

func main() { fmt.Println("hello from", version, "of", minor) }
`,
	} {
		write(t, filepath.Join(root, name, path), text)
	}
	return Options{Root: root, Cache: filepath.Join(t.TempDir(), "cache")}
}

func greeter() map[string]recipe {
	return map[string]recipe{"greeter": {
		Rename:  map[string]string{"greeting": "greet"},
		Files:   []files{{Module: "example.org/versioned", Glob: "crds/*.yaml", Exclude: "kustomization.yaml", To: "crds"}},
		Version: []stamp{{Module: "example.org/versioned", Variables: map[string]string{"main.version": "{version}", "main.minor": "{major}.{minor}"}}},
	}}
}

// cached lists the cache without its lock.
func cached(t *testing.T, o Options) []string {
	t.Helper()
	entries, err := os.ReadDir(o.Cache)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if e.Name() != "lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

// A stoppedGo is a go command in PATH whose builds begin a process of their own and wait for
// release.
type stoppedGo struct{ dir string }

func slowGo(t *testing.T) stoppedGo {
	t.Helper()
	real, err := exec.LookPath("go")
	require.NoError(t, err)
	dir := t.TempDir()
	script := fmt.Sprintf(`#!/bin/sh
if [ "$1" = build ]; then
	echo . >>%[1]s/builds
	sh -c 'echo $$ >%[1]s/pid.tmp; mv %[1]s/pid.tmp %[1]s/pid; until [ -e %[1]s/go-on ]; do sleep 0.05; done'
fi
exec %[2]s "$@"
`, dir, real)
	write(t, filepath.Join(dir, "go"), script)
	require.NoError(t, os.Chmod(filepath.Join(dir, "go"), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return stoppedGo{dir}
}

// wait until a build is under way; the process it started.
func (g stoppedGo) wait(t *testing.T) int {
	t.Helper()
	var pid int
	eventually(t, "go build starts", func() bool {
		text, err := os.ReadFile(filepath.Join(g.dir, "pid"))
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return pid
}

func (g stoppedGo) release(t *testing.T) {
	t.Helper()
	write(t, filepath.Join(g.dir, "go-on"), "")
}

func (g stoppedGo) builds(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "builds"))
	require.NoError(t, err)
	return strings.Count(string(text), "\n")
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(time.Minute)
	for !done() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited a minute: %s", what)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func decode(t *testing.T, text []byte) modFile {
	t.Helper()
	var mod modFile
	require.NoError(t, json.Unmarshal(text, &mod))
	return mod
}
