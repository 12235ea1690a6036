package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// Any revision can be read, whatever the working tree and the index hold; both stay as they are.
func TestRevision(t *testing.T) {
	r := sourcetest.NewRepo(t)
	first := r.Commit(map[string]string{"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "notes.txt": "x", "link.yaml": "-> b/c.yaml", "out.yaml": "-> /etc/passwd"})
	r.Git("tag", "--annotate", "--message=one", "v1")
	second := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	r.Git("update-ref", "refs/remotes/origin/topic", first)
	sourcetest.Write(t, r.Dir, map[string]string{"a.yaml": "a: 3\n", "d.yaml": "d: 1\n"})
	r.Git("add", "d.yaml")
	sourcetest.Write(t, r.Dir, map[string]string{"d.yaml": "d: 2\n"})
	before, index := r.Git("status", "--porcelain"), indexOf(r)

	for rev, want := range map[string]string{
		"HEAD": second, "main": second, "refs/heads/main": second, second[:8]: second,
		"HEAD~1": first, "main^": first, "v1": first, "origin/topic": first, first: first,
	} {
		s, err := Revision(sourcetest.Context(t), r.Dir, rev, source.Limits{})
		sourcetest.Check(t, err)
		a := map[string]string{first: "a: 1\n", second: "a: 2\n"}[want]
		got := sourcetest.Contents(s)
		if !strings.HasPrefix(got["out.yaml"], "error: ") {
			t.Errorf("%s: a link out of the repository is %q", rev, got["out.yaml"])
		}
		delete(got, "out.yaml")
		if d := cmp.Diff(map[string]string{"a.yaml": a, "b/c.yaml": "c: 1\n", "link.yaml": "c: 1\n"}, got); d != "" || s.Revision != want {
			t.Errorf("%s: revision %s, want %s: %s", rev, s.Revision, want, d)
		}
	}
	if after := r.Git("status", "--porcelain"); after != before || indexOf(r) != index {
		t.Errorf("the repository has changed: %q, %q", before, after)
	}
}

func indexOf(r *sourcetest.Repo) string {
	r.T.Helper()
	data, err := os.ReadFile(filepath.Join(r.Dir, ".git", "index"))
	sourcetest.Check(r.T, err)
	return string(data)
}

// A worktree and a bare clone are repositories too; a variable of Git's that points elsewhere
// changes nothing.
func TestRevision_Kinds(t *testing.T) {
	r := sourcetest.NewRepo(t)
	want := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	worktree, bare := filepath.Join(t.TempDir(), "tree"), filepath.Join(t.TempDir(), "bare.git")
	r.Git("worktree", "add", "--quiet", worktree)
	r.Git("clone", "--quiet", "--bare", r.Dir, bare)
	other := sourcetest.NewRepo(t)
	other.Commit(map[string]string{"other.yaml": "a: 1\n"})
	t.Setenv("GIT_DIR", filepath.Join(other.Dir, ".git"))
	for _, dir := range []string{r.Dir, worktree, bare} {
		s, err := Revision(sourcetest.Context(t), dir, "HEAD", source.Limits{})
		sourcetest.Check(t, err)
		assert.Equal(t, want, s.Revision, "%s", dir)
	}
}

func TestRevision_Errors(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n", "sub/b.yaml": "b: 1\n"})
	r.Git("tag", "v1")
	r.Git("update-ref", "refs/remotes/origin/release", "HEAD")
	r.Git("branch", "--move", "trunk")
	empty := sourcetest.NewRepo(t)
	shallow := filepath.Join(t.TempDir(), "shallow")
	r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	r.Git("clone", "--quiet", "--depth=1", r.URL(), shallow)
	one := filepath.Join(t.TempDir(), "one")
	r.Git("clone", "--quiet", "--single-branch", r.URL(), one)
	partial := filepath.Join(t.TempDir(), "partial")
	r.Git("config", "uploadpack.allowFilter", "true")
	r.Git("clone", "--quiet", "--filter=blob:none", r.URL(), partial)
	for _, c := range []struct {
		dir, rev, want string
		reason         source.Reason
	}{
		{r.Dir, "trunc", `no revision "trunc"; did you mean "trunk"?`, source.UnknownRef},
		{r.Dir, "release", `no revision "release"; did you mean "origin/release"?`, source.UnknownRef},
		{r.Dir, "production", `no revision "production"; there are trunk, origin/release, v1`, source.UnknownRef},
		{r.Dir, "--all", `no revision "--all"; there are trunk, origin/release, v1`, source.UnknownRef},
		{r.Dir, "v1..trunk", `no revision "v1..trunk"; there are trunk, origin/release, v1`, source.UnknownRef},
		{r.Dir, "HEAD:a.yaml", `no revision "HEAD:a.yaml"; there are trunk, origin/release, v1`, source.UnknownRef},
		{shallow, "HEAD~1", `no revision "HEAD~1"; the clone is shallow, its history does not go so far back: git fetch --deepen=1`, source.UnknownRef},
		{shallow, "HEAD~12", `no revision "HEAD~12"; the clone is shallow, its history does not go so far back: git fetch --deepen=12`, source.UnknownRef},
		{shallow, "HEAD^^", `no revision "HEAD^^"; the clone is shallow, its history does not go so far back: git fetch --deepen=2`, source.UnknownRef},
		{shallow, "origin/trunk~3", `no revision "origin/trunk~3"; did you mean "origin/trunk"?; the clone is shallow, its history does not go so far back: git fetch --deepen=3`, source.UnknownRef},
		{shallow, "v1", `no revision "v1"; the clone is shallow, and may lack it: git fetch --unshallow --tags gets all of its history`, source.UnknownRef},
		{shallow, "origin/release", `no revision "origin/release"; if origin has it: git fetch --depth=1 origin release:refs/remotes/origin/release`, source.UnknownRef},
		{one, "origin/release", `no revision "origin/release"; if origin has it: git fetch origin release:refs/remotes/origin/release`, source.UnknownRef},
		{one, "origin/trunc", `no revision "origin/trunc"; did you mean "origin/trunk"?; if origin has it: git fetch origin trunc:refs/remotes/origin/trunc`, source.UnknownRef},
		{one, "origin/$(id)", `no revision "origin/$(id)"; there are trunk, origin/HEAD, origin/trunk, v1`, source.UnknownRef},
		{partial, "v1", `revision "v1" cannot be read completely; the clone is partial: take one without --filter, or have Git fetch what is missing: git archive v1 >/dev/null`, source.GitFailed},
		{empty.Dir, "HEAD", `no revision "HEAD"; the repository has no commits`, source.UnknownRef},
		{filepath.Join(r.Dir, "sub"), "HEAD", `it is the folder "sub" of a Git repository; give the repository's root folder`, source.InvalidOptions},
		{filepath.Join(r.Dir, "none"), "HEAD", "no such folder", source.NotFound},
		{t.TempDir(), "HEAD", "no Git repository; give the root folder of one", source.NotFound},
	} {
		s, err := Revision(sourcetest.Context(t), c.dir, c.rev, source.Limits{})
		_, detail, _ := strings.Cut(sourcetest.ErrorText(err), `": `)
		if s != nil || detail != c.want || !errors.Is(err, c.reason) {
			t.Errorf("%s: got %v (%s), want %s", c.rev, err, source.ReasonOf(err), c.want)
		}
	}
	_, err := Revision(sourcetest.Context(t), r.Dir, "HEAD", source.Limits{Files: 1})
	if !errors.Is(err, source.LimitExceeded) {
		t.Errorf("got %v", err)
	}
}
