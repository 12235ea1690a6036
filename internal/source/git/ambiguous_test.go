package git

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// ambiguous is what errors say of a name that is a tag and a branch.
const ambiguous = `"v1" is ambiguous: it is the tag refs/tags/v1 and the branch refs/heads/v1; write refs/tags/v1 or refs/heads/v1 in its place, or delete one of them`

// named is an error's text of a repository.
func named(r *sourcetest.Repo, text string) string { return fmt.Sprintf("git %q: %s", r.URL(), text) }

// A user who can push a branch does not replace a tag: the last snapshot stays while the name is
// both. The full name says which one is meant.
func TestTagIsNotReplacedByABranch(t *testing.T) {
	for kind, other := range map[string]string{"refs/tags/v1": "refs/heads/v1", "refs/heads/v1": "refs/tags/v1"} {
		r := sourcetest.NewRepo(t)
		first := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
		r.Git("update-ref", kind, first)
		g := openGit(t, Options{Location: r.URL(), Ref: "v1"})
		sourcetest.Snapshot(t, g)
		second := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
		r.Git("update-ref", other, second)
		if s, err := g.Snapshot(sourcetest.Context(t)); s == nil || s.Revision != first || sourcetest.ErrorText(err) != named(r, ambiguous) || !errors.Is(err, source.AmbiguousRef) {
			t.Errorf("%s: %v, %v", kind, s, err)
		}
		for ref, want := range map[string]string{kind: first, other: second, strings.TrimPrefix(other, "refs/"): second} {
			if s := sourcetest.Snapshot(t, openGit(t, Options{Location: r.URL(), Ref: ref})); s.Revision != want {
				t.Errorf("%s: %s, want %s", ref, s.Revision, want)
			}
		}
	}
}

// What has never been served is not guessed: the first process that finds both serves neither.
func TestAmbiguousRefIsNotServed(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	r.Git("tag", "--annotate", "--message=one", "v1")
	r.Git("branch", "v1")
	r.Git("branch", "heads/v1")
	for ref, want := range map[string]string{
		"v1":       ambiguous,
		"heads/v1": `"heads/v1" is ambiguous: it is the branch refs/heads/heads/v1 and the branch refs/heads/v1; write refs/heads/heads/v1 or refs/heads/v1 in its place, or delete one of them`,
	} {
		s, err := openGit(t, Options{Location: r.URL(), Ref: ref}).Snapshot(sourcetest.Context(t))
		if s != nil || !errors.Is(err, source.AmbiguousRef) || err.Error() != named(r, want) {
			t.Errorf("%s: %v, %v", ref, s, err)
		}
		_, err = openRemote(t, r.URL(), ref, t.TempDir(), false).Part(sourcetest.Context(t), "a.yaml")
		if !errors.Is(err, source.AmbiguousRef) || err.Error() != named(r, want) {
			t.Errorf("remote %s: %v", ref, err)
		}
	}
}

// A revision of a clone that Git would take with a warning is refused, with all that it may be.
func TestAmbiguousRevisionIsRefused(t *testing.T) {
	r := sourcetest.NewRepo(t)
	first := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	r.Git("tag", "v1")
	r.Git("tag", "v2")
	r.Git("tag", "origin/main")
	second := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	r.Git("branch", "v1")
	r.Git("branch", "both")
	r.Git("branch", first[:8])
	r.Git("branch", second[:8])
	r.Git("tag", "v3/one")
	r.Git("branch", "v3")
	for _, name := range []string{"main", "v2", "both", "topic"} {
		r.Git("update-ref", "refs/remotes/origin/"+name, first)
	}
	r.Git("config", "core.warnAmbiguousRefs", "false")
	bare := filepath.Join(t.TempDir(), "bare.git")
	r.Git("clone", "--quiet", "--mirror", r.Dir, bare)
	const remote = `"origin/main" is ambiguous: it is the tag refs/tags/origin/main and the remote branch refs/remotes/origin/main; write refs/tags/origin/main or refs/remotes/origin/main in its place, or delete one of them`
	hex := strings.NewReplacer("ID", first, "NAME", first[:8]).Replace(`"NAME" is ambiguous: it is the branch refs/heads/NAME and the commit ID; write refs/heads/NAME or ID in its place, or delete one of them`)
	for rev, want := range map[string]string{
		"v1": ambiguous, "v1~0": ambiguous, "v1^": ambiguous, "v1@{0}": ambiguous, "origin/main": remote, first[:8]: hex,
		"refs/tags/v1": first, "heads/v1": second, "tags/v1": first, "v2": first, "v3": second, "both": second, "main": second, "HEAD": second,
		"HEAD~1": first, first: first, second[:8]: second, "origin/topic": first,
	} {
		for _, dir := range []string{r.Dir, bare} {
			s, err := Revision(sourcetest.Context(t), dir, rev, source.Limits{})
			_, detail, _ := strings.Cut(sourcetest.ErrorText(err), `": `)
			if s != nil && s.Revision == want || s == nil && detail == want && errors.Is(err, source.AmbiguousRef) {
				continue
			}
			t.Errorf("%s of %s: %v, %v; want %s", rev, dir, s, err, want)
		}
	}
	const server = `"v2" is ambiguous: it is the tag refs/tags/v2 and the remote branch refs/remotes/origin/v2; write refs/tags/v2 or refs/heads/v2 in its place, or delete one of them`
	for rev, want := range map[string]string{"v2": server, "both": second, "topic": first, "refs/heads/topic": first, "refs/tags/v2": first, "main": second, first: first} {
		s, err := FirstRevision(sourcetest.Context(t), r.Dir, source.Limits{}, InClone(rev)...)
		_, detail, _ := strings.Cut(sourcetest.ErrorText(err), `": `)
		if s == nil && detail != want || s != nil && s.Revision != want {
			t.Errorf("%s of the server: %v, %v; want %s", rev, s, err, want)
		}
	}
}
