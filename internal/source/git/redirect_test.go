package git

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// No redirect is followed, whatever its status and wherever it leads, at the first request or at a
// later one: nobody else gets a request or the credentials. The error says where it leads, without
// what may be secret there, and the last snapshot stays.
func TestRedirectIsNotFollowed(t *testing.T) {
	r := sourcetest.NewRepo(t)
	first := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	backend := r.Server("fleet", "s3cret", nil)
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer other.Close()
	var to atomic.Pointer[func(*http.Request) (code int, location string)]
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/final.git/") {
			elsewhere.Add(1)
		}
		if f := to.Load(); f != nil {
			if code, location := (*f)(q); code != 0 {
				w.Header().Set("Location", location)
				w.WriteHeader(code)
				return
			}
		}
		backend.Config.Handler.ServeHTTP(w, q)
	}))
	defer front.Close()
	folder := t.TempDir()
	sourcetest.Write(t, folder, map[string]string{"username": "fleet", "password": "s3cret"})
	g := openGit(t, Options{Location: front.URL + "/.git", Credentials: folder})
	sourcetest.Snapshot(t, g)
	r.Commit(map[string]string{"a.yaml": "a: 2\n"})

	const refs = "/info/refs?service=git-upload-pack"
	secure := strings.Replace(front.URL, "http://", "https://", 1)
	const final = "; write that URL if it is the repository's"
	for _, c := range []struct {
		what, path, location, want string
	}{
		{"another host", "/info/refs", other.URL + "/x.git" + refs, other.URL + "/x.git, which is not followed" + final},
		{"another scheme", "/info/refs", secure + "/.git" + refs, secure + "/.git, which is not followed" + final},
		{"the same host", "/info/refs", front.URL + "/final.git" + refs, front.URL + "/final.git, which is not followed" + final},
		{"a path alone", "/info/refs", "/final.git" + refs, front.URL + "/final.git, which is not followed" + final},
		{"a page to sign in", "/info/refs", other.URL + "/login?token=s3cret", other.URL + "/login, which is not followed; write the URL of the repository itself"},
		{"what may be secret", "/info/refs", strings.Replace(other.URL, "://", "://fleet:s3cret@", 1) + "/s3cret.git" + refs + "#s3cret", other.URL + "/***.git, which is not followed" + final},
		{"a file", "/info/refs", "file://" + r.Dir + "/.git" + refs, "file://" + r.Dir + "/.git, which is not followed" + final},
		{"a later request", "/git-upload-pack", other.URL + "/x.git/git-upload-pack", other.URL + "/x.git, which is not followed; write the URL of the repository itself"},
	} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			answer := func(q *http.Request) (int, string) {
				if !strings.HasSuffix(q.URL.Path, c.path) {
					return 0, ""
				}
				return code, c.location
			}
			to.Store(&answer)
			s, err := g.Snapshot(sourcetest.Context(t))
			if want := fmt.Sprintf("git %q: the server redirects to %s", front.URL+"/.git", c.want); !errors.Is(err, source.Unreachable) || err.Error() != want || s == nil || s.Revision != first {
				t.Errorf("%s, %d: %v, %v; want %s", c.what, code, s, err, want)
			}
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests have followed a redirect", n)
	}
}

// Without the trace of git that names it, a redirect is an error, too.
func TestRedirectToNowhere(t *testing.T) {
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) }))
	defer front.Close()
	_, err := openGit(t, Options{Location: front.URL + "/x"}).Snapshot(sourcetest.Context(t))
	if want := fmt.Sprintf("git %q: the server redirects to another address, which is not followed; write the URL of the repository itself", front.URL+"/x"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
