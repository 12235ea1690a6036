package source

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
)

func openOther(t *testing.T, location, revision, dir string, offline bool) *Other {
	t.Helper()
	o, err := NewOther(location, revision, dir, offline)
	check(t, err)
	t.Cleanup(func() { _ = o.Close() })
	return o
}

func part(t *testing.T, o *Other, at string) []string {
	t.Helper()
	s, err := o.Part(testContext(t), at)
	check(t, err)
	return slices.Sorted(maps.Keys(contents(s)))
}

// Rule 11: a part is what stands at a path and below, whatever it is called and wherever links lead in the repository.
func TestOther_Part(t *testing.T) {
	r := newRepo(t)
	write(t, filepath.Dir(r.dir), map[string]string{"outside": "secret"})
	r.commit(map[string]string{
		"charts/web/Chart.yaml": "name: web\n", "charts/web/config/app.conf": "a\n", "charts/web/.helmignore": "x\n", "charts/web/crds": "-> ../../crds",
		"charts/web/out.yaml": "-> ../../../outside", "charts/webs/Chart.yaml": "name: webs\n", "crds/c.yaml": "c: 1\n", "a.yaml": "a: 1\n",
	})
	o := openOther(t, r.url(), "main", t.TempDir(), false)
	want := []string{"charts/web/.helmignore", "charts/web/Chart.yaml", "charts/web/config/app.conf", "charts/web/crds/c.yaml", "charts/web/out.yaml"}
	if got := part(t, o, "charts/web"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s, err := o.Part(testContext(t), "charts/web")
	check(t, err)
	if f := s.File("charts/web/out.yaml"); f.Err == nil {
		t.Error("a link out of the repository has been followed")
	}
	if got := part(t, o, "a.yaml"); !slices.Equal(got, []string{"a.yaml"}) {
		t.Errorf("a file is %v", got)
	}
	if got := part(t, o, "."); len(got) != 8 {
		t.Errorf("all of it is %v", got)
	}
	_, err = o.Part(testContext(t), "chart/web")
	if !errors.Is(err, Empty) || !strings.HasSuffix(err.Error(), `; did you mean "charts/web"?`) {
		t.Errorf("got %v", err)
	}
}

// Rule 11: revisions are what Argo CD takes them for, each of one commit however long it is read; without a server, the mirror
// has what has been read.
func TestOther_Revisions(t *testing.T) {
	r := newRepo(t)
	ids := map[string]string{}
	for _, tag := range []string{"v1.0.0", "v1.2.0", "v1.3.0-rc.1", "v2.0.0", "other"} {
		ids[tag] = r.commit(map[string]string{"a.yaml": "a: " + tag + "\n"})
		r.git("tag", "--annotate", "--message=x", tag)
	}
	r.git("branch", "2.x", ids["v1.0.0"])
	dir := t.TempDir()
	for revision, want := range map[string]string{
		"": "other", "HEAD": "other", "main": "other", "v1.0.0": "v1.0.0", ids["v1.2.0"]: "v1.2.0", ids["v1.2.0"][:9]: "v1.2.0",
		"1.*": "v1.2.0", "^1.0": "v1.2.0", ">=1.0.0 <2": "v1.2.0", "2.x": "v2.0.0", "v1.3.0-rc.1": "v1.3.0-rc.1",
	} {
		t.Run(revision, func(t *testing.T) {
			o := openOther(t, r.url(), revision, dir, false)
			s, err := o.Part(testContext(t), "a.yaml")
			check(t, err)
			if s.Revision != ids[want] {
				t.Errorf("got %s, want %s", s.Revision, ids[want])
			}
			moved := r.commit(map[string]string{"b.yaml": revision})
			again, err := o.Part(testContext(t), "a.yaml")
			check(t, err)
			if again.Revision != s.Revision || again.Revision == moved {
				t.Errorf("another part is of %s", again.Revision)
			}
			r.git("reset", "--quiet", "--hard", "HEAD~1")
		})
	}
	check(t, os.Rename(r.dir, r.dir+"-away"))
	if got := part(t, openOther(t, r.url(), "1.*", dir, true), "a.yaml"); len(got) != 1 {
		t.Errorf("offline there is %v", got)
	}
	if got := part(t, openOther(t, r.url(), ids["v2.0.0"], dir, true), "a.yaml"); len(got) != 1 {
		t.Errorf("offline there is %v", got)
	}
	_, err := openOther(t, r.url(), "3.*", dir, true).Part(testContext(t), "a.yaml")
	if !errors.Is(err, UnknownRef) {
		t.Errorf("got %v", err)
	}
	_, err = openOther(t, r.url(), "main", dir, false).Part(testContext(t), "a.yaml")
	if !errors.Is(err, NotFound) {
		t.Errorf("got %v", err)
	}
}

// Rule 11: a damaged mirror is fetched anew.
func TestOther_DamagedMirror(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": "a: 1\n"})
	dir := t.TempDir()
	part(t, openOther(t, r.url(), "main", dir, false), "a.yaml")
	packs, err := filepath.Glob(filepath.Join(dir, "*", "mirror.git", "objects", "*", "*"))
	check(t, err)
	if len(packs) == 0 {
		t.Fatal("nothing to damage")
	}
	for _, p := range packs {
		check(t, os.Chmod(p, 0o600))
		check(t, os.Truncate(p, 5))
	}
	if got := part(t, openOther(t, r.url(), "main", dir, false), "a.yaml"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

// Rule 11: what is too much is not fetched, and no larger file is read that nobody asks for.
func TestOther_Bounds(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"c/a.yaml": "a: 1\n", "c/large.bin": strings.Repeat("0123456789abcdef", 100), "c/large.yaml": strings.Repeat("a", 1600)})
	o := openOther(t, r.url(), "main", t.TempDir(), false)
	o.g.limits.FileSize = 1000
	s, err := o.Part(testContext(t), "c")
	check(t, err)
	if s.File("c/large.bin") != nil || s.File("c/large.yaml").Err == nil {
		t.Errorf("got %v", contents(s))
	}
	o.g.limits.Files = 1
	if _, err := o.Part(testContext(t), "c"); !errors.Is(err, LimitExceeded) {
		t.Errorf("got %v", err)
	}
	o = openOther(t, r.url(), "main", t.TempDir(), false)
	o.g.maxFetch = 100
	_, err = o.Part(testContext(t), "c")
	if want := fmt.Sprintf("git %q: more than 100 bytes are to be fetched, which is the limit", r.url()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Rule 11: credentials are those that the user's git has; without any, nobody is asked.
func TestOther_Credentials(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": "a: 1\n"})
	asked := 0
	server := r.server("fleet", "open-sesame", func(*http.Request) { asked++ })
	url := server.URL + "/.git"
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_ASKPASS", "/bin/false")
	check(t, os.Unsetenv("GIT_CONFIG_GLOBAL"))
	_, err := openOther(t, url, "main", t.TempDir(), false).Part(testContext(t), "a.yaml")
	if !errors.Is(err, Authentication) || asked != 0 {
		t.Errorf("got %v after %d requests with credentials", err, asked)
	}
	write(t, home, map[string]string{".gitconfig": "[credential]\n\thelper = \"!f() { echo username=fleet; echo password=open-sesame; }; f\"\n"})
	if got := part(t, openOther(t, url, "main", t.TempDir(), false), "a.yaml"); len(got) != 1 || asked == 0 {
		t.Errorf("got %v", got)
	}
	// Those of the URL come first.
	_, err = openOther(t, strings.Replace(url, "://", "://fleet:wrong@", 1), "main", t.TempDir(), false).Part(testContext(t), "a.yaml")
	if !errors.Is(err, Authentication) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("got %v", err)
	}
	// Other addresses are the user's own, too.
	write(t, home, map[string]string{".gitconfig": fmt.Sprintf("[url %q]\n\tinsteadOf = https://git.example/\n", r.url()+"/")})
	if got := part(t, openOther(t, "https://git.example/.git", "main", t.TempDir(), false), "a.yaml"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	// No user's configuration has git run something on its own.
	marker := filepath.Join(home, "ran")
	write(t, home, map[string]string{"hooks/reference-transaction": "#!/bin/sh\ntouch " + marker + "\n", ".gitconfig": "[core]\n\thooksPath = " + filepath.Join(home, "hooks") + "\n"})
	check(t, os.Chmod(filepath.Join(home, "hooks", "reference-transaction"), 0o700))
	part(t, openOther(t, r.url(), "main", t.TempDir(), false), "a.yaml")
	if _, err := os.Stat(marker); err == nil {
		t.Error("a hook ran")
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	if _, err := openOther(t, closed.URL, "main", t.TempDir(), false).Part(testContext(t), "a.yaml"); !errors.Is(err, Unreachable) {
		t.Errorf("got %v", err)
	}
}
