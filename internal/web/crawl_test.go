package web_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// crawl follows every link and every filter from a page on, and returns the bodies by path.
func crawl(t *testing.T, server *httptest.Server, token string, from ...string) map[string]reply {
	t.Helper()
	seen := map[string]reply{}
	for pending := from; len(pending) > 0; pending = pending[1:] {
		path := pending[0]
		if _, done := seen[path]; done || len(seen) > 2000 {
			continue
		}
		r := get(t, server, token, path)
		seen[path] = r
		if !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
			continue
		}
		base, err := url.Parse(path)
		require.NoError(t, err)
		for _, link := range links(t, r.body) {
			u, err := base.Parse(link)
			if err != nil {
				t.Errorf("%s links to %q: %v", path, link, err)
				continue
			}
			if u.Host == "" {
				u.Fragment = ""
				pending = append(pending, u.String())
			}
		}
	}
	return seen
}

// links are all addresses that a page refers to.
func links(t *testing.T, page string) (out []string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	for z.Next() != html.ErrorToken {
		for _, a := range z.Token().Attr {
			if a.Key == "href" || a.Key == "src" {
				out = append(out, a.Val)
			}
		}
	}
	return out
}

// No page has a dead link, refers to another origin but the forge, or has markup that the
// Content-Security-Policy refuses. Each page is valid, and each twin is JSON.
func TestEveryPageAndLink(t *testing.T) {
	t.Parallel()
	f := wide(t)
	server := site(t, f)
	get(t, server, secret, "/") // the timeline begins
	change(t, f)
	seen := crawl(t, server, secret, "/", "/?by=tenant", "/?q=thr", "/?q=nothing-has-this-name", "/?label=tenant%3Dretail", "/signin", "/compare?a=hub/one&b=four", "/find?path=from")
	views := map[string]bool{}
	for path, r := range seen {
		r.is(t, 200, path)
		if csp := r.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: Content-Security-Policy %q", path, csp)
		}
		name, _, _ := strings.Cut(path, "?")
		views[name] = true
		switch kind := r.header.Get("Content-Type"); {
		case strings.HasPrefix(kind, "text/html"):
			for _, problem := range invalid(r.body) {
				t.Errorf("%s: %s", path, problem)
			}
			for _, link := range links(t, r.body) {
				if strings.Contains(link, "://") && !strings.HasPrefix(link, "https://github.com/example/fleet/blob/") {
					t.Errorf("%s refers to %s", path, link)
				}
			}
		case kind == "application/json":
			if !json.Valid([]byte(r.body)) {
				t.Errorf("%s: no JSON: %s", path, r.body)
			}
		}
	}
	for _, name := range []string{"/", "/component", "/cluster", "/why", "/held", "/compare", "/outliers", "/find", "/timeline", "/plan", "/rollouts", "/calendar", "/api/v1/board", "/api/v1/calendar", "/api/v1/timeline", "/api/v1/plan", "/api/v1/compare", "/api/v1/outliers", "/api/v1/find", "/api/v1/matrix", "/api/v1/component", "/api/v1/cluster", "/api/v1/why", "/api/v1/held"} {
		if !views[name] {
			t.Errorf("no link leads to %s", name)
		}
	}
}

