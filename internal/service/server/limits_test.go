package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/service/server"
)

// soon is a limit of time that a test waits to see the end of.
const soon = 50 * time.Millisecond

// dial is a connection of the test's own, on which nothing takes longer than the test is patient.
func (s *service) dial() *net.TCPConn {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Addr(), "http://"))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patient)); err != nil {
		s.Fatal(err)
	}
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
	if answer := s.sent(s.dial(), ""); answer != "" {
		t.Errorf("nothing at all: %q", answer)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if r := other.ask(`{"view":"members"}`); r.code != 200 {
		t.Errorf("another token: %d %s", r.code, r.body)
	}
	for range 3 {
		s.ask(`{"view":"members"}`)
	}
	if r := s.ask(`{"view":"members"}`); r.code != 429 || r.message() != `too many requests with token "token-file"; the limit is 0.001 a second (--token-rate)` {
		t.Errorf("the token file's: %d %s", r.code, r.body)
	}
	if r := s.get("/v2/"); r.code != 429 || !strings.Contains(r.body, "TOOMANYREQUESTS") || r.header.Get("Retry-After") == "" {
		t.Errorf("the registry: %d %s", r.code, r.body)
	}
	if r := s.get("/healthz"); r.code != 200 {
		t.Errorf("healthz: %d", r.code)
	}
}

// Argo CD asks from a few workers at once, each of which waits for its answer. However often they
// ask, they are slowed down, and none is refused: a refusal would cost three minutes.
func TestArgoCDIsNeverRefusedForItsRate(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.TokenRate, o.TokenBurst = 500, 1 })
	var workers sync.WaitGroup
	for range 10 {
		workers.Go(func() {
			for range 20 {
				if r := s.ask(`{"view":"members"}`); r.code != 200 {
					t.Errorf("%d %s", r.code, r.body)
				}
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
		if r := wrong(); r.code != 401 {
			t.Errorf("%d %s", r.code, r.body)
		}
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
	if r := s.ask(`{"view":"members"}`); r.code != 200 {
		t.Errorf("a good token: %d %s", r.code, r.body)
	}
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
		if r.code != code {
			t.Errorf("%s: %d %s", path, r.code, r.body)
		}
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
	if err != nil {
		t.Fatal(err)
	}
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
		if got := strings.Join(h.Values(name), "|"); got != want {
			t.Errorf("%s: %s %q, want %q", what, name, got, want)
		}
	}
	for name, values := range h {
		if strings.Contains(fmt.Sprint(values), "go1.") {
			t.Errorf("%s: %s tells the version: %q", what, name, values)
		}
	}
}
