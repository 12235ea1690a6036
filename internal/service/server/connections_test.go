package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// atMost bounds the connections of a service to the fewest that can be.
func atMost(o *server.Options) { o.MaxConnections = server.MinConnections }

// underWay begins a request on a connection, and returns when the service reads its body. rest is
// what is to follow.
func (s *service) underWay(conn net.Conn, head, body string) (rest string) {
	s.Helper()
	if _, err := fmt.Fprintf(conn, "%sContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", head, len(body)); err != nil {
		s.Fatal(err)
	}
	const sign = "HTTP/1.1 100 Continue\r\n\r\n"
	got := make([]byte, len(sign))
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != sign {
		s.Fatalf("%q, %v", got[:n], err)
	}
	return body
}

const asked = `{"input":{"parameters":{"view":"members"}}}`

// figure is a metric without labels.
func figure(t testing.TB, metrics, name string) (n int) {
	t.Helper()
	_, rest, found := strings.Cut(metrics, "\n"+name+" ")
	if _, err := fmt.Sscan(rest, &n); err != nil || !found {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestConnectionsAreBounded: beyond the bound a new connection waits until another one ends, and
// none that is open is closed for it. (H10)
func TestConnectionsAreBounded(t *testing.T) {
	s := serving(t, atMost)
	const request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
	var open []*net.TCPConn
	metrics := func(conn net.Conn) string {
		t.Helper()
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("%s, %v", r.Status, err)
		}
		return string(body)
	}
	send := func(conn net.Conn) {
		t.Helper()
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
	}
	s.client.CloseIdleConnections()
	for range server.MinConnections {
		conn := s.dial()
		send(conn)
		metrics(conn)
		open = append(open, conn)
	}
	beyond := s.dial()
	send(beyond)
	for _, conn := range open {
		send(conn)
		if n := figure(t, metrics(conn), "argosy_http_connections"); n != server.MinConnections {
			t.Errorf("%d connections are open", n)
		}
	}
	_ = open[0].Close()
	metrics(beyond)
}

const hook = "POST /api/v1/webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"

// Of signed bodies that nobody is known to have sent few are read at once, not for long,
// and no more than the limit. (H10)
func TestSignedBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := serving(t, func(o *server.Options) { o.MaxWebhookBytes, o.WebhookTimeout = 1000, time.Second })
	large := strings.Repeat("x", 1001)
	head := hook + "X-Hub-Signature-256: " + signed(secret, large) + "\r\n"
	for what, c := range map[string]struct{ request, want string }{
		"announced":      {head + "Content-Length: 1001\r\n\r\n", "the webhook's body has 1001 bytes; the limit is 1000 (--max-webhook-bytes)"}, // none of it is waited for
		"unannounced":    {head + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + large + "\r\n0\r\n\r\n", "the webhook's body is larger than the limit of 1000 bytes (--max-webhook-bytes)"},
		"slow":           {head + "Content-Length: 1000\r\n\r\nxxx", "the request's body broke off"},
		"no signature":   {hook + "X-Hub-Signature-256: sha256=00\r\nContent-Length: 1000\r\n\r\n", "the webhook's signature is wrong"}, // nor is it read
		"a bearer's own": {hook + "Authorization: Bearer wrong\r\nX-Hub-Signature-256: sha256=00\r\nContent-Length: 1000\r\n\r\n", "the bearer token is wrong"},
	} {
		assert.Contains(t, s.sent(s.dial(), c.request), c.want, "%s", what)
	}
}

// H10
func TestFewSignedBodiesAreReadAtOnce(t *testing.T) {
	s := serving(t)
	const body = "{}"
	head := hook + "X-Hub-Signature-256: " + signed(secret, body) + "\r\n"
	var reading []*net.TCPConn
	for range 16 {
		conn := s.dial()
		s.underWay(conn, head, body)
		reading = append(reading, conn)
	}
	one := func() reply {
		return s.do(s.request("POST", "/api/v1/webhook", body, "Authorization", "", "X-Hub-Signature-256", signed(secret, body)))
	}
	if r := one(); r.code != 429 || r.message() != "too many signed webhooks at once; the limit is 16" || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.code, r.body)
	}
	s.do(s.request("POST", "/api/v1/webhook", body)).is(t, 202, "with a token")
	for _, conn := range reading {
		if answer := s.sent(conn, body); !strings.HasPrefix(answer, "HTTP/1.1 202 ") {
			t.Errorf("%q", answer)
		}
	}
	one().is(t, 202, "afterwards")
}