// invalid are the faults of a page: elements that are not closed in order, markup that a
// Content-Security-Policy refuses, two elements of one id, fields and pictures without a name.
func invalid(page string) (problems []string) {
	void := []string{"meta", "link", "img", "input", "br", "hr", "wbr"}
	var open []string
	ids := map[string]bool{}
	inLabel := false
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		token := z.Token()
		attributes := map[string]string{}
		for _, a := range token.Attr {
			if _, twice := attributes[a.Key]; twice {
				problems = append(problems, "<"+token.Data+"> has "+a.Key+" twice")
			}
			attributes[a.Key] = a.Val
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				problems = append(problems, "<"+token.Data+"> has "+a.Key)
			}
		}
		switch kind {
		case html.StartTagToken:
			if id := attributes["id"]; id != "" {
				if ids[id] {
					problems = append(problems, "two elements have the id "+id)
				}
				ids[id] = true
			}
			_, hasAlt := attributes["alt"]
			_, hasSource := attributes["src"]
			switch {
			case token.Data == "img" && !hasAlt, token.Data == "script" && !hasSource, token.Data == "style":
				problems = append(problems, "a bare <"+token.Data+">")
			case (token.Data == "input" && attributes["type"] != "hidden" || token.Data == "select") && !inLabel:
				problems = append(problems, "a field without a label: "+token.String())
			}
			inLabel = inLabel || token.Data == "label"
			if !slices.Contains(void, token.Data) {
				open = append(open, token.Data)
			}
		case html.EndTagToken:
			if token.Data == "label" {
				inLabel = false
			}
			if len(open) == 0 || open[len(open)-1] != token.Data {
				return append(problems, "</"+token.Data+"> closes "+strings.Join(open, " "))
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		problems = append(problems, "not closed: "+strings.Join(open, " "))
	}
	return problems
}

// With a token for some clusters, no page, twin or error has the name of another one.
func TestScopeHidesOtherClusters(t *testing.T) {
	t.Parallel()
	f := wide(t)
	server := site(t, f)
	get(t, server, secret, "/")
	change(t, f)
	foreign := map[string][]string{
		retail: {"secretive", "laboratory", "bank", "science", "platform"},
		hubTwo: {"secretive", "three", "four", "retail", "bank"},
	}
	for token, names := range foreign {
		from := []string{"/", "/?by=hub", "/?q=secretive", "/?q=laboratory", "/held", "/outliers", "/timeline", "/timeline?cluster=secretive", "/plan", "/find?path=from", "/compare?a=one&b=secretive", "/compare?a=hub-2/laboratory&b=one"}
		for _, cluster := range []string{"one", "two", "three", "laboratory", "secretive", "nobody", "hub", "hub-2"} {
			for _, hub := range []string{"", "hub-2"} {
				q := url.Values{"cluster": {cluster}, "hub": {hub}, "group": {"addons"}, "component": {"dns"}}
				from = append(from, "/why?"+q.Encode(), "/api/v1/why?"+q.Encode(), "/cluster?"+url.Values{"cluster": {cluster}, "hub": {hub}}.Encode())
			}
		}
		asked := func(path string) string { u, _ := url.QueryUnescape(path); return u }
		for path, r := range crawl(t, server, token, from...) {
			for _, name := range names {
				if strings.Contains(r.body, name) && !strings.Contains(asked(path), name) {
					t.Errorf("%.10s: %s shows %q", token, path, name)
				}
			}
		}
	}
	// A cluster that is not visible is as one that is not there.
	hidden, absent := get(t, server, retail, "/api/v1/cluster?cluster=secretive"), get(t, server, retail, "/api/v1/cluster?cluster=secretivf")
	if hidden.code != absent.code || hidden.body != strings.ReplaceAll(absent.body, "secretivf", "secretive") {
		t.Errorf("%d %s\n%d %s", hidden.code, hidden.body, absent.code, absent.body)
	}
}

// A token for groups sees no other group; one without the route sees nothing.
func TestScopeOfGroupsAndRoutes(t *testing.T) {
	t.Parallel()
	server := site(t, wide(t))
	if r := get(t, server, addons, "/api/v1/why?cluster=one&group=fleet&component=fleet-secret"); r.code != 404 || strings.Contains(r.body, "explanation") {
		t.Errorf("%d %s", r.code, r.body)
	}
	for _, v := range []string{"/", "/held", "/api/v1/matrix", "/api/v1/freshness"} {
		if r := get(t, server, nobody, v); r.code != 403 || strings.Contains(r.body, "three") {
			t.Errorf("%s: %d %s", v, r.code, r.body)
		}
		get(t, server, "wrong", v).is(t, 401, v)
	}
}
