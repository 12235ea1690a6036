package fetch

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Rule 8: only addresses of the internet are public, however they are written.
func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, private := range []string{
		"127.0.0.1", "127.8.8.8", "::1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.100.100.200", "0.0.0.0", "::", "fd00:ec2::254", "fe80::1", "224.0.0.1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "198.18.0.1", "255.255.255.255", "fe80::1%eth0", "fec0::1", "2001::1",
	} {
		if isPublic(netip.MustParseAddr(private)) {
			t.Errorf("%s is public", private)
		}
	}
	for _, public := range []string{"1.1.1.1", "140.82.121.3", "2606:4700::1111", "::ffff:8.8.8.8", "172.32.0.1", "100.128.0.1"} {
		if !isPublic(netip.MustParseAddr(public)) {
			t.Errorf("%s is not public", public)
		}
	}
}

// Rule 8: an address is judged by scheme, host and path, not by how it is written.
func TestAddressKeys(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"https://Git.example/a/b.git", "https://user:secret@git.example/a/b/", "https://git.example/a//b", "https://git.example/x/../a/b"},
		{"git@git.example:a/b.git", "ssh://git.example/a/b", "git+ssh://git@git.example/a/b"},
		{"registry.example/charts", "oci://registry.example/charts/", "oci://registry.example/charts"},
		{"registry.example:5000/charts", "oci://registry.example:5000/charts"},
		{"git.example:a/b.git", "ssh://git@git.example/a/b"},
		{"https://git.example/a?b=c", "https://user@Git.example/a/?b=c"},
	} {
		want, ok := addressKey(same[0])
		for _, a := range same {
			if key, is := addressKey(a); key != want || !ok || !is {
				t.Errorf("%s: %s, %s: %s", a, key, same[0], want)
			}
		}
	}
	for a, b := range map[string]string{
		"https://git.example/a": "http://git.example/a", "https://git.example/b": "https://git.example:8443/b", "https://git.example/c": "https://git.example.evil/c",
		"https://git.example/d": "https://evil/@git.example/d", "https://git.example/e": "https://git.example/E", "https://git.example/f": "https://git.example/f?g",
		"https://git.example/h": "https://evil.example?@git.example/h", "https://git.example/i?j": "https://git.example/i?k", "https://git.example/l/m": "https://git.example/l%2fm",
	} {
		keyA, okA := addressKey(a)
		if keyB, okB := addressKey(b); keyA == keyB || !okA || !okB {
			t.Errorf("%s and %s are %q and %q", a, b, keyA, keyB)
		}
	}
}

