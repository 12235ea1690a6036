package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Any revision can be read, whatever the working tree and the index hold; both stay as they are.
func TestRevision(t *testing.T) {
	r := newRepo(t)
	first := r.commit(map[string]string{"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "notes.txt": "x", "link.yaml": "-> b/c.yaml", "out.yaml": "-> /etc/passwd"})
	r.git("tag", "--annotate", "--message=one", "v1")
	second := r.commit(map[string]string{"a.yaml": "a: 2\n"})
	r.git("update-ref", "refs/remotes/origin/topic", first)
	write(t, r.dir, map[string]string{"a.yaml": "a: 3\n", "d.yaml": "d: 1\n"})
	r.git("add", "d.yaml")
	write(t, r.dir, map[string]string{"d.yaml": "d: 2\n"})
	before, index := r.git("status", "--porcelain"), r.index()

	for rev, want := range map[string]string{
		"HEAD": second, "main": second, "refs/heads/main": second, second[:8]: second,
		"HEAD~1": first, "main^": first, "v1": first, "origin/topic": first, first: first,
	} {
		s, err := Revision(testContext(t), r.dir, rev, Limits{})
		check(t, err)
		a := map[string]string{first: "a: 1\n", second: "a: 2\n"}[want]
		got := contents(s)
		if !strings.HasPrefix(got["out.yaml"], "error: ") {
			t.Errorf("%s: a link out of the repository is %q", rev, got["out.yaml"])
		}
		delete(got, "out.yaml")
		if d := cmp.Diff(map[string]string{"a.yaml": a, "b/c.yaml": "c: 1\n", "link.yaml": "c: 1\n"}, got); d != "" || s.Revision != want {
			t.Errorf("%s: revision %s, want %s: %s", rev, s.Revision, want, d)
		}
	}
	if after := r.git("status", "--porcelain"); after != before || r.index() != index {
		t.Errorf("the repository has changed: %q, %q", before, after)
	}

	// The same content is the same to the engine, whether a folder or Git gives it.
	r.git("reset", "--quiet", "--hard")
	check(t, os.RemoveAll(filepath.Join(r.dir, "d.yaml")))
	s, err := Revision(testContext(t), r.dir, "HEAD", Limits{})
	check(t, err)
	if folder := snap(t, openFolder(t, r.dir)); folder.File("a.yaml").Digest != s.File("a.yaml").Digest {
		t.Errorf("digests differ: %s, %s", folder.File("a.yaml").Digest, s.File("a.yaml").Digest)
	}
}

func (r *repo) index() string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, ".git", "index"))
	check(r.t, err)
	return string(data)
}

// A worktree and a bare clone are repositories too; a variable of Git's that points elsewhere changes nothing.
func TestRevision_Kinds(t *testing.T) {
	r := newRepo(t)
	want := r.commit(map[string]string{"a.yaml": "a: 1\n"})
	worktree, bare := filepath.Join(t.TempDir(), "tree"), filepath.Join(t.TempDir(), "bare.git")
	r.git("worktree", "add", "--quiet", worktree)
	r.git("clone", "--quiet", "--bare", r.dir, bare)
	other := newRepo(t)
	other.commit(map[string]string{"other.yaml": "a: 1\n"})
	t.Setenv("GIT_DIR", filepath.Join(other.dir, ".git"))
	for _, dir := range []string{r.dir, worktree, bare} {
		s, err := Revision(testContext(t), dir, "HEAD", Limits{})
		check(t, err)
		if s.Revision != want {
			t.Errorf("%s: %s, want %s", dir, s.Revision, want)
		}
	}
}

