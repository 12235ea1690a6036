package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

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
