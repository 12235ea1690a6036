package connlimit_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/connlimit"
)

// pipes are a listener in memory. Nothing is buffered: who writes waits for who reads.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, open := <-p; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	if err := ours.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	p <- theirs
	return ours
}

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// ask sends a request and reads the response.
func ask(conn net.Conn) error {
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

const most = 4

// serve serves with a bound of most connections.
func serve(t *testing.T, handler func(*connlimit.Listener, *http.Request)) pipes {
	t.Helper()
	p := make(pipes)
	l := connlimit.New(most).On(p)
	s := &http.Server{
		Handler:           http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { handler(l, r) }),
		ReadHeaderTimeout: time.Minute, ConnState: l.Changed, ConnContext: l.Context,
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		close(p)
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		_ = s.Close()
	})
	return p
}

// Rule 13: clients that read no response make room for others, and a request that Begin has
// admitted stays. (H10)
func TestUnreadResponsesMakeRoom(t *testing.T) {
	handled, finish := make(chan struct{}), make(chan struct{})
	isFirst := true
	p := serve(t, func(l *connlimit.Listener, r *http.Request) {
		if isFirst {
			isFirst = false
			end, ok := l.Begin(r)
			if !ok {
				t.Error("there is no room")
				return
			}
			handled <- struct{}{}
			<-finish
			end()
			return
		}
		handled <- struct{}{}
	})
	admitted := make(chan error, 1)
	first := p.dial(t)
	go func() { admitted <- ask(first) }()
	<-handled
	var blocked []net.Conn
	for range most - 1 {
		conn := p.dial(t)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		<-handled
		blocked = append(blocked, conn)
	}
	for range 2 * most {
		conn, asked := p.dial(t), make(chan error, 1)
		go func() { asked <- ask(conn) }()
		<-handled
		if err := <-asked; err != nil {
			t.Fatal("one that comes later:", err)
		}
	}
	for i, conn := range blocked {
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%d: %v", i, err)
		}
	}
	close(finish)
	if err := <-admitted; err != nil {
		t.Error("the one that was admitted:", err)
	}
}

// A connection whose client has just asked waits behind all others.
func TestTheOneThatWaitsLongestGoes(t *testing.T) {
	p := serve(t, func(*connlimit.Listener, *http.Request) {})
	all := make([]net.Conn, most)
	for i := range all {
		if all[i] = p.dial(t); i > 0 {
			if err := ask(all[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := ask(all[0]); err != nil { // the oldest, which has just asked
		t.Fatal(err)
	}
	if err := ask(p.dial(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := all[1].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the one that has waited longest: %v", err)
	}
	if err := ask(all[0]); err != nil {
		t.Error("the one that has just asked:", err)
	}
}

// What is not of this package's is served without a bound.
func TestOtherConnectionsAreLeftAlone(t *testing.T) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	connlimit.Hold(r)()
}