func TestRevision_Errors(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": "a: 1\n", "sub/b.yaml": "b: 1\n"})
	r.git("tag", "v1")
	r.git("update-ref", "refs/remotes/origin/release", "HEAD")
	r.git("branch", "--move", "trunk")
	empty := newRepo(t)
	shallow := filepath.Join(t.TempDir(), "shallow")
	r.commit(map[string]string{"a.yaml": "a: 2\n"})
	r.git("clone", "--quiet", "--depth=1", r.url(), shallow)
	one := filepath.Join(t.TempDir(), "one")
	r.git("clone", "--quiet", "--single-branch", r.url(), one)
	partial := filepath.Join(t.TempDir(), "partial")
	r.git("config", "uploadpack.allowFilter", "true")
	r.git("clone", "--quiet", "--filter=blob:none", r.url(), partial)
	for _, c := range []struct {
		dir, rev, want string
		reason         Reason
	}{
		{r.dir, "trunc", `no revision "trunc"; did you mean "trunk"?`, UnknownRef},
		{r.dir, "release", `no revision "release"; did you mean "origin/release"?`, UnknownRef},
		{r.dir, "production", `no revision "production"; there are trunk, origin/release, v1`, UnknownRef},
		{r.dir, "--all", `no revision "--all"; there are trunk, origin/release, v1`, UnknownRef},
		{r.dir, "v1..trunk", `no revision "v1..trunk"; there are trunk, origin/release, v1`, UnknownRef},
		{r.dir, "HEAD:a.yaml", `no revision "HEAD:a.yaml"; there are trunk, origin/release, v1`, UnknownRef},
		{shallow, "HEAD~1", `no revision "HEAD~1"; the clone is shallow, its history does not go so far back: git fetch --deepen=1`, UnknownRef},
		{shallow, "HEAD~12", `no revision "HEAD~12"; the clone is shallow, its history does not go so far back: git fetch --deepen=12`, UnknownRef},
		{shallow, "HEAD^^", `no revision "HEAD^^"; the clone is shallow, its history does not go so far back: git fetch --deepen=2`, UnknownRef},
		{shallow, "origin/trunk~3", `no revision "origin/trunk~3"; did you mean "origin/trunk"?; the clone is shallow, its history does not go so far back: git fetch --deepen=3`, UnknownRef},
		{shallow, "v1", `no revision "v1"; the clone is shallow, and may lack it: git fetch --unshallow --tags gets all of its history`, UnknownRef},
		{shallow, "origin/release", `no revision "origin/release"; if origin has it: git fetch --depth=1 origin release:refs/remotes/origin/release`, UnknownRef},
		{one, "origin/release", `no revision "origin/release"; if origin has it: git fetch origin release:refs/remotes/origin/release`, UnknownRef},
		{one, "origin/trunc", `no revision "origin/trunc"; did you mean "origin/trunk"?; if origin has it: git fetch origin trunc:refs/remotes/origin/trunc`, UnknownRef},
		{one, "origin/$(id)", `no revision "origin/$(id)"; there are trunk, origin/HEAD, origin/trunk, v1`, UnknownRef},
		{partial, "v1", `revision "v1" cannot be read completely; the clone is partial: take one without --filter, or have Git fetch what is missing: git archive v1 >/dev/null`, GitFailed},
		{empty.dir, "HEAD", `no revision "HEAD"; the repository has no commits`, UnknownRef},
		{filepath.Join(r.dir, "sub"), "HEAD", `it is the folder "sub" of a Git repository; give the repository's root folder`, InvalidOptions},
		{filepath.Join(r.dir, "none"), "HEAD", "no such folder", NotFound},
		{t.TempDir(), "HEAD", "no Git repository; give the root folder of one", NotFound},
	} {
		s, err := Revision(testContext(t), c.dir, c.rev, Limits{})
		_, detail, _ := strings.Cut(errorText(err), `": `)
		if s != nil || detail != c.want || !errors.Is(err, c.reason) {
			t.Errorf("%s: got %v (%s), want %s", c.rev, err, ReasonOf(err), c.want)
		}
	}
	_, err := Revision(testContext(t), r.dir, "HEAD", Limits{Files: 1})
	if !errors.Is(err, LimitExceeded) {
		t.Errorf("got %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
