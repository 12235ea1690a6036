package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
)

// maxStreams bounds the concurrent requests of one HTTP/2 connection.
const maxStreams = 32

// Limits are the limits of a listener. All are required.
type Limits struct {
	// ReadHeaderTimeout, ReadTimeout and WriteTimeout bound the time of a header, a whole request
	// and a response. IdleTimeout bounds the wait of a connection for its next request.
	ReadHeaderTimeout, ReadTimeout, WriteTimeout, IdleTimeout time.Duration
	// MaxHeaderBytes bounds headers (net/http adds 4 KiB); larger ones are refused with 431.
	MaxHeaderBytes int
	// MaxConnections bounds the open connections. Beyond, a new one waits for another to end.
	MaxConnections int
	// MaxConcurrent bounds the concurrent requests; one token gets half of them. A request beyond
	// waits for MaxWait before it is refused with 429; a negative MaxWait refuses it at once.
	MaxConcurrent int
	MaxWait       time.Duration
	// FailureRate and FailureBurst bound the requests without a valid token, which do not wait.
	FailureRate  float64
	FailureBurst int
}

// Server serves a handler within its limits.
type Server struct {
	http           *http.Server
	maxConnections int
	open           atomic.Int64
	stopped        chan struct{}
}

// New makes a Server that does not listen yet. Without a TLS configuration it serves plain HTTP.
func New(handler http.Handler, config *tls.Config, l Limits, log *slog.Logger) *Server {
	s := &Server{maxConnections: l.MaxConnections, stopped: make(chan struct{})}
	s.http = &http.Server{
		Handler: handler, TLSConfig: config.Clone(), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: l.ReadHeaderTimeout, ReadTimeout: l.ReadTimeout, WriteTimeout: l.WriteTimeout, IdleTimeout: l.IdleTimeout,
		MaxHeaderBytes: l.MaxHeaderBytes, DisableGeneralOptionsHandler: true, ConnState: s.count, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
	}
	return s
}

// count counts the open connections; it is the server's ConnState.
func (s *Server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	}
}

// Connections returns the number of open connections.
func (s *Server) Connections() int64 { return s.open.Load() }

// Serve serves on a listener until the listener fails. It returns nil after Stop has ended.
func (s *Server) Serve(listener net.Listener) (err error) {
	listener = netutil.LimitListener(listener, s.maxConnections)
	if s.http.TLSConfig != nil {
		err = s.http.ServeTLS(listener, "", "")
	} else {
		err = s.http.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) { // net/http: it returns when Shutdown begins
		<-s.stopped
		return nil
	}
	return errors.Join(err, s.http.Close())
}

// OnStop registers a function that is called when Stop begins.
func (s *Server) OnStop(f func()) { s.http.RegisterOnShutdown(f) }

// Stop lets requests finish for at most atMost, then breaks them off. It may be called once.
func (s *Server) Stop(ctx context.Context, atMost time.Duration) error {
	defer close(s.stopped)
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), atMost)
	defer cancel()
	if s.http.Shutdown(finish) == nil {
		return nil
	}
	_ = s.http.Close()
	return fmt.Errorf("requests still ran after %s", atMost)
}
