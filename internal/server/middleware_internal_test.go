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
)

// A panic is 500 when nothing has been written; an answer that has begun is broken off, never ended
// (G1).
func TestPanicBreaksTheResponseOff(t *testing.T) {
	var log bytes.Buffer
	s := &Server{o: Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, metrics: newMetrics()}
	mux := http.NewServeMux()
	mux.HandleFunc("/before", func(http.ResponseWriter, *http.Request) { panic("boom") })
	mux.HandleFunc("/within", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"output":{"parameters":[`+strings.Repeat(" ", 1<<20))
		panic("boom")
	})
	server := httptest.NewServer(s.withLog(s.withRecovery(mux)))
	defer server.Close()

	resp, err := http.Get(server.URL + "/before")
	if err != nil {
		t.Fatal(err)
	}
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

func TestCountSets(t *testing.T) {
	for answer, want := range map[string]int{
		`{"output":{"parameters":[]}}`:                                          0,
		`{"output":{"parameters":[{}]}}`:                                        1,
		`{"output":{"parameters":[{"a":[{},{}],"b":"}{[\"{"},{"c":{"d":{}}}]}}`: 2,
	} {
		if got := countSets([]byte(answer), 3); got != want {
			t.Errorf("%s: %d, want %d", answer, got, want)
		}
		inputs := strings.Replace(strings.TrimSuffix(answer, "}"), `{"output":{"parameters"`, `{"inputs"`, 1)
		if got := countSets([]byte(inputs), 2); got != want {
			t.Errorf("%s: %d, want %d", inputs, got, want)
		}
	}
}
