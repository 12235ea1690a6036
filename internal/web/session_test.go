package web_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
	"github.com/argosy-hub/argosy/internal/web"
)

// A session is a cookie that scripts and other sites cannot use, and that has no token to read.
func TestSession(t *testing.T) {
	t.Parallel()
	clock := now
	server := site(t, wide(t), func(o *web.Options) { o.Now = func() time.Time { return clock } })
	if r := get(t, server, "", "/why?cluster=one"); r.code != http.StatusSeeOther || r.header.Get("Location") != "/signin?next=%2Fwhy%3Fcluster%3Done" {
		t.Errorf("%d %s", r.code, r.header.Get("Location"))
	}
	if r := post(t, server, "/signin", url.Values{"token": {"wrong"}}); r.code != http.StatusUnauthorized || r.header.Get("Set-Cookie") != "" {
		t.Errorf("%d %s", r.code, r.header.Get("Set-Cookie"))
	}
	if r := post(t, server, "/signin", url.Values{"token": {nobody}}); r.code != http.StatusForbidden || r.header.Get("Set-Cookie") != "" {
		t.Errorf("%d %s", r.code, r.header.Get("Set-Cookie"))
	}
	r := post(t, server, "/signin", url.Values{"token": {retail}, "next": {"/held"}})
	cookie := r.header.Get("Set-Cookie")
	if r.code != http.StatusSeeOther || r.header.Get("Location") != "/held" {
		t.Fatalf("%d %s", r.code, r.body)
	}
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("%s lacks %s", cookie, part)
		}
	}
	if strings.Contains(cookie, retail) {
		t.Error("the cookie has the token")
	}
	value, _, _ := strings.Cut(cookie, ";")
	with := func(value string) reply {
		r, err := http.NewRequest(http.MethodGet, server.URL+"/api/v1/matrix", nil)
		require.NoError(t, err)
		r.Header.Set("Cookie", value)
		return do(t, r)
	}
	if r := with(value); r.code != http.StatusOK || !strings.Contains(r.body, "three") || strings.Contains(r.body, "secretive") {
		t.Errorf("%d %s", r.code, r.body)
	}
	with(value[:len(value)-4]+"AAAA").is(t, http.StatusUnauthorized, "a changed cookie")
	clock = clock.Add(13 * time.Hour)
	with(value).is(t, http.StatusUnauthorized, "an old cookie")
	if r := post(t, server, "/signout", nil); !strings.Contains(r.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("%d %s", r.code, r.header.Get("Set-Cookie"))
	}
}

// The key of sessions is random: without a store another process does not open them, and neither
// does who knows how the key of earlier versions followed from a token. Processes with one store
// share it, over restarts too.
func TestSessionKeyIsRandom(t *testing.T) {
	t.Parallel()
	asks := func(at, cookie string) int {
		r, err := http.NewRequest(http.MethodGet, at+"/api/v1/matrix", nil)
		require.NoError(t, err)
		r.Header.Set("Cookie", cookie)
		r.Close = true
		return do(t, r).code
	}
	signedIn := func(at string) string {
		cookie, _, _ := strings.Cut(post(t, &httptest.Server{URL: at}, "/signin", url.Values{"token": {secret}}).header.Get("Set-Cookie"), ";")
		return cookie
	}
	one, other := site(t, wide(t)), site(t, wide(t))
	cookie := signedIn(one.URL)
	if a, b := asks(one.URL, cookie), asks(other.URL, cookie); a != http.StatusOK || b != http.StatusUnauthorized {
		t.Errorf("%d and, by another process, %d", a, b)
	}
	_, value, _ := strings.Cut(cookie, "=")
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	require.NoError(t, err)
	for _, from := range []string{secret, "argosy web session\x00" + secret} {
		key := sha256.Sum256([]byte(from))
		block, err := aes.NewCipher(key[:])
		require.NoError(t, err)
		aead, err := cipher.NewGCMWithRandomNonce(block)
		require.NoError(t, err)
		if plain, err := aead.Open(nil, nil, sealed, nil); err == nil {
			t.Errorf("a key that follows from the token opens the session: %q", plain)
		}
	}

	kept, _ := storetest.New()
	begin := func() (at string, end func()) {
		s, err := web.New(web.Options{Fleet: wide(t), Tokens: tokensOf(t), Now: func() time.Time { return now }, Store: kept})
		require.NoError(t, err)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, listener) }()
		return "http://" + listener.Addr().String(), func() {
			cancel()
			assert.NoError(t, <-ended)
		}
	}
	at, end := begin()
	cookie = signedIn(at)
	isWritten := func() bool {
		_, _, err := kept.Read(t.Context(), store.Name("session-key", 1))
		return err == nil
	}
	for until := time.Now().Add(time.Minute); !isWritten() && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		continue // a process that ends before it has reached the store writes nothing
	}
	end()
	at, end = begin()
	defer end()
	code := 0
	for until := time.Now().Add(time.Minute); code != http.StatusOK && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		code = asks(at, cookie) // until the record has been read
	}
	if code != http.StatusOK {
		t.Errorf("after a restart: %d", code)
	}
}

// Another site's form signs nobody in or out, and no address of another site follows the form.
func TestSessionOfAnotherSite(t *testing.T) {
	t.Parallel()
	server := site(t, wide(t))
	for _, path := range []string{"/signin", "/signout"} {
		post(t, server, path, url.Values{"token": {secret}}, "Sec-Fetch-Site", "cross-site", "Origin", "https://elsewhere.example").is(t, http.StatusForbidden, path)
	}
	for _, next := range []string{"https://elsewhere.example/", "//elsewhere.example", `/\elsewhere.example`, "javascript:alert(1)", ""} {
		if r := post(t, server, "/signin", url.Values{"token": {secret}, "next": {next}}); r.header.Get("Location") != "/" {
			t.Errorf("%q leads to %q", next, r.header.Get("Location"))
		}
	}
}

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
		require.NoError(t, err)
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
	get(t, elsewhere, retail, "/").is(t, http.StatusOK, "a token beside a proxy")
	for _, bad := range []string{"everybody", "10.0.0.0/99", "proxy.example.com"} {
		if _, err := web.New(web.Options{Fleet: f, Tokens: tokensOf(t), Proxies: []string{bad}}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
