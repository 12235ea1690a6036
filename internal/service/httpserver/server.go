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

// maxStreams bounds the requests that one HTTP/2 connection makes at once.
const maxStreams = 32

// Limits are those of a listener. All are required.
type Limits struct {
	// ReadHeaderTimeout, ReadTimeout and WriteTimeout bound the time of a header, a whole request
	// and a response; IdleTimeout, the time that a connection waits for the next request.
	ReadHeaderTimeout, ReadTimeout, WriteTimeout, IdleTimeout time.Duration
	// MaxHeaderBytes bounds headers (net/http adds 4 KiB); beyond, 431.
	MaxHeaderBytes int
	// MaxConnections bounds the open connections. Beyond, a new one waits for another to end.
	MaxConnections int
	// MaxConcurrent bounds the requests that are worked on at once, of which one token gets half.
	// Another one waits for MaxWait before it is refused with 429, and not at all if that is
	// negative.
	MaxConcurrent int
	MaxWait       time.Duration
	// FailureRate and FailureBurst bound the requests without a good token, which do not wait.
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

// New makes a Server that does not listen yet. Without a TLS configuration it speaks plain HTTP.
func New(handler http.Handler, config *tls.Config, l Limits, log *slog.Logger) *Server {
	s := &Server{maxConnections: l.MaxConnections, stopped: make(chan struct{})}
	s.http = &http.Server{
		Handler: handler, TLSConfig: config.Clone(), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: l.ReadHeaderTimeout, ReadTimeout: l.ReadTimeout, WriteTimeout: l.WriteTimeout, IdleTimeout: l.IdleTimeout,
		MaxHeaderBytes: l.MaxHeaderBytes, DisableGeneralOptionsHandler: true, ConnState: s.count, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
	}
	return s
}

// count is http.Server.ConnState.
func (s *Server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	}
}

// Connections is the number of open ones.
func (s *Server) Connections() int64 { return s.open.Load() }

// Serve serves on a listener until that fails, or until Stop has ended, and is nil then.
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

// OnStop has a function called when Stop begins.
func (s *Server) OnStop(f func()) { s.http.RegisterOnShutdown(f) }

// Stop lets requests finish for at most a time, and then breaks them off. It is called once.
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
