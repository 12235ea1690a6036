package web_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// stream opens the events with headers. The function returned reads the next event, and false at
// the end.
func stream(t *testing.T, server *httptest.Server, headers ...string) (code int, next func() (event, bool)) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/events", nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return resp.StatusCode, func() (e event, ok bool) {
		for lines.Scan() {
			if text, is := strings.CutPrefix(lines.Text(), "data: "); is {
				require.NoError(t, json.Unmarshal([]byte(text), &e))
				e.text = text
				return e, true
			}
		}
		return e, false
	}
}

type event struct{ Revision, State, Version, text string }

// TestPagesSpeakHTTP2: with TLS an open page and the pages share one connection.
func TestPagesSpeakHTTP2(t *testing.T) {
	t.Parallel()
	example := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate
	defer example.Close()
	f := wide(t)
	s, err := web.New(web.Options{Fleet: f, Tokens: tokensOf(t), TLS: &tls.Config{Certificates: example.TLS.Certificates, MinVersion: tls.VersionTLS12}, Heartbeat: time.Hour})
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	roots := x509.NewCertPool()
	roots.AddCert(example.Certificate())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}}
	ask := func(path string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+listener.Addr().String()+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+secret)
		resp, err := client.Do(r)
		require.NoError(t, err)
		if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", path, resp.Proto, resp.Status)
		}
		return resp
	}
	open := ask("/api/v1/events")
	events := bufio.NewReader(open.Body)
	for i := range 2 {
		if line, err := events.ReadString('}'); err != nil || !strings.Contains(line, "data: {") {
			t.Errorf("event %d: %q, %v", i, line, err)
		}
		if i == 0 {
			page := ask("/")
			_ = page.Body.Close()
			change(t, f)
		}
	}
	stop()
	if _, err := io.Copy(io.Discard, events); err != nil {
		t.Error("the stream ends:", err)
	}
	_ = open.Body.Close()
	assert.NoError(t, <-served)
	client.CloseIdleConnections()
}

// An open page learns of a commit at once, whatever its token may see, and of no cluster.
func TestEventsFollowTheState(t *testing.T) {
	t.Parallel()
	f := wide(t)
	server := site(t, f, func(o *web.Options) { o.Heartbeat = time.Hour })
	for _, token := range []string{secret, retail} {
		code, next := stream(t, server, "Authorization", "Bearer "+token)
		first, ok := next()
		if code != http.StatusOK || !ok || first.Revision != f.Status().Revision || first.State != web.Current {
			t.Fatalf("%d %+v", code, first)
		}
		f.serve(t, strings.Repeat(string(rune(token[0])), 40), fleettest.Small(), facts.Set{})
		second, _ := next()
		if second.Revision != f.Status().Revision || second.Version == first.Version {
			t.Errorf("%+v, then %+v", first, second)
		}
		if strings.Contains(first.text+second.text, "secretive") || strings.Contains(second.text, "two") {
			t.Errorf("an event names a cluster: %s %s", first.text, second.text)
		}
	}
	if code, _ := stream(t, server, "Authorization", "Bearer "+nobody); code != http.StatusForbidden {
		t.Errorf("without the route: %d", code)
	}
	if code, _ := stream(t, server); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
}

// A stream ends with its session: the page that it belongs to asks to sign in.
func TestEventsEndWithTheSession(t *testing.T) {
	t.Parallel()
	var later atomic.Bool
	server := site(t, wide(t), func(o *web.Options) {
		o.Heartbeat = time.Millisecond
		o.Now = func() time.Time {
			if later.Load() {
				return now.Add(13 * time.Hour)
			}
			return now
		}
	})
	cookie, _, _ := strings.Cut(post(t, server, "/signin", url.Values{"token": {retail}}).header.Get("Set-Cookie"), ";")
	_, next := stream(t, server, "Cookie", cookie)
	if _, ok := next(); !ok {
		t.Fatal("no event")
	}
	later.Store(true)
	for ok := true; ok; {
		_, ok = next()
	}
}

// Open streams take no place of a request, and end when the service stops.
func TestEventsLeaveRoomForRequests(t *testing.T) {
	t.Parallel()
	server := site(t, wide(t), func(o *web.Options) { o.Heartbeat = time.Hour })
	for range 40 {
		_, next := stream(t, server, "Authorization", "Bearer "+secret)
		if _, ok := next(); !ok {
			t.Fatal("no event")
		}
	}
	get(t, server, secret, "/").is(t, http.StatusOK, "")
}

// An open page learns of another status within three seconds, though the state stays the same.
func TestEventsFollowTheStatuses(t *testing.T) {
	t.Parallel()
	var version atomic.Uint64
	server := site(t, wide(t), func(o *web.Options) {
		o.Heartbeat, o.Live = time.Hour, func() overview.Live { return overview.Live{Version: version.Load()} }
	})
	_, next := stream(t, server, "Authorization", "Bearer "+secret)
	first, ok := next()
	if !ok {
		t.Fatal("no event")
	}
	version.Add(1)
	if second, ok := next(); !ok || second.Version == first.Version { // in an hour, else
		t.Errorf("%+v, then %+v", first, second)
	}
}
