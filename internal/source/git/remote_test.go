package git

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

func openRemote(t *testing.T, location, revision, dir string, offline bool) *Remote {
	t.Helper()
	o, err := NewRemote(location, revision, dir, offline, true)
	sourcetest.Check(t, err)
	t.Cleanup(func() { _ = o.Close() })
	return o
}

func part(t *testing.T, o *Remote, at string) []string {
	t.Helper()
	s, err := o.Part(sourcetest.Context(t), at)
	sourcetest.Check(t, err)
	return slices.Sorted(maps.Keys(sourcetest.Contents(s)))
}

// A part is what stands at a path and below, whatever it is called and wherever links lead
// in the repository.
func TestRemotePartHoldsAllFilesBelow(t *testing.T) {
	r := sourcetest.NewRepo(t)
	sourcetest.Write(t, filepath.Dir(r.Dir), map[string]string{"outside": "secret"})
	r.Commit(map[string]string{
		"charts/web/Chart.yaml": "name: web\n", "charts/web/config/app.conf": "a\n", "charts/web/.helmignore": "x\n", "charts/web/crds": "-> ../../crds",
		"charts/web/out.yaml": "-> ../../../outside", "charts/webs/Chart.yaml": "name: webs\n", "crds/c.yaml": "c: 1\n", "a.yaml": "a: 1\n",
	})
	o := openRemote(t, r.URL(), "main", t.TempDir(), false)
	want := []string{"charts/web/.helmignore", "charts/web/Chart.yaml", "charts/web/config/app.conf", "charts/web/crds/c.yaml", "charts/web/out.yaml"}
	if got := part(t, o, "charts/web"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s, err := o.Part(sourcetest.Context(t), "charts/web")
	sourcetest.Check(t, err)
	if f := s.File("charts/web/out.yaml"); f.Err == nil {
		t.Error("a link out of the repository has been followed")
	}
	if got := part(t, o, "a.yaml"); !slices.Equal(got, []string{"a.yaml"}) {
		t.Errorf("a file is %v", got)
	}
	if got := part(t, o, "."); len(got) != 8 {
		t.Errorf("all of it is %v", got)
	}
	_, err = o.Part(sourcetest.Context(t), "chart/web")
	if !errors.Is(err, source.Empty) || !strings.HasSuffix(err.Error(), `; did you mean "charts/web"?`) {
		t.Errorf("got %v", err)
	}
}

// Revisions are what Argo CD takes them for, each of one commit however long it is read;
// without a server, the mirror has what has been read.
func TestRemoteRevisionIsBranchTagCommitOrRange(t *testing.T) {
	r := sourcetest.NewRepo(t)
	ids := map[string]string{}
	for _, tag := range []string{"v1.0.0", "v1.2.0", "v1.3.0-rc.1", "v2.0.0", "other"} {
		ids[tag] = r.Commit(map[string]string{"a.yaml": "a: " + tag + "\n"})
		r.Git("tag", "--annotate", "--message=x", tag)
	}
	r.Git("branch", "2.x", ids["v1.0.0"])
	dir := t.TempDir()
	for revision, want := range map[string]string{
		"": "other", "HEAD": "other", "main": "other", "v1.0.0": "v1.0.0", ids["v1.2.0"]: "v1.2.0", ids["v1.2.0"][:9]: "v1.2.0",
		"1.*": "v1.2.0", "^1.0": "v1.2.0", ">=1.0.0 <2": "v1.2.0", "2.x": "v2.0.0", "v1.3.0-rc.1": "v1.3.0-rc.1",
	} {
		t.Run(revision, func(t *testing.T) {
			o := openRemote(t, r.URL(), revision, dir, false)
			s, err := o.Part(sourcetest.Context(t), "a.yaml")
			sourcetest.Check(t, err)
			assert.Equal(t, ids[want], s.Revision)
			if want != "other" {
				return // it moves with no commit
			}
			moved := r.Commit(map[string]string{"b.yaml": revision})
			again, err := o.Part(sourcetest.Context(t), "a.yaml")
			sourcetest.Check(t, err)
			if again.Revision != s.Revision || again.Revision == moved {
				t.Errorf("another part is of %s", again.Revision)
			}
			r.Git("reset", "--quiet", "--hard", "HEAD~1")
		})
	}
	sourcetest.Check(t, os.Rename(r.Dir, r.Dir+"-away"))
	if got := part(t, openRemote(t, r.URL(), "1.*", dir, true), "a.yaml"); len(got) != 1 {
		t.Errorf("offline there is %v", got)
	}
	if got := part(t, openRemote(t, r.URL(), ids["v2.0.0"], dir, true), "a.yaml"); len(got) != 1 {
		t.Errorf("offline there is %v", got)
	}
	_, err := openRemote(t, r.URL(), "3.*", dir, true).Part(sourcetest.Context(t), "a.yaml")
	if !errors.Is(err, source.UnknownRef) {
		t.Errorf("got %v", err)
	}
	_, err = openRemote(t, r.URL(), "main", dir, false).Part(sourcetest.Context(t), "a.yaml")
	if !errors.Is(err, source.NotFound) {
		t.Errorf("got %v", err)
	}
}

// A damaged mirror is fetched anew.
func TestDamagedRemoteMirrorIsFetchedAgain(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	dir := t.TempDir()
	part(t, openRemote(t, r.URL(), "main", dir, false), "a.yaml")
	packs, err := filepath.Glob(filepath.Join(dir, "*", "mirror.git", "objects", "*", "*"))
	sourcetest.Check(t, err)
	if len(packs) == 0 {
		t.Fatal("nothing to damage")
	}
	for _, p := range packs {
		sourcetest.Check(t, os.Chmod(p, 0o600))
		sourcetest.Check(t, os.Truncate(p, 5))
	}
	if got := part(t, openRemote(t, r.URL(), "main", dir, false), "a.yaml"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

// What is too much is not fetched, and no larger file is read that nobody asks for.
func TestRemoteFetchIsBounded(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"c/a.yaml": "a: 1\n", "c/large.bin": strings.Repeat("0123456789abcdef", 100), "c/large.yaml": strings.Repeat("a", 1600)})
	o := openRemote(t, r.URL(), "main", t.TempDir(), false)
	o.repository.limits.FileSize = 1000
	s, err := o.Part(sourcetest.Context(t), "c")
	sourcetest.Check(t, err)
	if s.File("c/large.bin") != nil || s.File("c/large.yaml").Err == nil {
		t.Errorf("got %v", sourcetest.Contents(s))
	}
	o.repository.limits.Files = 1
	if _, err := o.Part(sourcetest.Context(t), "c"); !errors.Is(err, source.LimitExceeded) {
		t.Errorf("got %v", err)
	}
	o = openRemote(t, r.URL(), "main", t.TempDir(), false)
	o.repository.maxFetch = 100
	_, err = o.Part(sourcetest.Context(t), "c")
	if want := fmt.Sprintf("git %q: more than 100 bytes are to be fetched, which is the limit", r.URL()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Credentials are those that the user's git has; without any, nobody is asked.
func TestRemoteUsesTheUsersCredentialHelper(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	asked := 0
	server := r.Server("fleet", "open-sesame", func(*http.Request) { asked++ })
	url := server.URL + "/.git"
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_ASKPASS", "/bin/false")
	sourcetest.Check(t, os.Unsetenv("GIT_CONFIG_GLOBAL"))
	_, err := openRemote(t, url, "main", t.TempDir(), false).Part(sourcetest.Context(t), "a.yaml")
	if !errors.Is(err, source.Authentication) || asked != 0 {
		t.Errorf("got %v after %d requests with credentials", err, asked)
	}
	sourcetest.Write(t, home, map[string]string{".gitconfig": "[credential]\n\thelper = \"!f() { echo username=fleet; echo password=open-sesame; }; f\"\n"})
	if got := part(t, openRemote(t, url, "main", t.TempDir(), false), "a.yaml"); len(got) != 1 || asked == 0 {
		t.Errorf("got %v", got)
	}
	// Those of the URL come first.
	_, err = openRemote(t, strings.Replace(url, "://", "://fleet:wrong@", 1), "main", t.TempDir(), false).Part(sourcetest.Context(t), "a.yaml")
	if !errors.Is(err, source.Authentication) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("got %v", err)
	}
	// Other addresses are the user's own, too.
	sourcetest.Write(t, home, map[string]string{".gitconfig": fmt.Sprintf("[url %q]\n\tinsteadOf = https://git.example/\n", r.URL()+"/")})
	if got := part(t, openRemote(t, "https://git.example/.git", "main", t.TempDir(), false), "a.yaml"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	// No user's configuration has git run something on its own.
	marker := filepath.Join(home, "ran")
	sourcetest.Write(t, home, map[string]string{"hooks/reference-transaction": "#!/bin/sh\ntouch " + marker + "\n", ".gitconfig": "[core]\n\thooksPath = " + filepath.Join(home, "hooks") + "\n"})
	sourcetest.Check(t, os.Chmod(filepath.Join(home, "hooks", "reference-transaction"), 0o700))
	part(t, openRemote(t, r.URL(), "main", t.TempDir(), false), "a.yaml")
	if _, err := os.Stat(marker); err == nil {
		t.Error("a hook ran")
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	if _, err := openRemote(t, closed.URL, "main", t.TempDir(), false).Part(sourcetest.Context(t), "a.yaml"); !errors.Is(err, source.Unreachable) {
		t.Errorf("got %v", err)
	}
}
