package git

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// bombSize is that of each of two similar files, which are some kilobytes in a pack, and are both
// in memory when a pack is unpacked.
const bombSize = 24 << 20

// commitBomb commits two large files that differ little, and a small one.
func commitBomb(t *testing.T, r *sourcetest.Repo) string {
	t.Helper()
	zeros := strings.Repeat("\x00", bombSize)
	commit := r.Commit(map[string]string{"a.yaml": "a: 2\n", "one.yaml": zeros, "two.yaml": zeros[9:] + "different"})
	r.Git("-c", "pack.threads=1", "repack", "-adq")
	return commit
}

// sourceWithBomb is a source that has read a good commit of a repository, which then has a bomb.
func sourceWithBomb(t *testing.T) (g *Repository, r *sourcetest.Repo, good string) {
	t.Helper()
	r = sourcetest.NewRepo(t)
	good = r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	g = openGit(t, Options{Location: r.URL()})
	sourcetest.Snapshot(t, g)
	commitBomb(t, r)
	return g, r, good
}

// stays checks that a source still has a commit, and left nothing else.
func stays(t *testing.T, g *Repository, commit string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(g.mirror, "objects", "pack", "tmp_*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if g.last.Revision != commit {
		t.Errorf("%s is served; want %s", g.last.Revision, commit)
	}
}

// H10, G4: large files end git at its limit of memory. The mirror is not damaged, its last good
// commit is served, and the same commit is not fetched again.
func TestPackBeyondMemoryIsRefused(t *testing.T) {
	g, r, good := sourceWithBomb(t)
	g.maxMemory = 32 << 20
	fetches := filepath.Join(t.TempDir(), "fetches")
	g.program = filepath.Join(t.TempDir(), "git")
	sourcetest.Check(t, os.WriteFile(g.program, []byte("#!/bin/sh\ncase \"$*\" in *fetch*) echo >>"+fetches+";; esac\nexec git \"$@\"\n"), 0o755))
	for range 2 {
		s, err := g.Snapshot(sourcetest.Context(t))
		if !errors.Is(err, source.LimitExceeded) || !strings.Contains(err.Error(), ": git needs more memory than it may have (33554432 bytes); keep large files") || s.Revision != good {
			t.Fatalf("%v, %v", s, err)
		}
	}
	if data, err := os.ReadFile(fetches); err != nil || len(data) != 1 {
		t.Errorf("it is fetched %d times, %v", len(data), err)
	}
	r.Git("rm", "--quiet", "one.yaml", "two.yaml")
	if next := r.Commit(nil); sourcetest.Snapshot(t, g).Revision != next {
		t.Error("the next commit is not fetched")
	}
	stays(t, g, g.last.Revision)
}

// H10, G4: a fetch that grows beyond the limit of the disk ends, and leaves the mirror as it was.
func TestFetchBeyondTheDiskIsNotDamage(t *testing.T) {
	r := sourcetest.NewRepo(t)
	good := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	g := openGit(t, Options{Location: r.URL()})
	sourcetest.Snapshot(t, g)
	g.maxFetch = 1000
	r.Commit(map[string]string{"a.yaml": "a: " + strings.Repeat("0123456789abcdef", 50) + sourceNoise(60_000)})
	s, err := g.Snapshot(sourcetest.Context(t))
	if !errors.Is(err, source.LimitExceeded) || s.Revision != good {
		t.Fatalf("%v, %v", s, err)
	}
	stays(t, g, good)
}

// sourceNoise is a text of so many random bytes, which cannot be compressed well.
func sourceNoise(n int) string {
	data := make([]byte, n)
	_, _ = rand.Read(data)
	return base64.StdEncoding.EncodeToString(data)
}

