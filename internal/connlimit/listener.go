// Package connlimit bounds the connections of an HTTP server, so that clients that are silent
// cannot keep others away.
package connlimit

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Listener bounds the open connections (rule 13). When there is no room for a new one, it closes
// the one that has waited longest without being held (Hold): one that a client keeps open, that has
// sent no whole header, or whose client reads no response.
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
	held    int           // how many requests hold it
	waiting *list.Element // nil while any does
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

// Changed is http.Server.ConnState. A connection waits anew when a header is whole.
func (c *Listener) Changed(conn net.Conn, state http.ConnState) {
	if state == http.StateActive {
		connectionOf(conn).hold(0)
	}
}

// connectionOf is the connection of this package's below one of net/http; nil if it is none.
func connectionOf(conn net.Conn) *connection {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	in, _ := conn.(*connection)
	return in
}

// hold adds to the number of requests that hold a connection. One that none holds waits behind all
// others.
func (in *connection) hold(n int) {
	if in == nil {
		return
	}
	c := in.all
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.open[in]; !there {
		return
	}
	if in.waiting != nil {
		c.waiting.Remove(in.waiting)
		in.waiting = nil
	}
	if in.held += n; in.held == 0 {
		in.waiting = c.waiting.PushBack(in)
	}
}

type contextKey struct{}

// Context is http.Server.ConnContext: Hold finds the connection of a request by it.
func (c *Listener) Context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, connectionOf(conn))
}

// Hold keeps a request's connection from being closed for others, until release is called. The
// caller bounds how many requests do so at once. Nothing else keeps a connection: net/http calls
// one active while it waits for the rest of a body that nobody reads, or for a client that reads no
// response (server.go, finishRequest), and one of HTTP/2 while any of its requests is open.
func Hold(r *http.Request) (release func()) {
	in, _ := r.Context().Value(contextKey{}).(*connection)
	in.hold(1)
	return func() { in.hold(-1) }
}

// Begin reports whether there is room for one more request beside probes and metrics. If there is,
// the request's connection is held until end is called.
func (c *Listener) Begin(r *http.Request) (end func(), ok bool) {
	if c.busy.Add(1) > int64(c.most-c.spare) {
		c.busy.Add(-1)
		return nil, false
	}
	release := Hold(r)
	return func() {
		release()
		c.busy.Add(-1)
	}, true
}

// Figures are the open connections, and how many were closed for lack of room.
func (c *Listener) Figures() (open int, closed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open), c.closed
}
