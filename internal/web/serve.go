package web

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// MaxConnections bounds the open connections: file descriptors are left to the engines. Beside the
// streams, there is room for requests. Beyond it, a new connection waits for another to end.
const MaxConnections = maxStreams + 256

// Serve serves the pages on a listener until the context ends, or the listener fails.
func (s *Site) Serve(ctx context.Context, listener net.Listener) error {
	listener = netutil.LimitListener(listener, MaxConnections)
	if s.o.TLS != nil {
		listener = tls.NewListener(listener, s.o.TLS)
	}
	server := &http.Server{
		Handler: s, ErrorLog: slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug), ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	var following sync.WaitGroup
	defer following.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	following.Go(func() { s.follow(ctx) })
	server.RegisterOnShutdown(s.streams.close)
	finished := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(finished)
		finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(finish) != nil {
			_ = server.Close()
		}
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, server.Close())
	}
	<-finished // net/http: Serve returns when Shutdown begins
	return nil
}
