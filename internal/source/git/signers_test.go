package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// newKey makes an ssh key, and returns its file and its line of allowed signers.
func newKey(t *testing.T, name string) (file, line string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(file + ".pub")
	sourcetest.Check(t, err)
	return file, name + "@example.com " + string(public)
}

// With allowed signers, a commit is served only if one of them has signed it: not an unsigned one,
// one of a stranger's key, or one whose content was changed after. The last good one stays.
func TestOnlyCommitsOfAllowedSignersAreServed(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("there is no ssh-keygen")
	}
	r := sourcetest.NewRepo(t)
	r.Git("config", "gpg.format", "ssh")
	owner, line := newKey(t, "owner")
	stranger, _ := newKey(t, "stranger")
	signers := filepath.Join(t.TempDir(), "signers")
	sourcetest.Check(t, os.WriteFile(signers, []byte(line), 0o600))
	commit := func(content string, args ...string) string {
		t.Helper()
		sourcetest.Write(t, r.Dir, map[string]string{"a.yaml": content})
		r.Git("add", "--all")
		r.Git(append(args, "--quiet", "--message=change")...)
		return r.Git("rev-parse", "HEAD")
	}
	signed := func(key string) []string { return []string{"-c", "user.signingKey=" + key, "commit", "-S"} }

	good := commit("a: 1\n", signed(owner)...)
	g := openGit(t, Options{Location: r.URL(), Signers: signers})
	if s := sourcetest.Snapshot(t, g); s.Revision != good {
		t.Fatalf("%s, want %s", s.Revision, good)
	}
	refused := func(what, commit string) {
		t.Helper()
		s, err := g.Snapshot(sourcetest.Context(t))
		if !errors.Is(err, source.Unsigned) || !strings.Contains(err.Error(), "commit "+commit+" has no signature of an allowed signer; sign it by") || s.Revision != good {
			t.Errorf("%s: %v, %v", what, s, err)
		}
	}
	refused("unsigned", commit("a: 2\n", "commit"))
	refused("a stranger's", commit("a: 3\n", signed(stranger)...))
	// The signature of the good commit, over another tree.
	forged := strings.Replace(r.Git("cat-file", "commit", good), "tree "+r.Git("rev-parse", good+"^{tree}"), "tree "+r.Git("rev-parse", "HEAD^{tree}"), 1)
	file := filepath.Join(t.TempDir(), "commit")
	sourcetest.Check(t, os.WriteFile(file, []byte(forged+"\n"), 0o600))
	id := r.Git("hash-object", "-t", "commit", "-w", file)
	r.Git("update-ref", "refs/heads/main", id)
	refused("forged", id)
	r.Git("reset", "--quiet", "--hard", good)
	next := commit("a: 4\n", signed(owner)...)
	if s := sourcetest.Snapshot(t, g); s.Revision != next {
		t.Errorf("%s, want %s", s.Revision, next)
	}

	// What a process without the option has accepted is not served by one with it.
	sourcetest.Check(t, g.Close())
	unsigned := commit("a: 5\n", "commit")
	anyone := openGit(t, Options{Location: r.URL(), StateDir: filepath.Dir(g.base)})
	if s := sourcetest.Snapshot(t, anyone); s.Revision != unsigned {
		t.Errorf("%s, want %s", s.Revision, unsigned)
	}
	sourcetest.Check(t, anyone.Close())
	g = openGit(t, Options{Location: r.URL(), StateDir: filepath.Dir(g.base), Signers: signers})
	if s, err := g.Snapshot(sourcetest.Context(t)); s != nil || !errors.Is(err, source.Unsigned) {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := New(Options{Location: r.URL(), StateDir: t.TempDir(), Signers: "/nosuch/signers"}); !errors.Is(err, source.InvalidOptions) {
		t.Errorf("%v", err)
	}
}

