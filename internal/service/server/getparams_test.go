package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const root = "../../.."

// The repository's own fleet, through a folder, with its facts: each answer is byte for byte what
// the engine says, as `argosy params` prints it. (G1, G6)
func TestResponsesAreTheResolversBytes(t *testing.T) {
	open := func() source.Source {
		src, err := location.Open(git.Options{Location: root})
		require.NoError(t, err)
		return src
	}
	provider, err := refresh.NewFileFacts(root + "/examples/facts.yaml")
	require.NoError(t, err)
	s := start(t, func(o *server.Options) { o.Source, o.Hub, o.Facts = open(), "hub-eu", provider })
	s.until("serving", func(st refresh.Status) bool { return st.Ready() })

	snap, err := open().Snapshot(context.Background())
	require.NoError(t, err)
	text, err := os.ReadFile(root + "/examples/facts.yaml")
	require.NoError(t, err)
	known, err := facts.Parse("facts.yaml", text)
	require.NoError(t, err)
	st, err := fleetstate.Build(nil, snap, known)
	require.NoError(t, err)
	if r := s.Refresher().State(); r.Revision != st.Revision {
		t.Fatalf("the server reads revision %s, the test %s: is the folder being changed?", r.Revision, st.Revision)
	}
	sets := 0
	for _, parameters := range []string{
		`{"view":"members"}`, `{"view":"agents"}`, `{"view":"members","hub":"hub-us"}`,
		`{"view":"releases","group":"addons"}`, `{"view":"releases","group":"fleet"}`,
		`{"view":"components","group":"addons"}`, `{"view":"components","group":"monitoring"}`, `{"view":"components","group":"resources"}`,
		`{"view":"components","group":"addons","component":"external-dns"}`,
		`{"view":"members","selector":{"matchLabels":{"environment":"prod"}}}`,
	} {
		request, err := query.Parse([]byte(parameters), "hub-eu")
		require.NoError(t, err)
		want, err := response.Bytes(st, request)
		require.NoError(t, err)
		r := s.ask(parameters)
		switch {
		case r.code != http.StatusOK || r.body != string(want):
			t.Errorf("%s: %d, %d bytes; want %d bytes", parameters, r.code, len(r.body), len(want))
		case r.header.Get("Content-Length") != strconv.Itoa(len(want)) || r.header.Get("Content-Type") != "application/json":
			t.Errorf("%s: %v", parameters, r.header)
		case r.header.Get("X-Argosy-Revision") != snap.Revision:
			t.Errorf("%s: revision %s", parameters, r.header.Get("X-Argosy-Revision"))
		}
		var answer struct {
			Output struct{ Parameters []json.RawMessage }
		}
		if err := json.Unmarshal([]byte(r.body), &answer); err != nil || answer.Output.Parameters == nil {
			t.Errorf("%s: %v", parameters, err)
		}
		sets += len(answer.Output.Parameters)
	}
	if sets == 0 {
		t.Error("no parameter set at all")
	}
}

