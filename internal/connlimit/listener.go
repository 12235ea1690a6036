// Package connlimit bounds the connections of an HTTP server, so that clients that are silent
// cannot keep others away.
package connlimit

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Listener bounds the open connections (rule 13). When there is no room for a new one, it closes
// the one that has waited longest without a request under way: one that a client keeps open, or
// that has sent no whole header.
type Listener struct {
	net.Listener
	most  int
	spare int // of them, kept for probes and metrics
	busy  atomic.Int64

	mu      sync.Mutex
	open    map[*connection]struct{}
	waiting *list.List // of *connection, the one that has waited longest first
	closed  uint64     // for lack of room
}

// New bounds connections to a number, of which some are kept for probes and metrics. On sets what
// it listens on.
func New(most int) *Listener {
	return &Listener{most: most, spare: max(1, min(most/4, 64)), open: map[*connection]struct{}{}, waiting: list.New()}
}

// On sets the listener, before anything is accepted.
func (c *Listener) On(l net.Listener) *Listener {
	c.Listener = l
	return c
}

// connection is one of them.
type connection struct {
	net.Conn
	all     *Listener
	waiting *list.Element // nil while a request is under way
}

// Accept makes room for what it accepts.
func (c *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if in := c.admit(conn); in != nil {
			return in, nil
		}
	}
}

// admit registers a connection. It closes the connection and returns nil if it can make no room.
func (c *Listener) admit(conn net.Conn) net.Conn {
	in := &connection{Conn: conn, all: c}
	c.mu.Lock()
	var out net.Conn
	if len(c.open) >= c.most {
		c.closed++
		oldest := c.waiting.Front()
		if oldest == nil {
			c.mu.Unlock()
			_ = conn.Close()
			return nil
		}
		gone := oldest.Value.(*connection) //nolint:errcheck // nothing else is put there
		c.forget(gone)
		out = gone.Conn
	}
	c.open[in] = struct{}{}
	in.waiting = c.waiting.PushBack(in)
	c.mu.Unlock()
	if out != nil {
		_ = out.Close() // net/http's goroutine sees it, and ends
	}
	return in
}

// forget removes a connection. The caller holds the lock.
func (c *Listener) forget(in *connection) {
	delete(c.open, in)
	if in.waiting != nil {
		c.waiting.Remove(in.waiting)
		in.waiting = nil
	}
}

// Close closes the connection and makes room.
func (in *connection) Close() error {
	in.all.mu.Lock()
	in.all.forget(in)
	in.all.mu.Unlock()
	return in.Conn.Close()
}

// Changed is http.Server.ConnState: it learns whether a request is under way.
func (c *Listener) Changed(conn net.Conn, state http.ConnState) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	in, ok := conn.(*connection)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.open[in]; !there {
		return
	}
	switch state {
	case http.StateActive:
		if in.waiting != nil {
			c.waiting.Remove(in.waiting)
			in.waiting = nil
		}
	case http.StateIdle:
		if in.waiting == nil {
			in.waiting = c.waiting.PushBack(in)
		}
	case http.StateNew, http.StateClosed, http.StateHijacked: // known already; seen by Close
	}
}

type contextKey struct{}

// Context is http.Server.ConnContext: Handler finds the connection of a request by it.
func (c *Listener) Context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, conn)
}

// Handler has a connection make room for others as soon as its request has been answered, if its
// body has not been read to its end: net/http waits for the rest of it, which may never come
// (server.go, finishRequest). An HTTP/2 connection may have other requests under way.
func (c *Listener) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, is := r.Context().Value(contextKey{}).(net.Conn)
		if !is || r.ProtoMajor != 1 || r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		b := &body{ReadCloser: r.Body}
		own := r.WithContext(r.Context()) // net/http looks at its own request's body, for Expect
		own.Body = b
		next.ServeHTTP(w, own)
		if !b.ended {
			c.Changed(conn, http.StateIdle)
		}
	})
}

// body knows whether it has been read to its end. A handler reads it in one goroutine.
type body struct {
	io.ReadCloser
	ended bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// Begin reports whether there is room for one more request beside probes and metrics; then End has
// to follow.
func (c *Listener) Begin() bool {
	if c.busy.Add(1) <= int64(c.most-c.spare) {
		return true
	}
	c.busy.Add(-1)
	return false
}

// End ends what Begin has begun.
func (c *Listener) End() { c.busy.Add(-1) }

// Figures are the open connections, and how many were closed for lack of room.
func (c *Listener) Figures() (open int, closed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open), c.closed
}