// G4: git that is killed, or finds no room, says nothing about the mirror.
func TestKilledGitIsNotDamage(t *testing.T) {
	for name, c := range map[string]struct {
		ends string
		want source.Reason
	}{
		"killed while it fetches":    {`case "$*" in *fetch*) kill -9 $$;; esac`, source.Unreadable},
		"killed while it lists":      {`case "$*" in *ls-tree*) kill -9 $$;; esac`, source.Unreadable},
		"killed while it reads":      {`case "$*" in *cat-file*) kill -9 $$;; esac`, source.Unreadable},
		"no room for what it writes": {`case "$*" in *fetch*) echo "fatal: write error: No space left on device" >&2; exit 128;; esac`, source.Unreadable},
	} {
		t.Run(name, func(t *testing.T) {
			r := sourcetest.NewRepo(t)
			good := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
			g := openGit(t, Options{Location: r.URL()})
			sourcetest.Snapshot(t, g)
			before, err := os.Stat(g.mirror)
			sourcetest.Check(t, err)
			r.Commit(map[string]string{"a.yaml": "a: 2\n"})
			g.program = filepath.Join(t.TempDir(), "git")
			sourcetest.Check(t, os.WriteFile(g.program, []byte("#!/bin/sh\n"+c.ends+"\nexec git \"$@\"\n"), 0o755))
			s, err := g.Snapshot(sourcetest.Context(t))
			if !errors.Is(err, c.want) || s.Revision != good {
				t.Errorf("%v, %v", s, err)
			}
			if after, err := os.Stat(g.mirror); err != nil || !os.SameFile(before, after) {
				t.Errorf("the mirror is another one, %v", err)
			}
			stays(t, g, good)
		})
	}
}

// The environment of the service's git leads to a server, and to nothing else that the service has.
func TestGitGetsALittleEnvironment(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("ARGOSY_TOKEN", "secret")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("https_proxy", "http://proxy:3128")
	env := strings.Join(openGit(t, Options{Location: "https://example.org/x.git"}).env, "\n")
	for _, name := range []string{"KUBERNETES", "ARGOSY_TOKEN", "AWS_"} {
		if strings.Contains(env, name) {
			t.Errorf("%s is in it", name)
		}
	}
	if !strings.Contains(env, "https_proxy=http://proxy:3128") || !strings.Contains(env, "PATH=") {
		t.Errorf("it leads to no server: %s", env)
	}
}

// G4: git that was killed once is asked again: nothing says that the commit is too large. The
// test's name is among git's arguments.
func TestKilledGitIsAskedAgain(t *testing.T) {
	r := sourcetest.NewRepo(t)
	good := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	g := openGit(t, Options{Location: r.URL()})
	sourcetest.Snapshot(t, g)
	next := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	killed := filepath.Join(t.TempDir(), "killed")
	g.program = filepath.Join(t.TempDir(), "git")
	sourcetest.Check(t, os.WriteFile(g.program, []byte("#!/bin/sh\ncase \"$*\" in *fetch*) test -e "+killed+" || { : >"+killed+"; kill -9 $$; };; esac\nexec git \"$@\"\n"), 0o755))
	if s, err := g.Snapshot(sourcetest.Context(t)); !errors.Is(err, source.Unreadable) || s.Revision != good {
		t.Fatalf("%v, %v", s, err)
	}
	if s, err := g.Snapshot(sourcetest.Context(t)); err != nil || s.Revision != next {
		t.Errorf("%v, %v; want %s", s, err, next)
	}
}

// H10: the mirror has one commit's files, however many commits have been fetched: gc keeps for an
// hour what no ref has.
func TestMirrorDoesNotGrowWithHistory(t *testing.T) {
	r := sourcetest.NewRepo(t)
	g := openGit(t, Options{Location: r.URL()})
	g.maxFetch = 1 << 20
	last := ""
	for range 12 {
		last = r.Commit(map[string]string{"a.yaml": "a: " + sourceNoise(200_000)})
		if s := sourcetest.Snapshot(t, g); s.Revision != last {
			t.Fatalf("%s, want %s", s.Revision, last)
		}
	}
	if n := sizeBelow(g.mirror); n > g.maxFetch+400_000 {
		t.Errorf("the mirror has %d bytes of a commit of 270,000", n)
	}
	stays(t, g, last)
}