func TestBadRequests(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.MaxRequestBytes = 500 })
	good := `{"input":{"parameters":{"view":"members"}}}`
	post := func(body string, header ...string) func() *http.Request {
		return func() *http.Request { return s.request("POST", getparams, body, header...) }
	}
	parameters := func(p string) func() *http.Request { return post(`{"input":{"parameters":` + p + `}}`) }
	for _, c := range []struct {
		what    string
		request func() *http.Request
		code    int
		message string
	}{
		{"GET", func() *http.Request { return s.request("GET", getparams, "") }, 405, "method not allowed; expected POST"},
		{"PUT", func() *http.Request { return s.request("PUT", getparams, good) }, 405, "method not allowed; expected POST"},
		{"OPTIONS", func() *http.Request { return s.request("OPTIONS", getparams, "") }, 405, "method not allowed; expected POST"},
		{"DELETE of the fleet", func() *http.Request { return s.request("DELETE", "/api/v1/fleet", "") }, 405, "method not allowed; expected GET"},
		{"another path", func() *http.Request { return s.request("POST", "/api/v1/getparams", good) }, 404, "no such page; the API is POST /api/v1/getparams.execute"},
		{"no content type", post(good, "Content-Type", ""), 415, "expected Content-Type: application/json"},
		{"a form", post(good, "Content-Type", "application/x-www-form-urlencoded"), 415, "expected Content-Type: application/json"},
		{"compressed", post(good, "Content-Encoding", "gzip"), 415, "expected a body without Content-Encoding"},
		{"no body", post(""), 400, `the body is empty; expected {"applicationSetName": "...", "input": {"parameters": {...}}}`},
		{"blanks", post(" \n"), 400, `the body is empty; expected {"applicationSetName": "...", "input": {"parameters": {...}}}`},
		{"no JSON", post("view=members"), 400, "the body is not as expected: invalid character 'v' looking for beginning of value"},
		{"half a body", post(`{"input":`), 400, "the body is not as expected: unexpected end of JSON input"},
		{"two bodies", post(good + good), 400, "the body is not as expected: invalid character '{' after top-level value"},
		{"a list", post(`[]`), 400, "the body is not as expected: expected an object"},
		{"input is a text", post(`{"input":"x"}`), 400, "the body is not as expected: input: expected an object"},
		{"a number for a name", post(`{"applicationSetName":1}`), 400, "the body is not as expected: applicationSetName: expected a string"},
		{"no input", post(`{}`), 400, `view "" is not known; expected one of agents, components, grants, members, releases`},
		{"null parameters", parameters(`null`), 400, `view "" is not known; expected one of agents, components, grants, members, releases`},
		{"parameters are a list", parameters(`[]`), 400, "input.parameters: expected an object"},
		{"unknown view", parameters(`{"view":"member"}`), 400, `view "member" is not known, did you mean "members"?; expected one of agents, components, grants, members, releases`},
		{"unknown key", parameters(`{"view":"members","hubb":"x"}`), 400, `input.parameters: unknown key "hubb", did you mean "hub"?; expected view, hub, group, component, release, base, selector, owner`},
		{"a number for a view", parameters(`{"view":1}`), 400, "input.parameters.view: expected a string"},
		{"unknown hub", parameters(`{"view":"members","hub":"hub-3"}`), 400, `hub "hub-3" has no member files, did you mean "hub-1"?; expected fleet/fleet-members/{{ .hub }}/{{ .cluster }}.yaml`},
		{"no group", parameters(`{"view":"components"}`), 400, `view "components" needs a group; expected one of addons, fleet, monitoring, resources`},
		{"unknown group", parameters(`{"view":"components","group":"addon"}`), 400, `group "addon" is not in the layout, did you mean "addons"?; expected one of addons, fleet, monitoring, resources`},
		{"unknown owner", parameters(`{"view":"members","owner":"z"}`), 400, `owner "z" is not a member of hub "hub-1", did you mean "a"?`},
		{"too large", post(good + strings.Repeat(" ", 500)), 413, fmt.Sprintf("the request has %d bytes; the limit is 500 (--max-request-bytes)", len(good)+500)},
		{"too large, in chunks", func() *http.Request {
			r := s.request("POST", getparams, "")
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", 501))), -1
			return r
		}, 413, "the request is larger than the limit of 500 bytes (--max-request-bytes)"},
	} {
		r := s.expect(c.what, c.request, c.code, c.message)
		if c.code == 405 && r.header.Get("Allow") == "" {
			t.Errorf("%s: no Allow header", c.what)
		}
	}
	for what, request := range map[string]func() *http.Request{
		"as Argo CD asks":        post(`{"applicationSetName":"x","input":{"parameters":{"view":"members"}}}`),
		"unknown keys around":    post(`{"applicationSetName":"x","new":{"a":1},"input":{"more":[],"parameters":{"view":"members"}}}`),
		"content type with more": post(good, "Content-Type", "application/json; charset=utf-8"),
		"exactly the limit":      post(good + strings.Repeat(" ", 500-len(good))),
	} {
		if r := s.do(request()); r.code != 200 || !strings.HasPrefix(r.body, `{"output":{"parameters":[{`) {
			t.Errorf("%s: %d %s", what, r.code, r.body)
		}
	}
}

