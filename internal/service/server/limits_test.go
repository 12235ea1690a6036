package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// soon is a limit of time that a test waits to see the end of.
const soon = 50 * time.Millisecond

// dial is a connection of the test's own, on which nothing takes longer than the test is patient.
func (s *service) dial() *net.TCPConn {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Addr(), "http://"))
	require.NoError(s, err)
	s.Cleanup(func() { conn.Close() })
	require.NoError(s, conn.SetDeadline(time.Now().Add(patient)))
	return conn.(*net.TCPConn)
}

// sent writes to a connection and reads all that comes back until it is closed by the other side.
func (s *service) sent(conn net.Conn, text string) string {
	s.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		s.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		s.Fatalf("the connection is never closed; got %q", answer)
	}
	return string(answer)
}

const beginning = "POST " + getparams + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + secret + "\r\nContent-Type: application/json\r\n"

// H10
func TestSlowHeadersEnd(t *testing.T) {
	t.Parallel()
	s := serving(t, func(o *server.Options) { o.ReadHeaderTimeout = soon })
	if answer := s.sent(s.dial(), beginning); answer != "" { // the empty line never comes
		t.Errorf("%q", answer)
	}
	assert.Equal(t, "", s.sent(s.dial(), ""), "nothing at all")
}

// H10
func TestSlowBodiesEnd(t *testing.T) {
	t.Parallel()
	s := serving(t, func(o *server.Options) { o.ReadTimeout = time.Second })
	answer := s.sent(s.dial(), beginning+"Content-Length: 100\r\n\r\n{")
	if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, "the request's body broke off") {
		t.Errorf("%q", answer)
	}
	answer = s.sent(s.dial(), "POST /api/v1/webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: "+signed("wrong", "")+"\r\nContent-Length: 100\r\n\r\n{")
	if !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
		t.Errorf("webhook: %q", answer)
	}
}

// H10
func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	s := serving(t, func(o *server.Options) { o.IdleTimeout = soon })
	answer := s.sent(s.dial(), "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(answer, "{\"status\":\"ok\"}\n") {
		t.Errorf("%q", answer)
	}
}

// awaited is a log in which something is waited for.
type awaited struct {
	text string
	seen chan struct{}
	once sync.Once
}

func (a *awaited) Write(p []byte) (int, error) {
	if strings.Contains(string(p), a.text) {
		a.once.Do(func() { close(a.seen) })
	}
	return len(p), nil
}

// An answer that nobody reads is broken off, and cannot be taken for a whole one (G1). (H10)
func TestUnreadResponseEnds(t *testing.T) {
	t.Parallel()
	files := map[string]string{"addons/defaults/addons/dns/values.yaml": "text: " + strings.Repeat("x", 512<<10) + "\n"}
	for i := range 24 {
		name := "m" + strconv.Itoa(i)
		files["fleet/fleet-members/hub-1/"+name+".yaml"] = strings.NewReplacer(": a\n", ": "+name+"\n", "/a\n", "/"+name+"\n").Replace(memberA)
	}
	through := &awaited{text: "endpoint=getparams code=200", seen: make(chan struct{})}
	s := start(t, func(o *server.Options) {
		o.WriteTimeout, o.Logger = 2*time.Second, slog.New(slog.NewTextHandler(through, nil))
	})
	s.say(repository(files))
	if _, err := response.Bytes(s.Refresher().State(), query.Query{View: query.Components, Hub: "hub-1", Group: "addons"}); err != nil {
		t.Fatal(err) // now it is remembered: the time is for writing
	}
	const q = `{"view":"components","group":"addons"}`
	body := `{"input":{"parameters":` + q + `}}`
	conn := s.dial()
	if _, err := io.WriteString(conn, beginning+"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	select {
	case <-through.seen:
	case <-time.After(patient):
		t.Fatal("the answer is never given up")
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return // not even the header was written in time
	}
	require.NoError(t, err)
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) || n >= resp.ContentLength {
		t.Errorf("%d of %d bytes, %v", n, resp.ContentLength, err)
	}
}

