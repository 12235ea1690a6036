// Package audit writes who asked the service for what, and which removals an approval let pass.
//
//		New(writer) -> Log;  Log.Request(request, record, status, duration);  Log.Event(name, attributes)
//
//	 1. Each request of the API is one line of JSON, also one that is refused; probes and metrics are
//	    none. The line has the route, the token's name, the client's certificate and address, the
//	    query, the tenants that it is about, and the status.
//	 2. A line never holds a token, a request's body or a response.
//	 3. A nil Log writes nothing.
package audit

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/problem"
)

// Log writes audit lines. It may be used by several goroutines.
type Log struct{ log *slog.Logger }

// New writes to w, one line for each event.
func New(w io.Writer) *Log {
	return &Log{log: slog.New(slog.NewJSONHandler(w, nil)).With("log", "audit")}
}

// Event writes a line about something that is no request.
func (l *Log) Event(event string, attributes ...slog.Attr) {
	if l != nil {
		l.log.LogAttrs(context.Background(), slog.LevelInfo, event, attributes...) //nolint:sloglint // the name of the event
	}
}

// Record is what the handlers know about a request. One without a Route is not written.
type Record struct {
	// ID is that of the request's log line, and Route the route's name.
	ID, Route string
	// Token is the name of the token, "token-file" for that of the token file.
	Token string
	// ApplicationSet is the requester, and Query what it asks for, as in the log.
	ApplicationSet, Query string
	// Cluster is the one cluster that the request is about.
	Cluster string
	// Tenants are the tenants that the request is about; All stands for every tenant.
	Tenants []string
	// Event is the event of a webhook.
	Event string
	// Denied is why the request is refused.
	Denied string
}

// All stands for every tenant.
const All = "*"

// maxWord bounds what a client says of itself.
const maxWord = 253

// Request writes the line of a request whose Route is set.
func (l *Log) Request(r *http.Request, record Record, code int, took time.Duration) {
	if l == nil || record.Route == "" {
		return
	}
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	attributes := []slog.Attr{slog.String("id", record.ID), slog.String("method", r.Method), slog.String("route", record.Route), slog.Int("code", code), slog.String("address", address)}
	for _, a := range [][2]string{
		{"token", record.Token},
		{"certificate", certificate(r)},
		{"applicationSet", record.ApplicationSet},
		{"query", record.Query},
		{"cluster", record.Cluster},
		{"event", record.Event},
		{"denied", record.Denied},
	} {
		if a[1] != "" {
			attributes = append(attributes, slog.String(a[0], problem.Prefix(a[1], maxWord)))
		}
	}
	if len(record.Tenants) > 0 {
		attributes = append(attributes, slog.Any("tenants", record.Tenants))
	}
	l.log.LogAttrs(r.Context(), slog.LevelInfo, "request", append(attributes, slog.Duration("took", took))...)
}

// certificate names the client's certificate: its subject and its serial number.
func certificate(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return ""
	}
	c := r.TLS.PeerCertificates[0]
	return strings.TrimSpace(c.Subject.String() + " " + c.SerialNumber.Text(16))
}