// Rule 8: an address whose host is not certain is not fetched, whatever the base names.
func TestAddressWithoutACertainHostIsRefused(t *testing.T) {
	t.Parallel()
	c, err := New(t.Context(), Options{Dir: t.TempDir(), Offline: true, Allowed: []string{"*", "good.example"}})
	require.NoError(t, err)
	for _, address := range []string{
		"https://evil.example#@good.example/x", "https://good.example/x#y", "https://good.example/x#", "https://", "https:///x", "https://good.example:port/x", "https://evil.example\\@good.example/x",
		"https://good.example/%zz", " https://good.example/x", "ssh://good.example?@evil.example/x", "git@good.example?@evil.example:x?y", "git@good.example:x#y", "", "://good.example",
	} {
		head, ok := c.Head(func() map[string]bool { return map[string]bool{address: true} }).(View)
		var refused *source.Unavailable
		if err := head.check(address); !ok || !errors.As(err, &refused) || refused.Detail != "its URL cannot be parsed" {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// Rule 8: a query is no user: it does not make an address that the base names of another host.
func TestHeadFetchesOnlyFromTheHostThatTheBaseNames(t *testing.T) {
	t.Parallel()
	asked := false
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer s.Close()
	c, err := New(t.Context(), Options{Dir: t.TempDir(), Repositories: "/dev/null"})
	require.NoError(t, err)
	defer c.Close()
	head := c.Head(func() map[string]bool { return map[string]bool{"https://charts.good.example/stable": true} })
	for _, at := range []string{s.URL + "/stable", s.URL + "?@charts.good.example/stable", s.URL + "#@charts.good.example/stable"} {
		_, chart := head.Chart(source.Reference{RepoURL: at, Name: "x", Version: "1.0.0"})
		_, values := head.Values(at)
		_, folder := head.At(source.Place{RepoURL: at, Revision: "main", Path: "x"})
		for _, err := range []error{chart, values, folder} {
			var refused *source.Unavailable
			if !errors.As(err, &refused) || !strings.Contains(refused.Detail, "the base does not name") && refused.Detail != "its URL cannot be parsed" {
				t.Errorf("%s: %v", at, err)
			}
		}
	}
	if asked {
		t.Error("the server was asked")
	}
}

// Rule 8: a flag allows a repository and what is below it, a host with all its ports, or one,
// and no scheme but the secure ones unless it names that.
func TestAllowedByFlag(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		allowed, address string
		want             bool
	}{
		{"https://git.example/team", "https://git.example/team/app.git", true},
		{"https://git.example/team", "https://git.example/teams", false},
		{"https://git.example/team", "https://git.example/team/../other", false},
		{"https://git.example/team", "https://git.example/team/%2E%2e/other", false},
		{"https://git.example/team", "https://git.example/team?ref=x", true},
		{"https://git.example/team", "https://evil.example?@git.example/team", false},
		{"git.example", "https://evil.example?@git.example/x", false},
		{"oci://registry.example", "registry.example/charts", true},
		{"git.example", "https://git.example:8443/x", true},
		{"git.example", "git@git.example:x", true},
		{"git.example:8443", "https://git.example:8443/x", true},
		{"git.example:8443", "https://git.example/x", false},
		{"git.example", "https://git.example@evil.example/x", false},
		{"git.example", "https://git.example.evil/x", false},
		{"git.example", "http://git.example/x", false},
		{"https://git.example", "http://git.example/x", false},
		{"http://git.example", "http://git.example:8080/x", true},
		{"file:///repos", "file:///repos/x", true},
		{"file:///repos", "file:///etc", false},
		{"*", "https://any.example/x", true},
		{"*", "http://any.example/x", false},
		{"*", "file:///x", false},
		{"*", "ftp://any.example/x", false},
	} {
		c, err := New(t.Context(), Options{Dir: t.TempDir(), Offline: true, Allowed: []string{tt.allowed}})
		require.NoError(t, err)
		head, ok := c.Head(func() map[string]bool { return nil }).(View)
		if err := head.check(tt.address); !ok || (err == nil) != tt.want {
			t.Errorf("%s: %s: %v", tt.allowed, tt.address, err)
		}
	}
}

// Rule 8: every host with a public address is not every host: a private address needs its name.
func TestAnyHostIsNoPrivateOne(t *testing.T) {
	t.Parallel()
	asked := false
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer s.Close()
	c, err := New(t.Context(), Options{Dir: t.TempDir(), Repositories: "/dev/null", Allowed: []string{"*"}})
	require.NoError(t, err)
	at, err := url.Parse(strings.Replace(s.URL, "127.0.0.1", "localhost", 1))
	require.NoError(t, err)
	_, err = c.download(t.Context(), at, "x", "it", 1000)
	var away *source.Unavailable
	if !errors.As(err, &away) || !strings.Contains(away.Detail, "private address") || asked {
		t.Errorf("%v, asked: %t", err, asked)
	}
}

// Rule 5: no credentials, and no address, go to where a registry redirects.
func TestRedirectLeavesCredentials(t *testing.T) {
	t.Parallel()
	for to, kept := range map[string]bool{"https://a.example/y": true, "https://b.example/y": false, "https://sub.a.example/y": false, "http://a.example/y": false, "https://a.example:8443/y": false} {
		r := httptest.NewRequest(http.MethodGet, to, nil)
		r.Header.Set("Authorization", "Basic x")
		r.Header.Set("Referer", "https://a.example/x?token=s3cret")
		assert.NoError(t, leaveCredentials(r, []*http.Request{httptest.NewRequest(http.MethodGet, "https://a.example/x", nil)}))
		if got := r.Header.Get("Authorization") != ""; got != kept || r.Header.Get("Referer") != "" {
			t.Errorf("%s: %v", to, r.Header)
		}
	}
	// The second request to a host below the first has the first's headers again.
	r := httptest.NewRequest(http.MethodGet, "https://sub.a.example/z", nil)
	r.Header.Set("Authorization", "Basic x")
	if err := leaveCredentials(r, []*http.Request{
		httptest.NewRequest(http.MethodGet, "https://a.example/x", nil), httptest.NewRequest(http.MethodGet, "https://sub.a.example/y", nil),
	}); err != nil || r.Header.Get("Authorization") != "" {
		t.Errorf("two redirects: %v, %v", r.Header, err)
	}
}
