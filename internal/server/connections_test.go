package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/argosy-hub/argosy/internal/server"
)

// atMost bounds the connections of a service to the fewest that can be.
func atMost(o *server.Options) { o.MaxConnections = server.MinConnections }

// probe asks for what has to be answered whatever happens, on a connection of its own as the
// kubelet does.
func (s *service) probe() string {
	s.Helper()
	answer := ""
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		got := s.sent(s.dial(), "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			s.Errorf("%s: %.200q", path, got)
		}
		answer = got
	}
	return answer
}

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

// Rule 13: beyond the bound a connection goes that has none or no whole header for longest; probes
// are answered all along, and so are later callers. (H10)
func TestSilentConnectionsMakeRoom(t *testing.T) {
	s := serving(t, atMost)
	var silent []*net.TCPConn
	for range 3 * server.MinConnections {
		conn := s.dial()
		if _, err := io.WriteString(conn, "POST /api"); err != nil {
			t.Fatal(err)
		}
		silent = append(silent, conn)
	}
	metrics := s.probe()
	if r := s.ask(`{"view":"members"}`); r.code != 200 {
		t.Errorf("%d %s", r.code, r.body)
	}
	for i, conn := range silent[:2*server.MinConnections] {
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !strings.Contains(fmt.Sprint(err), "reset") {
			t.Errorf("connection %d of %d: %v", i, len(silent), err)
		}
	}
	last := silent[len(silent)-1]
	rest := "/v1/getparams.execute HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer " + secret + "\r\nContent-Type: application/json\r\n"
	if answer := s.sent(last, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", rest, len(asked), asked)); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Errorf("the one that came last: %q", answer)
	}
	open, closed := figure(t, metrics, "argosy_http_connections"), figure(t, metrics, "argosy_http_connections_closed_total")
	if open > server.MinConnections || open < 1 || closed < 2*server.MinConnections {
		t.Errorf("%d are open, %d were closed", open, closed)
	}
}

// figure is a metric without labels.
func figure(t *testing.T, metrics, name string) (n int) {
	t.Helper()
	_, rest, found := strings.Cut(metrics, "\n"+name+" ")
	if _, err := fmt.Sscan(rest, &n); err != nil || !found {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// Rule 13: what is under way is never closed for others. When it takes all the room that there is
// for requests, others get 503, and probes are answered. (H10)
func TestRequestsUnderWayStay(t *testing.T) {
	s := serving(t, atMost)
	const room = server.MinConnections * 3 / 4
	var busy []*net.TCPConn
	for range room {
		conn := s.dial()
		s.underWay(conn, strings.Replace(beginning, "Host: x", "Host: x\r\nConnection: close", 1), asked)
		busy = append(busy, conn)
	}
	for range 3 * server.MinConnections {
		s.dial()
	}
	s.probe()
	for what, r := range map[string]reply{
		"getparams": s.ask(`{"view":"members"}`), "fleet": s.get("/api/v1/fleet"), "webhook": s.do(s.request("POST", "/api/v1/webhook", "{}")), "registry": s.get("/v2/"),
	} {
		if r.code != 503 || !strings.Contains(r.body, "too many connections at once; the limit is 8 (--max-connections)") || r.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", what, r.code, r.body)
		}
	}
	for i, conn := range busy {
		if answer := s.sent(conn, asked); !strings.HasPrefix(answer, "HTTP/1.1 200 ") || !strings.HasSuffix(answer, "}\n") {
			t.Errorf("request %d: %q", i, answer)
		}
	}
	if r := s.ask(`{"view":"members"}`); r.code != 200 {
		t.Errorf("afterwards: %d %s", r.code, r.body)
	}
}

// servingTLS is a service with TLS, and what its clients trust.
func servingTLS(t *testing.T, change ...func(*server.Options)) (*service, *tls.Config) {
	t.Helper()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	roots := x509.NewCertPool()
	roots.AddCert(certify(t, 1, certFile, keyFile))
	s := start(t, append(change, func(o *server.Options) { o.TLSCert, o.TLSKey = certFile, keyFile })...)
	s.say(repository(nil))
	return s, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// The same with TLS, where net/http tells of connections that are wrapped. (H10)
func TestRequestsUnderWayStayWithTLS(t *testing.T) {
	s, config := servingTLS(t, atMost)
	address := strings.TrimPrefix(s.Addr(), "https://")
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patient)); err != nil {
		t.Fatal(err)
	}
	s.underWay(conn, beginning, asked)
	for range 3 * server.MinConnections {
		silent, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { silent.Close() })
	}
	s.client.Transport = &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	if r := s.get("/healthz"); r.code != 200 {
		t.Errorf("%d %s", r.code, r.body)
	}
	if _, err := io.WriteString(conn, asked); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("%s", resp.Status)
	}
}

const hook = "POST /api/v1/webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"

// Rule 13: of signed bodies that nobody is known to have sent few are read at once, not for long,
// and no more than the limit. (H10)
func TestSignedBodiesAreBounded(t *testing.T) {
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
		if answer := s.sent(s.dial(), c.request); !strings.Contains(answer, c.want) {
			t.Errorf("%s: %q", what, answer)
		}
	}
}