// H10
func TestRequestSizesAreBounded(t *testing.T) {
	t.Parallel()
	s := serving(t, func(o *server.Options) { o.MaxRequestBytes, o.MaxHeaderBytes = 1000, 4<<10 })
	large := strings.Repeat("x", 1001)
	for what, request := range map[string]string{
		"announced":   beginning + "Content-Length: 1001\r\n\r\n" + large,
		"unannounced": beginning + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + large + "\r\n0\r\n\r\n",
	} {
		if answer := s.sent(s.dial(), request); !strings.HasPrefix(answer, "HTTP/1.1 413 ") || !strings.Contains(answer, "Connection: close\r\n") ||
			!strings.Contains(answer, "the limit") {
			t.Errorf("%s: %q", what, answer)
		}
	}
	for what, header := range map[string]string{
		"one long header":   "X-Long: " + strings.Repeat("x", 9<<10) + "\r\n",
		"many short ones":   strings.Repeat("X-Short: x\r\n", 1000),
		"a long token":      "Authorization: Bearer " + strings.Repeat("x", 9<<10) + "\r\n",
		"a long descriptor": strings.Repeat("Cookie: "+strings.Repeat("x", 1000)+"\r\n", 9),
	} {
		answer := s.sent(s.dial(), "GET /healthz HTTP/1.1\r\nHost: x\r\n"+header+"\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 431 ") {
			t.Errorf("%s: %.200q", what, answer)
		}
	}
	if answer := s.sent(s.dial(), "GET /"+strings.Repeat("x", 9<<10)+" HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 431 ") {
		t.Errorf("a long path: %.200q", answer)
	}
}

// One token's bearer is paced and refused, while others ask on; the text stays the same (G5).
func TestRatesByToken(t *testing.T) {
	k := tokensOf(t, map[string]string{"busy": "{routes: [getparams]}", "other": "{routes: [getparams]}"})
	s := serving(t, k.use, func(o *server.Options) { o.TokenRate, o.TokenBurst, o.MaxWait = 0.001, 3, -1 })
	busy, other := caller{s, k.values["busy"]}, caller{s, k.values["other"]}
	for i := range 3 {
		if r := busy.ask(`{"view":"members"}`); r.code != 200 {
			t.Errorf("%d: %d %s", i, r.code, r.body)
		}
	}
	for range 2 {
		r := busy.ask(`{"view":"members"}`)
		if r.code != 429 || r.message() != `too many requests with token "busy"; the limit is 0.001 a second (--token-rate)` {
			t.Errorf("%d %s", r.code, r.body)
		}
		if n, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || n < 900 || n > 1000 {
			t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
		}
	}
	other.ask(`{"view":"members"}`).is(t, 200, "another token")
	for range 3 {
		s.ask(`{"view":"members"}`)
	}
	if r := s.ask(`{"view":"members"}`); r.code != 429 || r.message() != `too many requests with token "token-file"; the limit is 0.001 a second (--token-rate)` {
		t.Errorf("the token file's: %d %s", r.code, r.body)
	}
	if r := s.get("/v2/"); r.code != 429 || !strings.Contains(r.body, "TOOMANYREQUESTS") || r.header.Get("Retry-After") == "" {
		t.Errorf("the registry: %d %s", r.code, r.body)
	}
	s.get("/healthz").is(t, 200, "healthz")
}

// Argo CD asks from a few workers at once, each of which waits for its answer. However often they
// ask, they are slowed down, and none is refused: a refusal would cost three minutes.
func TestArgoCDIsNeverRefusedForItsRate(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.TokenRate, o.TokenBurst = 500, 1 })
	var workers sync.WaitGroup
	for range 10 {
		workers.Go(func() {
			for range 20 {
				s.ask(`{"view":"members"}`).is(t, 200, "")
			}
		})
	}
	began := time.Now()
	workers.Wait()
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("200 requests at 500 a second took %s: nothing was paced", took)
	}
}

