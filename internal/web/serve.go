package web

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// Serve serves the pages on a listener until the context ends, or the listener fails.
func (s *Site) Serve(ctx context.Context, listener net.Listener) error {
	server := httpserver.New(s, s.o.TLS, limits, s.o.Logger)
	var following sync.WaitGroup
	defer following.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	following.Go(func() { s.follow(ctx) })
	server.OnStop(s.streams.close)
	stop := context.AfterFunc(ctx, func() { _ = server.Stop(ctx, 5*time.Second) })
	defer stop()
	return server.Serve(listener)
}