// H10
func TestFewSignedBodiesAreReadAtOnce(t *testing.T) {
	s := serving(t)
	const body = "{}"
	head := hook + "X-Hub-Signature-256: " + signed(secret, body) + "\r\n"
	var reading []*net.TCPConn
	for range 8 { // the share of one address
		conn := s.dial()
		s.underWay(conn, head, body)
		reading = append(reading, conn)
	}
	one := func() reply {
		return s.do(s.request("POST", "/api/v1/webhook", body, "Authorization", "", "X-Hub-Signature-256", signed(secret, body)))
	}
	if r := one(); r.code != 429 || r.message() != "too many signed webhooks at once from this address; the limit for all is 16" || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r := s.do(s.request("POST", "/api/v1/webhook", body)); r.code != 202 {
		t.Errorf("with a token: %d %s", r.code, r.body)
	}
	for _, conn := range reading {
		if answer := s.sent(conn, body); !strings.HasPrefix(answer, "HTTP/1.1 202 ") {
			t.Errorf("%q", answer)
		}
	}
	if r := one(); r.code != 202 {
		t.Errorf("afterwards: %d %s", r.code, r.body)
	}
}

// zeros are a body that takes no memory.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// Rule 13: nothing is kept of a body whose sender is not known. (H10)
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
	if r := send(); r.code != 401 {
		t.Errorf("%d %s", r.code, r.body)
	}
	runtime.ReadMemStats(&after)
	if all := after.TotalAlloc - before.TotalAlloc; all > 1<<20 {
		t.Errorf("%d KiB are allocated for %d MiB of body", all>>10, size>>20)
	} else {
		t.Logf("%d KiB are allocated for %d MiB of body", all>>10, size>>20)
	}
}

// TestBodiesThatDoNotComeMakeRoom: requests that have been refused, and whose bodies never come,
// keep neither probes nor good tokens away. (H10)
func TestBodiesThatDoNotComeMakeRoom(t *testing.T) {
	s := serving(t, atMost)
	for range server.MinConnections {
		if _, err := io.WriteString(s.dial(), "POST "+getparams+" HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for until := time.Now().Add(patient); strings.Count(s.log.String(), "endpoint=getparams code=401") < server.MinConnections; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the requests are never refused")
		}
	}
	s.probe()
	if r := s.ask(`{"view":"members"}`); r.code != 200 {
		t.Errorf("%d %s", r.code, r.body)
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
	for range 100 { // meanwhile the service reads the four
		if r := s.get("/metrics", "Authorization", ""); r.code != 200 {
			t.Fatalf("%d %s", r.code, r.body)
		}
	}
}

// TestPacedRequestsOfOneTokenLeaveRoom: requests that wait for the rate of a tenant's token do not
// take all connections, so that Argo CD's are served (H10).
func TestPacedRequestsOfOneTokenLeaveRoom(t *testing.T) {
	const room = server.MinConnections * 3 / 4
	k := tokensOf(t, map[string]string{"flood": "{routes: [fleet], tenants: [retail]}"})
	s := serving(t, k.use, atMost, func(o *server.Options) {
		o.TokenRate, o.TokenBurst, o.MaxConcurrent, o.MaxWait = 0.1, 1, 4, patient
	})
	refused := make(chan bool, room)
	for range room { // all but the first would wait for 10 s and more
		conn := s.dial()
		if _, err := io.WriteString(conn, "GET /api/v1/fleet HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+k.values["flood"]+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		go func() {
			line := make([]byte, len("HTTP/1.1 429"))
			_, err := io.ReadFull(conn, line)
			refused <- err == nil && string(line) == "HTTP/1.1 429"
		}()
	}
	n := 0
	for range room {
		if <-refused {
			n++
		}
		if n == room/2 { // before, each of them may be about to be refused
			if r := s.ask(`{"view":"members"}`); r.code != 200 {
				t.Errorf("Argo CD's: %d %s", r.code, r.body)
			}
			return
		}
	}
	t.Errorf("%d of %d requests were refused; the others waited, each with a connection", n, room)
}

// TestUnreadResponsesMakeRoom: clients of HTTP/2 that leave no room for a response keep neither
// probes nor good tokens away. (H10)
func TestUnreadResponsesMakeRoom(t *testing.T) {
	s, config := servingTLS(t, atMost)
	ofHTTP2 := config.Clone()
	ofHTTP2.NextProtos = []string{"h2"}
	for range server.MinConnections {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.Addr(), "https://"), ofHTTP2)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(patient)); err != nil {
			t.Fatal(err)
		}
		if err := askWithoutRoom(conn); err != nil {
			t.Fatal(err)
		}
	}
	s.client.Transport = &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	if r := s.get("/healthz"); r.code != 200 {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r := s.ask(`{"view":"members"}`); r.code != 200 {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// askWithoutRoom sends a request that is refused, with no room for the response's body, and returns
// when the service has sent the header.
func askWithoutRoom(conn net.Conn) error {
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return err
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		return err
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/nothing"}} {
		if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return err
		}
	}
	if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
		return err
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		if header, is := frame.(*http2.HeadersFrame); is {
			if header.StreamEnded() {
				return errors.New("the response has no body")
			}
			return nil
		}
	}
}
