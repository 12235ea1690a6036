package server

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/service/httpserver"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// A panic is 500 when nothing has been written; an answer that has begun is broken off, never ended
// (G1).
func TestPanicBreaksTheResponseOff(t *testing.T) {
	var log bytes.Buffer
	s := &Server{o: Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, metrics: newMetrics(), audit: newAuditLog(nil)}
	mux := http.NewServeMux()
	mux.HandleFunc("/before", func(http.ResponseWriter, *http.Request) { panic("boom") })
	mux.HandleFunc("/within", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"output":{"parameters":[`+strings.Repeat(" ", 1<<20))
		panic("boom")
	})
	server := httptest.NewServer(s.withLog(httpserver.Recovered(s.o.Logger, write, mux)))
	defer server.Close()

	resp, err := http.Get(server.URL + "/before")
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusInternalServerError || string(body) != "{\"message\":\"internal error; see the service's log\"}\n" {
		t.Errorf("%d %q %v", resp.StatusCode, body, err)
	}
	if resp, err = http.Get(server.URL + "/within"); err == nil {
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an answer that broke off was read as a whole one: %v", err)
	}
	server.Close()
	if n := strings.Count(log.String(), "panic=boom"); n != 2 {
		t.Errorf("%d panics in the log:\n%s", n, log.String())
	}
}
