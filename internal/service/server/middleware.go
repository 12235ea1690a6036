package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// requestInfo collects the properties of a request for log and metrics.
type requestInfo struct {
	id, endpoint, view      string
	applicationSet, request string
	failure                 string
	bearer                  *access.Bearer
	expected                bool     // the failure is part of the client's protocol
	cluster                 string   // that the request concerns, for the audit log
	tenants                 []string // that it concerns
	sets                    int      // -1 without a response of parameter sets
}

type infoKey struct{}

// info returns the requestInfo of a request, which withLog has set.
func info(r *http.Request) *requestInfo {
	n, _ := r.Context().Value(infoKey{}).(*requestInfo)
	if n == nil {
		n = &requestInfo{}
	}
	return n
}

// saneID matches a client's request id that log and header may repeat.
var saneID = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,128}$`)

func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); saneID.MatchString(id) {
		return id
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}

// withLog gives each request an id, and writes log and metrics, without tokens and bodies.
func (s *Server) withLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		n := &requestInfo{id: requestID(r), sets: -1}
		w.Header().Set("X-Request-Id", n.id)
		rec := &httpserver.Recorder{ResponseWriter: w}
		defer func() { // also when a panic breaks the connection off
			took := time.Since(began)
			s.metrics.served(n, rec, took)
			s.logRequest(r, n, rec, took)
			s.auditRequest(r, n, rec.Code, took)
		}()
		next.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), infoKey{}, n)))
	})
}

func (s *Server) logRequest(r *http.Request, n *requestInfo, rec *httpserver.Recorder, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case n.expected:
		level = slog.LevelDebug
	case rec.Code >= 400 && (n.endpoint != "readyz" || n.failure != ""):
		level = slog.LevelWarn
	case n.endpoint == "healthz" || n.endpoint == "readyz" || n.endpoint == "metrics":
		level = slog.LevelDebug
	}
	if !s.o.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 11), slog.String("id", n.id), slog.String("method", r.Method), slog.String("endpoint", n.endpoint),
		slog.Int("code", rec.Code), slog.Int("bytes", rec.Bytes), slog.Duration("took", took))
	for _, a := range [][2]string{{"applicationSet", n.applicationSet}, {"request", n.request}, {"token", n.bearer.Label()}, {"message", n.failure}} {
		if a[1] != "" {
			attrs = append(attrs, slog.String(a[0], a[1]))
		}
	}
	if n.sets >= 0 {
		attrs = append(attrs, slog.Int("sets", n.sets))
	}
	s.o.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}

// logError logs the errors of promhttp.
type logError struct{ log *slog.Logger }

// Println logs an error of gathering metrics.
func (l logError) Println(v ...any) { l.log.Error("metrics", "error", fmt.Sprint(v...)) }
