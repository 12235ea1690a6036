package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// A server that lacks memory says nothing about the commit: the next poll has it.
func TestServersLackOfMemoryRefusesNoCommit(t *testing.T) {
	r := sourcetest.NewRepo(t)
	good := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	g := openGit(t, Options{Location: r.URL()})
	sourcetest.Snapshot(t, g)
	next := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	real := g.program
	g.program = filepath.Join(t.TempDir(), "git")
	sourcetest.Check(t, os.WriteFile(g.program, []byte(`#!/bin/sh
case "$*" in *fetch*) printf '%s\n' 'remote: fatal: Out of memory, malloc failed' 'fatal: early EOF' >&2; exit 128;; esac
exec git "$@"
`), 0o755))
	if s, err := g.Snapshot(sourcetest.Context(t)); !errors.Is(err, source.Unreachable) || s.Revision != good {
		t.Fatalf("%v, %v; want %s, and an unreachable server", s, err, good)
	}
	g.program = real
	if s := sourcetest.Snapshot(t, g); s.Revision != next {
		t.Errorf("%s is served; want %s", s.Revision, next)
	}
}

// A repository with turns takes one to fetch, and gives it back.
func TestFetchTakesATurn(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	turns := make(chan struct{}) // without a buffer, each side waits for the other
	g := openGit(t, Options{Location: r.URL(), Turns: turns})
	polled := make(chan error, 1)
	go func() {
		_, err := g.Snapshot(sourcetest.Context(t))
		polled <- err
	}()
	select {
	case <-turns:
	case err := <-polled:
		t.Fatalf("%v without a turn", err)
	}
	turns <- struct{}{}
	assert.NoError(t, <-polled)
}

// A mirror beyond its limit keeps only what the ref needs, and nothing of a gc that was killed.
func TestMirrorBeyondItsLimitDropsEarlierRefs(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	g := openGit(t, Options{Location: r.URL()})
	sourcetest.Snapshot(t, g)
	const earlier = "refs/argosy/all/heads/old"
	sourcetest.Check(t, g.local(sourcetest.Context(t), "update-ref", earlier, g.fetched))
	left := filepath.Join(g.mirror, "objects", "pack", "tmp_pack_left")
	sourcetest.Check(t, os.WriteFile(left, nil, 0o600))
	g.maxFetch = 1 << 10
	next := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	g.program = filepath.Join(t.TempDir(), "git")
	sourcetest.Check(t, os.WriteFile(g.program, []byte("#!/bin/sh\ncase \"$*\" in *' gc '*) exit 1;; esac\nexec git \"$@\"\n"), 0o755))
	g.collect(sourcetest.Context(t))
	assert.Equal(t, "", g.idOf(sourcetest.Context(t), earlier), "an earlier ref is kept")
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed gc left: %v", err)
	}
	g.maxFetch = maxFetch
	if s := sourcetest.Snapshot(t, g); s.Revision != next {
		t.Errorf("%s is served; want %s", s.Revision, next)
	}
}
