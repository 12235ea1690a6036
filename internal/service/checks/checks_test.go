package checks

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// endpoints responds to each path in its own way.
func endpoints(t *testing.T) (server *httptest.Server, asked *[]string) {
	t.Helper()
	asked = new([]string)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.Path)
		base, isQuery := strings.CutSuffix(r.URL.Path, "/api/v1/query")
		switch {
		case r.URL.Path == "/bad":
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/elsewhere":
			http.Redirect(w, r, "/good", http.StatusFound)
		case r.URL.Path == "/slow":
			<-r.Context().Done()
		case base == "/long":
			fmt.Fprint(w, strings.Repeat(" ", maxBytes+1))
		case base == "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case isQuery:
			fmt.Fprint(w, r.URL.Query().Get("query")) // the query is the response
		}
	}))
	t.Cleanup(server.Close)
	return server, asked
}

func result(kind, value string) string {
	return `{"status":"success","data":{"resultType":"` + kind + `","result":` + value + `}}`
}

// TestLook: what an endpoint says, and what says nothing.
func TestLook(t *testing.T) {
	server, _ := endpoints(t)
	c, err := New([]string{server.URL})
	require.NoError(t, err)
	low, high := 0.5, 2.0
	for name, x := range map[string]struct {
		path, query string
		why         string
		fails       bool
	}{
		"an endpoint":           {path: "/good"},
		"another status":        {path: "/bad", why: "status 503; expected 200", fails: true},
		"a redirect":            {path: "/elsewhere", why: "status 302; expected 200", fails: true},
		"a slow one":            {path: "/slow", why: "no response within its timeout"},
		"within":                {query: result("vector", `[{"metric":{},"value":[1,"1.5"]},{"value":[1,"2"]}]`)},
		"a scalar":              {query: result("scalar", `[1,"0.5"]`)},
		"too much":              {query: result("vector", `[{"value":[1,"1"]},{"value":[1,"2.25"]}]`), why: "2.25; expected at most 2", fails: true},
		"too little":            {query: result("vector", `[{"value":[1,"0"]}]`), why: "0; expected at least 0.5", fails: true},
		"endless":               {query: result("vector", `[{"value":[1,"+Inf"]}]`), why: "+Inf; expected at most 2", fails: true},
		"no samples":            {query: result("vector", `[]`), why: "has no samples"},
		"not a number":          {query: result("vector", `[{"value":[1,"NaN"]}]`), why: "not a number"},
		"a failure beside none": {query: result("vector", `[{"value":[1,"NaN"]},{"value":[1,"7"]}]`), why: "7; expected", fails: true},
		"a matrix":              {query: result("matrix", `[]`), why: `type "matrix"`},
		"many":                  {query: result("vector", "["+strings.Repeat(`{"value":[1,"1"]},`, maxSamples)+`{"value":[1,"1"]}]`), why: "1001 samples; expected at most 1000"},
		"an error":              {query: `{"status":"error","error":"parse"}`, why: "not a result of Prometheus"},
		"another thing":         {query: `<html>`, why: "not a result of Prometheus"},
		"half a pair":           {query: result("vector", `[{"value":[1]}]`), why: "not a result of Prometheus"},
		"a long response":       {path: "/long", query: "up", why: "more than 1048576 bytes"},
		"a server that is busy": {path: "/busy", query: "up", why: "status 503"},
	} {
		check := rollout.Check{Name: "c", URL: server.URL + x.path, Query: x.query, Timeout: 30 * time.Second}
		if x.path == "/slow" {
			check.Timeout = 20 * time.Millisecond
		}
		if x.query != "" {
			check.Min, check.Max = &low, &high
		}
		got := c.Look(t.Context(), check)
		if (x.why == "") != (got.Why == "") || !strings.Contains(got.Why, x.why) || got.Fails != x.fails {
			t.Errorf("%s: %+v, want %q, fails %t", name, got, x.why, x.fails)
		}
	}
}

// TestOnlyAllowedHosts: the operator names the hosts; a name never leads to this machine, and what
// is refused is not asked.
func TestOnlyAllowedHosts(t *testing.T) {
	server, asked := endpoints(t)
	port := server.URL[strings.LastIndexByte(server.URL, ':')+1:]
	look := func(address string, allowed ...string) rollout.CheckOutcome {
		c, err := New(allowed)
		require.NoError(t, err)
		return c.Look(context.Background(), rollout.Check{Name: "c", URL: address, Timeout: 10 * time.Second})
	}
	for address, allowed := range map[string]string{
		server.URL:                             "",
		server.URL + "/":                       "127.0.0.1:" + port, // by https alone
		"http://localhost:" + port + "/a":      "http://127.0.0.1:" + port,
		"http://127.0.0.1:" + port + "/b":      "http://127.0.0.1:1",
		"http://prometheus:9090":               "http://prometheus:9091",
		"http://prometheus.evil.example":       "http://prometheus",
		"http://evil.example/http://127.0.0.1": "http://127.0.0.1",
	} {
		var flags []string
		if allowed != "" {
			flags = []string{allowed}
		}
		if got := look(address, flags...); !strings.Contains(got.Why, "the service may not query") || got.Fails {
			t.Errorf("%s with %s: %+v", address, allowed, got)
		}
	}
	if got := look("http://localhost:"+port+"/c", "http://localhost"); !strings.Contains(got.Why, "an address of this machine") && !strings.Contains(got.Why, "not found") {
		t.Errorf("a name that leads here: %+v", got)
	}
	if len(*asked) > 0 {
		t.Errorf("asked: %v", *asked)
	}
	for _, allowed := range []string{"http://127.0.0.1", server.URL} {
		if got := look("http://127.0.0.1:"+port+"/good", allowed); got.Why != "" {
			t.Errorf("%s: %+v", allowed, got)
		}
	}
	for _, wrong := range []string{"", "ftp://h", "https://h/path", "https://u@h", "https://h?q", "*"} {
		if _, err := New([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