// Failed attempts of all are counted together; a good token is served all the same, and a token
// that Argo CD could not resolve gets the same message each time (G5).
func TestRatesOfFailedAttempts(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.FailureRate, o.FailureBurst = 0.001, 3 })
	wrong := func() reply { return s.ask(`{"view":"members"}`, "Authorization", "Bearer wrong") }
	for range 3 {
		wrong().is(t, 401, "")
	}
	logged := strings.Count(s.log.String(), "level=WARN msg=request")
	for range 5 {
		r := wrong()
		if r.code != 429 || r.message() != "too many failed attempts; the last one: the bearer token is wrong" || r.header.Get("Retry-After") == "" {
			t.Errorf("%d %s %v", r.code, r.body, r.header)
		}
	}
	for what, r := range map[string]reply{
		"no token":         s.get("/api/v1/fleet", "Authorization", ""),
		"GitLab":           s.do(s.request("POST", "/api/v1/webhook", "{}", "Authorization", "", "X-Gitlab-Token", "wrong")),
		"GitHub":           s.do(s.request("POST", "/api/v1/webhook", "{}", "Authorization", "", "X-Hub-Signature-256", signed("wrong", "{}"))),
		"registry":         s.get("/v2/", "Authorization", "Basic "+basic("flux", "wrong")),
		"flux, a password": s.get("/api/v1/flux/inputs", "Authorization", "Basic "+basic("flux", "wrong")),
	} {
		if r.code != 429 || r.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", what, r.code, r.body)
		}
	}
	if now := strings.Count(s.log.String(), "level=WARN msg=request"); now != logged {
		t.Errorf("%d refusals beyond the limit are warnings in the log", now-logged)
	}
	s.ask(`{"view":"members"}`).is(t, 200, "a good token")
	for range 5 {
		if r := s.ask(`{"view":"members"}`, "Authorization", "Bearer $argosy:token"); r.code != 403 || !strings.HasSuffix(r.message(), hint) {
			t.Errorf("%d %s", r.code, r.body)
		}
		if r := s.get("/v2/", "Authorization", ""); r.code != 401 { // how clients of registries begin
			t.Errorf("%d %s", r.code, r.body)
		}
	}
}

// Every answer says that it is data and not to be kept, whatever it is.
func TestHeadersOfEveryAnswer(t *testing.T) {
	s := serving(t)
	s.say(fluxFleet(nil))
	manifest := s.get("/v2/flux/hub-1/f/manifests/latest")
	for path, code := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/metrics": 200, "/": 404, "/nosuch": 404, "/api/v1/fleet": 200, getparams: 405, "/api/v1/webhook": 405,
		"/api/v1/explain?cluster=a&component=addons/dns": 200, "/api/v1/explain": 400, "/api/v1/flux/inputs?view=members": 200,
		"/v2/": 200, "/v2/flux/hub-1/f/manifests/latest": 200, "/v2/flux/hub-1/f/tags/list": 200, "/v2/nosuch": 404,
		"/v2/flux/hub-1/f/manifests/" + manifest.header.Get("Docker-Content-Digest"): 200,
		"//api/v1/fleet": 200, // where it is redirected to
	} {
		r := s.get(path)
		r.is(t, code, path)
		checkHeaders(t, path, r.header)
	}
	for what, r := range map[string]reply{
		"401":     s.get("/api/v1/fleet", "Authorization", ""),
		"webhook": s.do(s.request("POST", "/api/v1/webhook", "{}")),
		"answer":  s.ask(`{"view":"members"}`),
		"415":     s.do(s.request("POST", getparams, "{}", "Content-Type", "text/plain")),
		"HEAD":    s.do(s.request("HEAD", "/api/v1/fleet", "")),
		"OPTIONS": s.do(s.request("OPTIONS", "/api/v1/fleet", "")),
		"TRACE":   s.do(s.request("TRACE", "/nosuch", "")),
	} {
		checkHeaders(t, what, r.header)
	}
	answer := s.sent(s.dial(), "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
	require.NoError(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest { // net/http's own answer would be 200
		t.Errorf("OPTIONS *: %s", resp.Status)
	}
	checkHeaders(t, "OPTIONS *", resp.Header)
}

func checkHeaders(t *testing.T, what string, h http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "Server": "", "X-Powered-By": "",
	} {
		assert.Equal(t, want, strings.Join(h.Values(name), "|"), "%s: %s", what, name)
	}
	for name, values := range h {
		if strings.Contains(fmt.Sprint(values), "go1.") {
			t.Errorf("%s: %s tells the version: %q", what, name, values)
		}
	}
}

