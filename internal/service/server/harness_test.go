package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	secret  = "correct-horse-battery-staple"
	patient = 2 * time.Minute // what a test waits for at most
	memberA = "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: hub-1/a\n"
	memberB = "clusterName: b\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: hub-1/b\n"
	fileA   = "fleet/fleet-members/hub-1/a.yaml"
)

// repository is a good fleet of two hubs with the files given on top; an empty text leaves one out.
func repository(files map[string]string) map[string]string { return fleettest.TwoHubs().With(files) }

// service is a running server, and the world around it.
type service struct {
	testing.TB
	*server.Server
	script    *fleettest.Source // nil with another source
	tokenFile string
	log       *lockedBuffer
	client    *http.Client
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// start runs a service; without a source, it is a script that has said nothing yet.
func start(t *testing.T, change ...func(*server.Options)) *service {
	t.Helper()
	return launch(t, change...)
}

// launch is start for tests, fuzz targets and benchmarks.
func launch(t testing.TB, change ...func(*server.Options)) *service {
	t.Helper()
	s := &service{TB: t, tokenFile: filepath.Join(t.TempDir(), "token"), log: &lockedBuffer{}, client: &http.Client{Timeout: patient}}
	s.writeToken(secret + "\n")
	o := server.Defaults()
	o.Hub, o.Listen, o.TokenFile = "hub-1", "127.0.0.1:0", s.tokenFile
	o.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, c := range change {
		c(&o)
	}
	if o.Source == nil {
		s.script = fleettest.NewSource()
		o.Source = s.script
	}
	var err error
	if s.Server, err = server.New(o); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, s.Start(context.Background()))
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		assert.NoError(t, s.Stop(context.Background()))
	})
	return s
}

// serving is a running service that has taken in a good repository.
func serving(t *testing.T, change ...func(*server.Options)) *service {
	t.Helper()
	s := start(t, change...)
	s.say(repository(nil))
	return s
}

// say puts a repository before the service and waits until it serves or refuses it.
func (s *service) say(files map[string]string) *snapshot.Snapshot {
	s.Helper()
	next := snapshot.FromMap(files)
	s.script.Reports <- fleettest.Report{Snapshot: next}
	s.until("took in "+next.Revision, func(st refresh.Status) bool {
		return st.Revision == next.Revision || len(st.Refused) > 0 && st.Refused[0].Revision == next.Revision
	})
	return next
}

func (s *service) until(what string, ok func(refresh.Status) bool) {
	s.Helper()
	deadline := time.After(patient)
	for {
		changed := s.Refresher().Changed()
		if ok(s.Refresher().Status()) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			s.Fatalf("never %s: %+v", what, s.Refresher().Status())
		}
	}
}

func (s *service) writeToken(text string) {
	s.Helper()
	require.NoError(s, os.WriteFile(s.tokenFile, []byte(text), 0o600))
}

// reply is an answer that has been read whole.
type reply struct {
	code   int
	header http.Header
	body   string
}

// is fails the test unless a reply has a code, and parts in its body.
func (r reply) is(t testing.TB, code int, what string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		assert.Contains(t, r.body, part, "%s", what)
	}
	if r.code != code {
		t.Errorf("%s: expected %d, got %d %s", what, code, r.code, r.body)
	}
}

func (r reply) message() string {
	var m struct{ Message string }
	_ = json.Unmarshal([]byte(r.body), &m)
	return m.Message
}

func (s *service) do(r *http.Request) reply {
	s.Helper()
	resp, err := s.client.Do(r)
	require.NoError(s, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(s, err)
	return reply{resp.StatusCode, resp.Header, string(body)}
}

func (s *service) request(method, path, body string, header ...string) *http.Request {
	s.Helper()
	r, err := http.NewRequest(method, s.Addr()+path, strings.NewReader(body))
	require.NoError(s, err)
	r.Header.Set("Authorization", "Bearer "+secret)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Del(header[i])
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	return r
}

const getparams = "/api/v1/getparams.execute"

// ask is Argo CD's request.
func (s *service) ask(parameters string, header ...string) reply {
	s.Helper()
	return s.do(s.request("POST", getparams, `{"applicationSetName":"try","input":{"parameters":`+parameters+`}}`, header...))
}

func (s *service) get(path string, header ...string) reply {
	s.Helper()
	return s.do(s.request("GET", path, "", header...))
}

// readiness is /readyz with the token.
func (s *service) readiness() (reply, server.Readiness) {
	s.Helper()
	r := s.get("/readyz")
	var body server.Readiness
	require.NoError(s, json.Unmarshal([]byte(r.body), &body))
	return r, body
}

// lastRefresh is when the source was looked at last, and since when what it had is computed: both
// may be again at any time.
var lastRefresh = regexp.MustCompile(`"lastRefresh":"[^"]*"|"computingSince":"[^"]*",?`)

// isSettled fails when the service says something else of itself than before.
func (s *service) isSettled(before reply) {
	s.Helper()
	if now, _ := s.readiness(); lastRefresh.ReplaceAllString(now.body, "") != lastRefresh.ReplaceAllString(before.body, "") {
		s.Errorf("%s, then %s", before.body, now.body)
	}
}

// expect checks a refusal: its code, its whole text, and that it is the same when asked again (G5).
func (s *service) expect(what string, request func() *http.Request, code int, message string) reply {
	s.Helper()
	r := s.do(request())
	if r.code != code || r.message() != message {
		s.Errorf("%s: got %d %q, want %d %q", what, r.code, r.body, code, message)
	}
	assert.Equal(s, "application/json", r.header.Get("Content-Type"), "%s: Content-Type", what)
	if again := s.do(request()); again.code != r.code || again.body != r.body {
		s.Errorf("%s: %d %q, then %d %q", what, r.code, r.body, again.code, again.body)
	}
	return r
}
