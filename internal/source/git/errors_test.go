package git

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// G5: a ref that is not there is named, with what is there; the text is always the same.
func TestUnknownRefSuggestsTheNearest(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	r.Git("tag", "v1.0.0")
	r.Git("branch", "release/eu")
	for ref, want := range map[string]string{
		"mains":               `no branch, tag or commit "mains"; did you mean "main"?`,
		"release-eu":          `no branch, tag or commit "release-eu"; did you mean "release/eu"?`,
		"development":         `no branch, tag or commit "development"; there are main, release/eu, v1.0.0`,
		"deadbeef":            `no branch or tag "deadbeef", and not the whole id of a commit (40 characters); there are main, release/eu, v1.0.0`,
		"v1.0.0^{}":           "",
		"a b":                 "",
		"--upload-pack=touch": "",
		"a..b":                "",
	} {
		g, err := New(Options{Location: r.URL(), Ref: ref, StateDir: t.TempDir()})
		if want == "" {
			if want := fmt.Sprintf("git %q: ref %q is not a valid name; give a branch, a tag or a commit id", r.URL(), ref); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			continue
		}
		sourcetest.Check(t, err)
		for range 2 {
			s, err := g.Snapshot(sourcetest.Context(t))
			if want := fmt.Sprintf("git %q: %s", r.URL(), want); s != nil || !errors.Is(err, source.UnknownRef) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		sourcetest.Check(t, g.Close())
	}
}

// G4, G5: errors of servers are short, name what to do, tell the same each time and hold no secret,
// no temporary path, no time and no port that changes.
func TestServerErrorsHaveStableTexts(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	private := r.Server("fleet", "open-sesame", nil)
	closed := httptest.NewServer(nil)
	closed.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer failing.Close()
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer forbidden.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	untrusted.Config.ErrorLog = nil
	with := func(server *httptest.Server, user string) string {
		return strings.Replace(server.URL, "://", "://"+user+"@", 1)
	}

	for _, c := range []struct {
		location, shown, want string
		reason                source.Reason
	}{
		{private.URL + "/.git", private.URL + "/.git", "authentication failed; check the credentials folder", source.Authentication},
		{with(private, "fleet:wrong-secret") + "/.git", private.URL + "/.git", "authentication failed; check the credentials folder", source.Authentication},
		{with(private, "wrong-secret") + "/.git", private.URL + "/.git", "authentication failed; check the credentials folder", source.Authentication},
		{with(closed, "fleet:wrong-secret") + "/.git", closed.URL + "/.git", "the server cannot be reached", source.Unreachable},
		{"https://host.invalid/fleet.git", "https://host.invalid/fleet.git", "host not found; check the URL and the name service", source.Unreachable},
		{failing.URL + "/x", failing.URL + "/x", "the server cannot be reached", source.Unreachable},
		{forbidden.URL + "/x", forbidden.URL + "/x", "access denied; check what the credentials may read", source.Authentication},
		{untrusted.URL + "/x", untrusted.URL + "/x", "the server's certificate is not trusted; set GIT_SSL_CAINFO to its authority's file", source.Unreachable},
		{"file:///nowhere/fleet.git", "file:///nowhere/fleet.git", "no such repository; check the URL, and whether the credentials may see it", source.NotFound},
		{r.Server("", "", nil).URL + "/none", "", "no such repository; check the URL, and whether the credentials may see it", source.NotFound},
	} {
		if c.shown == "" {
			c.shown = c.location
		}
		g := openGit(t, Options{Location: c.location})
		for range 2 {
			s, err := g.Snapshot(sourcetest.Context(t))
			if want := fmt.Sprintf("git %q: %s", c.shown, c.want); s != nil || err == nil || err.Error() != want || !errors.Is(err, c.reason) {
				t.Errorf("got %v (%s), want %s", err, source.ReasonOf(err), want)
			}
		}
	}
}

func TestMissingGitIsNamed(t *testing.T) {
	g := openGit(t, Options{Location: "https://host.invalid/x"})
	g.program = "git-that-is-not-there"
	_, err := g.Snapshot(sourcetest.Context(t))
	if !errors.Is(err, source.GitMissing) || err.Error() != `git "https://host.invalid/x": there is no git command; put git 2.32 or later on the PATH, or give a folder as the source` {
		t.Errorf("got %v", err)
	}
}

// What cannot work is refused at once, without the URL's secrets.
func TestNewRefusesInvalidOptions(t *testing.T) {
	empty, key := t.TempDir(), t.TempDir()
	sourcetest.Write(t, key, map[string]string{"identity": "key\n"})
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Location: "https://user:secret@host/x.git?token=secret"}, `git "https://host/x.git?...": the URL has a query or a fragment, which stands on a command line of git's; credentials belong into the credentials folder`},
		{Options{Location: "http://host/x.git#secret"}, `git "http://host/x.git#...": the URL has a query or a fragment, which stands on a command line of git's; credentials belong into the credentials folder`},
		{Options{Location: "ftp://user:secret@host/x"}, `git "?": the URL's scheme is not one of https, http, ssh, git and file`},
		{Options{Location: "https://user:sec%zz@host/x"}, `git "?": the URL cannot be parsed`},
		{Options{Location: "ext::sh -c touch% x"}, `git "?": remote helpers (helper::address) are not supported`},
		{Options{Location: "ssh::https://example.com/x"}, `git "?": remote helpers (helper::address) are not supported`},
		{Options{Location: "-oProxyCommand=x:y"}, `git "?": an address cannot begin with a dash`},
		{Options{Location: "https://host/x", Credentials: empty}, `git "https://host/x": the credentials folder has no file password; put username and password, a GitHub App's keys, or identity and known_hosts there`},
		{Options{Location: "git@host:x", Credentials: empty}, `git "git@host:x": the credentials folder has no file identity; put username and password, a GitHub App's keys, or identity and known_hosts there`},
		{Options{Location: "git@host:x", Credentials: key}, `git "git@host:x": the credentials folder has no file known_hosts, so that the server cannot be verified; put username and password, a GitHub App's keys, or identity and known_hosts there`},
	} {
		s, err := New(c.o)
		if s != nil || !errors.Is(err, source.InvalidOptions) || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