// An answer over the bound is refused whole, with limit and actual (H10, G1).
func TestTooLargeAResponseIsRefusedWhole(t *testing.T) {
	want := serving(t).ask(`{"view":"members"}`)
	s := serving(t, func(o *server.Options) { o.MaxResponseBytes = int64(len(want.body)) - 1 })
	s.expect("too large", func() *http.Request {
		return s.request("POST", getparams, `{"input":{"parameters":{"view":"members"}}}`)
	},
		503, fmt.Sprintf("the answer has %d bytes; the limit is %d (--max-response-bytes): ask for less, with component, release or selector", len(want.body), len(want.body)-1))
	s = serving(t, func(o *server.Options) { o.MaxResponseBytes = int64(len(want.body)) })
	if r := s.ask(`{"view":"members"}`); r.code != 200 || r.body != want.body {
		t.Errorf("at the limit: %d", r.code)
	}
}

// held is a request that occupies a turn until its body is ended.
func (s *service) held() (finish func() reply) {
	s.Helper()
	body, w := io.Pipe()
	r := s.request("POST", getparams, "")
	r.Body, r.ContentLength = body, -1
	// The server asks for the body when it reads the request: what is written then has arrived.
	r.Header.Set("Expect", "100-continue")
	own := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: patient}}
	s.Cleanup(own.CloseIdleConnections)
	done := make(chan reply, 1)
	go func() {
		resp, err := own.Do(r)
		if err != nil {
			_ = body.CloseWithError(err)
			done <- reply{body: err.Error()}
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			text = []byte(err.Error())
		}
		done <- reply{resp.StatusCode, resp.Header, string(text)}
	}()
	if _, err := io.WriteString(w, `{"input":{"parameters":`); err != nil {
		s.Fatal(err)
	}
	return func() reply {
		if _, err := io.WriteString(w, `{"view":"members"}}}`); err != nil {
			s.Error(err)
		}
		_ = w.Close()
		return <-done
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.MaxConcurrent, o.MaxWait = 1, -1 })
	finish := s.held()
	// The transport has taken the body's beginning; the server is about to see the request.
	var r reply
	for r = s.ask(`{"view":"members"}`); r.code == 200; r = s.ask(`{"view":"members"}`) {
	}
	if r.code != 429 || r.message() != `too many requests at once with token "token-file"; the limit for all tokens is 1 (--max-concurrent)` || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.code, r.body)
	}
	s.get("/healthz").is(t, 200, "healthz")
	finish().is(t, 200, "the first")
	s.ask(`{"view":"members"}`).is(t, 200, "afterwards")
}

func TestAShortWaitBeatsARefusal(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.MaxConcurrent, o.MaxWait = 1, patient })
	finish := s.held()
	second := make(chan reply, 1)
	go func() { second <- s.ask(`{"view":"members"}`) }()
	finish().is(t, 200, "the first")
	(<-second).is(t, 200, "the second")
}

func TestRequestIDs(t *testing.T) {
	s := serving(t)
	if r := s.ask(`{"view":"members"}`, "X-Request-Id", "trace-1.a"); r.header.Get("X-Request-Id") != "trace-1.a" || !strings.Contains(s.log.String(), "id=trace-1.a") {
		t.Errorf("%v", r.header)
	}
	for _, wrong := range []string{"", "a b", strings.Repeat("x", 129), `"quoted"`} {
		if id := s.ask(`{"view":"members"}`, "X-Request-Id", wrong).header.Get("X-Request-Id"); id == wrong || len(id) != 16 {
			t.Errorf("%q became %q", wrong, id)
		}
	}
}

func TestLogHoldsNeitherTokensNorBodies(t *testing.T) {
	s := serving(t)
	s.ask(`{"view":"components","group":"addons","component":"dns","base":{"values":{"password":"hunter2"}}}`)
	s.ask(`{"view":"members"}`, "Authorization", "Bearer wrong-token")
	s.ask(`{"view":"members"}`, "Authorization", "Bearer $argocd:key")
	s.do(s.request("POST", "/api/v1/webhook", `{"password":"hunter2"}`, "Authorization", "", "X-Gitlab-Token", "wrong-token"))
	s.get("/api/v1/fleet?token=wrong-token")
	log := s.log.String()
	for _, forbidden := range []string{secret, "wrong-token", "hunter2", "$argocd"} {
		if strings.Contains(log, forbidden) {
			t.Errorf("the log holds %q:\n%s", forbidden, log)
		}
	}
	assert.Contains(t, log, "applicationSet=try request=components/hub-1//addons/dns", "the log does not tell what was asked")
}
