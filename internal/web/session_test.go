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
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cookie", value)
		return do(t, r)
	}
	if r := with(value); r.code != http.StatusOK || !strings.Contains(r.body, "three") || strings.Contains(r.body, "secretive") {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r := with(value[:len(value)-4] + "AAAA"); r.code != http.StatusUnauthorized {
		t.Errorf("a changed cookie: %d", r.code)
	}
	clock = clock.Add(13 * time.Hour)
	if r := with(value); r.code != http.StatusUnauthorized {
		t.Errorf("an old cookie: %d", r.code)
	}
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
		if err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{secret, "argosy web session\x00" + secret} {
		key := sha256.Sum256([]byte(from))
		block, err := aes.NewCipher(key[:])
		if err != nil {
			t.Fatal(err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := aead.Open(nil, nil, sealed, nil); err == nil {
			t.Errorf("a key that follows from the token opens the session: %q", plain)
		}
	}

	kept, _ := storetest.New()
	begin := func() (at string, end func()) {
		s, err := web.New(web.Options{Fleet: wide(t), Tokens: tokensOf(t), Now: func() time.Time { return now }, Store: kept})
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, listener) }()
		return "http://" + listener.Addr().String(), func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
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
		if r := post(t, server, path, url.Values{"token": {secret}}, "Sec-Fetch-Site", "cross-site", "Origin", "https://elsewhere.example"); r.code != http.StatusForbidden {
			t.Errorf("%s: %d", path, r.code)
		}
	}
	for _, next := range []string{"https://elsewhere.example/", "//elsewhere.example", `/\elsewhere.example`, "javascript:alert(1)", ""} {
		if r := post(t, server, "/signin", url.Values{"token": {secret}, "next": {next}}); r.header.Get("Location") != "/" {
			t.Errorf("%q leads to %q", next, r.header.Get("Location"))
		}
	}
}