// TestManyProblemsAreAFewLines: a commit with tens of thousands of problems is reported in a few
// lines, in /readyz as in the log, with how many there are; the same holds for a repository that
// begins like that. (H10)
func TestManyProblemsAreAFewLines(t *testing.T) {
	hostile := map[string]string{"addons/defaults/addons/dns/values.yaml": strings.Repeat("a: 1\n", 20_000)}
	for i := range 500 {
		hostile[fmt.Sprintf("fleet/fleet-members/hub-1/m%d.yaml", i)] = strings.Repeat(fmt.Sprintf("k%d: 1\n", i), 50)
	}
	s := serving(t)
	before := len(s.log.String())
	s.say(repository(hostile))
	s.until("quarantined", func(st refresh.Status) bool { return len(st.Quarantined) > 0 })
	ready, body := s.readiness()
	if len(ready.body) > 16<<10 || body.QuarantinedMembers != 503 || len(body.Quarantined) != 20 || body.Quarantined[0].Problems < 100 || !strings.Contains(body.Quarantined[0].Problem, ".yaml:2:1:") {
		t.Errorf("%d bytes of /readyz, %d members", len(ready.body), body.QuarantinedMembers)
	}
	if logged := len(s.log.String()) - before; logged > 8192 {
		t.Errorf("%d bytes are logged", logged)
	}
	if r := s.get("/metrics"); strings.Count(r.body, "\n") > 1000 {
		t.Errorf("%d lines of metrics", strings.Count(r.body, "\n"))
	}

	first := start(t)
	first.say(repository(hostile))
	first.until("taken", func(st refresh.Status) bool { return st.Ready() || st.Waiting != "" })
	fleet := first.get("/api/v1/fleet")
	if len(fleet.body) > 4<<20 {
		t.Errorf("%d bytes of /api/v1/fleet", len(fleet.body))
	}
	if r := first.ask(`{"view":"members"}`); len(r.body) > 4096 {
		t.Errorf("%d bytes of an error", len(r.body))
	}
}

// TestBombsTakeLittleMemory: a commit that stands for gigabytes, or that has a problem in each of
// its lines, is read and reported within bounded memory: what is allocated on the way, and what
// is kept. (H10)
func TestBombsTakeLittleMemory(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'z'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 8), c-1)
	}
	const values = "addons/defaults/addons/dns/values.yaml"
	for name, text := range map[string]string{
		"aliases":         laughs,
		"a long text":     "a: &a " + strings.Repeat("x", 500_000) + "\nb: [" + strings.Repeat("*a,", 100_000) + "]\n",
		"deep":            strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"10,000 problems": strings.Repeat("a: 1\n", 10_001),
	} {
		t.Run(name, func(t *testing.T) {
			s := serving(t)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s.say(repository(map[string]string{values: text}))
			s.until("quarantined", func(st refresh.Status) bool { return len(st.Quarantined) > 0 })
			ready, _ := s.readiness()
			fleet := s.get("/api/v1/fleet")
			runtime.ReadMemStats(&after)
			all := (after.TotalAlloc - before.TotalAlloc) >> 20
			runtime.GC()
			runtime.ReadMemStats(&after)
			kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
			if all > 200 || kept > 50 || len(ready.body)+len(fleet.body) > 1<<20 || !strings.Contains(ready.body, values) {
				t.Errorf("%d MiB allocated, %d MiB kept, %d bytes of answers: %.300s", all, kept, len(ready.body)+len(fleet.body), ready.body)
			}
			t.Logf("%d MiB allocated, %d MiB kept", all, kept)
		})
	}
}

// TestDistinctBasesTakeLittleMemory: a token that may ask can send any number of catalog entries of
// its own, each once. What the service remembers of them is bounded in bytes. (H10)
func TestDistinctBasesTakeLittleMemory(t *testing.T) {
	s := serving(t)
	var values strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&values, `"k%d":"v",`, i)
	}
	ask := func(i int) {
		base := fmt.Sprintf(`{"enabled":true,"chart":{"repoURL":"r","name":"n","version":"1"},"values":{%s"n":%d}}`, values.String(), i)
		if got := s.ask(`{"view":"components","group":"addons","component":"dns","base":` + base + `}`); got.code != 200 {
			t.Fatalf("%d: %.300s", got.code, got.body)
		}
	}
	ask(-1)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 40 {
		ask(i)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; kept > 150 {
		t.Errorf("%d MiB kept of 40 entries", kept)
	} else {
		t.Logf("%d MiB kept", kept)
	}
}