// zeros are a body that takes no memory.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// Nothing is kept of a body whose sender is not known. (H10)
func TestSignedBodiesAreNotKept(t *testing.T) {
	s := serving(t)
	const size = server.DefaultMaxWebhookBytes
	send := func() reply {
		r := s.request("POST", "/api/v1/webhook", "", "Authorization", "", "X-Hub-Signature-256", signed("wrong", ""))
		r.Body, r.ContentLength, r.GetBody = io.NopCloser(io.LimitReader(zeros{}, size)), size, nil
		return s.do(r)
	}
	send()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	send().is(t, 401, "")
	runtime.ReadMemStats(&after)
	if all := after.TotalAlloc - before.TotalAlloc; all > 1<<20 {
		t.Errorf("%d KiB are allocated for %d MiB of body", all>>10, size>>20)
	} else {
		t.Logf("%d KiB are allocated for %d MiB of body", all>>10, size>>20)
	}
}

// TestStrangersLeaveMetricsToOthers: clients of /metrics that do not end keep nobody else from it.
func TestStrangersLeaveMetricsToOthers(t *testing.T) {
	s := serving(t)
	for range 4 {
		if _, err := io.WriteString(s.dial(), "GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for began := time.Now(); s.get("/metrics", "Authorization", "").code != 200; { // the service refuses the four
		if time.Since(began) > 10*time.Second {
			t.Fatal("no metrics for 10 s")
		}
	}
	for range 100 {
		if r := s.get("/metrics", "Authorization", ""); r.code != 200 {
			t.Fatalf("%d %s", r.code, r.body)
		}
	}
}

// flood begins requests that the service reads the bodies of, until it refuses one. It returns
// their number.
func (s *service) flood(dial func() net.Conn, head, body string) (held int) {
	s.Helper()
	for {
		conn := dial()
		if _, err := fmt.Fprintf(conn, "%sContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", head, len(body)); err != nil {
			s.Fatal(err)
		}
		r, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // a body would end with its connection
		switch {
		case err != nil:
			s.Fatal(err)
		case r.StatusCode == http.StatusContinue:
			held++
		case r.StatusCode == http.StatusTooManyRequests:
			return held
		default:
			s.Fatalf("status %d", r.StatusCode)
		}
	}
}

// TestFloodOfOneTokenStarvesNoOther: one token takes all slots that it can get, half of them, by
// requests that do not end. Other tokens, whatever their scope, and Argo CD's are served. (H10)
func TestFloodOfOneTokenStarvesNoOther(t *testing.T) {
	k := tokensOf(t, map[string]string{"flood": "{routes: [getparams], tenants: [retail]}", "reader": "{routes: [fleet]}"})
	s := serving(t, k.use, func(o *server.Options) { o.MaxWait = -1 })
	head := strings.Replace(beginning, secret, k.values["flood"], 1)
	if held := s.flood(func() net.Conn { return s.dial() }, head, asked); held != 16 {
		t.Errorf("one token has %d of %d slots", held, server.DefaultMaxConcurrent)
	}
	(caller{s, k.values["reader"]}).get("/api/v1/fleet").is(t, 200, "another token")
	s.ask(`{"view":"members"}`).is(t, 200, "Argo CD's")
	if r := (caller{s, k.values["flood"]}).ask(`{"view":"members"}`); r.code != 429 || !strings.Contains(r.message(), `with token "flood"`) {
		t.Errorf("the flood: %d %s", r.code, r.body)
	}
}

// TestWaitingRequestsOfOneTokenAreBounded: a token has at most as many waiting requests as there
// are slots, so that it does not take all connections. (H10)
func TestWaitingRequestsOfOneTokenAreBounded(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.MaxConcurrent, o.MaxWait = 1, patient })
	conn := s.dial()
	s.underWay(conn, strings.Replace(beginning, "Host: x", "Host: x\r\nConnection: close", 1), asked)
	answers := make(chan reply, 3)
	for range cap(answers) { // one waits, and the others are refused
		go func() { answers <- s.ask(`{"view":"members"}`) }()
	}
	for range cap(answers) - 1 {
		(<-answers).is(t, 429, "")
	}
	s.sent(conn, asked)
	(<-answers).is(t, 200, "the one that waited")
}
