package web

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// maxConnections bounds the open connections: file descriptors are left to the engines.
const maxConnections = 256

// Serve serves the pages on a listener until the context ends.
func (s *Site) Serve(ctx context.Context, listener net.Listener) error {
	listener = netutil.LimitListener(listener, maxConnections)
	if s.o.TLS != nil {
		listener = tls.NewListener(listener, s.o.TLS)
	}
	server := &http.Server{
		Handler: s, ErrorLog: slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug), ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	stop := context.AfterFunc(ctx, func() {
		finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(finish) != nil {
			_ = server.Close()
		}
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
