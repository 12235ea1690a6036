package location

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

func TestOpen(t *testing.T) {
	r := sourcetest.NewRepo(t)
	commit := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	bare := filepath.Join(t.TempDir(), "fleet.git")
	r.Git("clone", "--quiet", "--bare", r.Dir, bare)
	for location, want := range map[string]string{
		r.Dir: fmt.Sprintf("folder %q", r.Dir), bare: fmt.Sprintf("git %q", bare), "not/there": `folder "not/there"`,
		"https://u:p@host/x": `git "https://host/x"`, "git@host:x": `git "git@host:x"`, "host:x/y": `git "host:x/y"`,
		"./a:b": `folder "./a:b"`, "ssh://git@host/x": `git "ssh://git@host/x"`,
	} {
		s, err := Open(git.Options{Location: location, StateDir: t.TempDir()})
		sourcetest.Check(t, err)
		assert.Equal(t, want, s.String(), "%s: %s, want", location, s)
		if location == bare && sourcetest.Snapshot(t, s).Revision != commit {
			t.Error("a bare repository is not read")
		}
		sourcetest.Check(t, s.Close())
	}
}
