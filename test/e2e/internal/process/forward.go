package process

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

const (
	dialTimeout  = 10 * time.Second
	drainTimeout = 5 * time.Second
)

// target connects to where connections are carried.
type target func(ctx context.Context) (net.Conn, error)

// outside is a port of this machine's 127.0.0.1.
func outside(port int) target {
	return func(ctx context.Context) (net.Conn, error) {
		dialer := net.Dialer{Timeout: dialTimeout}
		return dialer.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
}

// forwarder carries connections from listeners to targets, however long they last.
type forwarder struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	conns     map[net.Conn]struct{}
}

func newForwarder() *forwarder {
	f := &forwarder{conns: map[net.Conn]struct{}{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// serve accepts connections until the listener is closed.
func (f *forwarder) serve(l net.Listener, to target) {
	f.mu.Lock()
	f.listeners = append(f.listeners, l)
	f.mu.Unlock()
	go func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // too many open files: those that are there go on, and some will end
				select {
				case <-f.ctx.Done():
					return
				case <-time.After(100 * time.Millisecond):
					continue
				}
			}
			go f.carry(conn, to)
		}
	}()
}

func (f *forwarder) carry(from net.Conn, dial target) {
	if !f.keep(from) {
		return
	}
	defer f.drop(from)
	to, err := dial(f.ctx)
	if err != nil {
		reset(from) // as if refused
		return
	}
	if !f.keep(to) {
		return
	}
	defer f.drop(to)

	var both sync.WaitGroup
	both.Go(func() { oneWay(to, from) })
	both.Go(func() { oneWay(from, to) })
	both.Wait()
}

// oneWay passes the end of a stream on as its end, and a failure as a failure.
func oneWay(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if err == nil {
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			err = half.CloseWrite()
		}
	}
	if err != nil {
		reset(to)
		reset(from)
	}
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

func (f *forwarder) keep(conn net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		conn.Close()
		return false
	}
	f.conns[conn] = struct{}{}
	return true
}

func (f *forwarder) drop(conn net.Conn) {
	conn.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, conn)
}

// close accepts no more. Connections end as the kernel closes the ended process's sockets, and what
// it wrote last arrives; those of which the other side holds on are reset after a while.
func (f *forwarder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	closeAll(f.listeners)
	time.AfterFunc(drainTimeout, f.reset)
}

func (f *forwarder) reset() {
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for conn := range f.conns {
		reset(conn)
	}
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close()
	}
}
