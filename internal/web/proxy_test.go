package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/web"
)

// A trusted proxy names the groups of a user, who sees what the token of that name sees. The header
// of anybody else counts for nothing, and one that comes twice is refused.
func TestTrustedProxyNamesGroups(t *testing.T) {
	t.Parallel()
	f := wide(t)
	trusted := site(t, f, func(o *web.Options) { o.Proxies = []string{"10.0.0.0/8", "127.0.0.1"} })
	elsewhere := site(t, f, func(o *web.Options) { o.Proxies = []string{"10.0.0.0/8", "::1"} })
	none := site(t, f)
	other := site(t, f, func(o *web.Options) { o.Proxies, o.ProxyHeader = []string{"127.0.0.0/8"}, "X-Team" })
	const groups = "X-Forwarded-Groups"
	for _, c := range []struct {
		name    string
		server  *httptest.Server
		headers []string
		code    int
	}{
		{"a team", trusted, []string{groups, "everyone, retail"}, http.StatusOK},
		{"the name of no token", trusted, []string{groups, "everyone"}, http.StatusForbidden},
		{"no group", trusted, []string{groups, ""}, http.StatusForbidden},
		{"a token without the route", trusted, []string{groups, "nobody"}, http.StatusForbidden},
		{"the token file's own token", trusted, []string{groups, "token-file,"}, http.StatusForbidden},
		{"a user's own header beside the proxy's", trusted, []string{groups, "hub-two", groups, "retail"}, http.StatusForbidden},
		{"the proxy's word beside a stronger token", trusted, []string{groups, "retail", "Authorization", "Bearer " + secret}, http.StatusOK},
		{"another header", other, []string{"X-Team", "retail"}, http.StatusOK},
		{"not this header", other, []string{groups, "retail"}, http.StatusUnauthorized},
		{"forged, from another address", elsewhere, []string{groups, "retail"}, http.StatusUnauthorized},
		{"forged, with an address that is trusted", elsewhere, []string{groups, "retail", "X-Forwarded-For", "10.0.0.1", "X-Real-IP", "10.0.0.1", "Forwarded", "for=10.0.0.1"}, http.StatusUnauthorized},
		{"forged, where nobody is trusted", none, []string{groups, "retail"}, http.StatusUnauthorized},
	} {
		r, err := http.NewRequest(http.MethodGet, c.server.URL+"/api/v1/matrix", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Add(c.headers[i], c.headers[i+1])
		}
		got := do(t, r)
		if got.code != c.code || strings.Contains(got.body, "secretive") || strings.Contains(got.body, "laboratory") {
			t.Errorf("%s: %d %s", c.name, got.code, got.body)
		}
		if c.code == http.StatusOK && !strings.Contains(got.body, "three") {
			t.Errorf("%s: %s", c.name, got.body)
		}
	}
	if r := get(t, elsewhere, retail, "/"); r.code != http.StatusOK {
		t.Errorf("a token beside a proxy: %d", r.code)
	}
	for _, bad := range []string{"everybody", "10.0.0.0/99", "proxy.example.com"} {
		if _, err := web.New(web.Options{Fleet: f, Tokens: tokensOf(t), Proxies: []string{bad}}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