// A signed tag vouches for its commit where the ref is that tag, by its own name, however the
// commit came about; the commit's own signature counts as ever. What nobody vouches for is refused,
// and the last good one stays.
func TestSignedTagVouchesForItsCommit(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("there is no ssh-keygen")
	}
	owner, line := newKey(t, "owner")
	stranger, _ := newKey(t, "stranger")
	signers := filepath.Join(t.TempDir(), "signers")
	sourcetest.Check(t, os.WriteFile(signers, []byte(line), 0o600))
	r := sourcetest.NewRepo(t)
	r.Git("config", "gpg.format", "ssh")
	n := 0
	commit := func(args ...string) string {
		t.Helper()
		n++
		sourcetest.Write(t, r.Dir, map[string]string{"a.yaml": fmt.Sprintf("a: %d\n", n)})
		r.Git("add", "--all")
		r.Git(append(args, "--quiet", "--message=change")...)
		return r.Git("rev-parse", "HEAD")
	}
	tag := func(name, of string, args ...string) {
		r.Git(append(args, "--force", "--message=release", name, of)...)
	}
	byOwner, byStranger := []string{"-c", "user.signingKey=" + owner, "tag", "-s"}, []string{"-c", "user.signingKey=" + stranger, "tag", "-s"}
	signedCommit := []string{"-c", "user.signingKey=" + owner, "commit", "-S"}

	good := commit("commit")
	tag("v1", good, byOwner...)
	o := Options{Location: r.URL(), Ref: "v1", Signers: signers}
	g := openGit(t, o)
	served := func(what, want string) {
		t.Helper()
		if s, err := g.Snapshot(sourcetest.Context(t)); err != nil || s.Revision != want {
			t.Errorf("%s: %v, %v; want %s", what, s, err, want)
		}
		good = want
	}
	refused := func(what, detail string) {
		t.Helper()
		s, err := g.Snapshot(sourcetest.Context(t))
		if !errors.Is(err, source.Unsigned) || !strings.Contains(err.Error(), detail) || s == nil || s.Revision != good {
			t.Errorf("%s: %v, %v; want %s, %s", what, s, err, good, detail)
		}
	}
	served("a signed tag", good)
	unsigned := commit("commit")
	neither := "neither the tag v1 nor its commit " + unsigned + " has a signature of an allowed signer; sign it by an ssh key of the file of allowed signers (git tag -s with gpg.format=ssh)"
	r.Git("tag", "--force", "v1")
	refused("a lightweight tag", neither)
	tag("v1", unsigned, "tag", "--annotate")
	refused("an unsigned tag", neither)
	tag("v1", unsigned, byStranger...)
	refused("a stranger's tag", neither)
	tag("v0", unsigned, byOwner...)
	r.Git("update-ref", "refs/tags/v1", r.Git("rev-parse", "v0"))
	refused("another signed tag under this name", `refs/tags/v1 is the signed tag "v0" under another name; sign a tag of that name`)
	tag("v1", "v0", "tag", "--annotate")
	refused("an unsigned tag of a signed one", neither)
	forged := strings.Replace(r.Git("cat-file", "tag", "v0"), "tag v0", "tag v1", 1)
	r.Git("update-ref", "refs/tags/v1", r.GitInput(forged+"\n", "hash-object", "-t", "tag", "-w", "--stdin"))
	refused("a signature over another name", neither)
	tag("v1", "HEAD~1", "tag", "--annotate")
	refused("the served commit by an unsigned tag", "neither the tag v1 nor its commit "+good)
	tag("inner", unsigned, "tag", "--annotate")
	tag("v1", "inner", byOwner...)
	served("a signed tag of a tag", unsigned)
	signed := commit(signedCommit...)
	tag("v1", signed, byStranger...)
	served("a stranger's tag of a signed commit", signed)
	signed = commit(signedCommit...)
	r.Git("tag", "--force", "v1")
	served("a lightweight tag of a signed commit", signed)

	// A branch is not what a tag vouches for, and neither is a commit id.
	tag("v2", commit("commit"), byOwner...)
	for _, ref := range []string{"main", r.Git("rev-parse", "main")} {
		if s, err := openGit(t, Options{Location: r.URL(), Ref: ref, Signers: signers}).Snapshot(sourcetest.Context(t)); s != nil || !errors.Is(err, source.Unsigned) {
			t.Errorf("%s: %v, %v", ref, s, err)
		}
	}
	g = openGit(t, Options{Location: r.URL(), Ref: "refs/tags/v2", Signers: signers})
	served("by its full name", r.Git("rev-parse", "main"))
}
