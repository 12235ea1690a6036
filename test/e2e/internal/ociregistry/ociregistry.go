// Package ociregistry serves an OCI registry on this machine, in memory. It speaks HTTPS as a
// forge's does, and on the same port HTTP: Helm before 3.18 takes that for what is on localhost.
package ociregistry

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// tlsRecord is the first byte of a TLS handshake, and of no request by HTTP.
const tlsRecord = 0x16

var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)

// Start serves an empty registry on a free port until the context ends, with a certificate of
// localhost. Host is its name in references.
func Start(ctx context.Context, certificate, key string) (host string, err error) {
	return serve(ctx, registry.New(registry.Logger(quiet)), certificate, key)
}

func serve(ctx context.Context, handler http.Handler, certificate, key string) (host string, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("oci registry: %w", err)
	}
	server := &http.Server{Handler: handler, ErrorLog: quiet, ReadHeaderTimeout: 30 * time.Second, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true) // by HTTP/2, uploads of layers wait for each other for ever
	secure, plain := newPart(listener), newPart(listener)
	go func() { _ = server.ServeTLS(secure, certificate, key) }() // both end with the context
	go func() { _ = server.Serve(plain) }()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go divide(ctx, c, secure, plain)
		}
	}()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return "localhost:" + port, err
}

// part is a listener for some of the connections of another one.
type part struct {
	net.Listener

	connections chan net.Conn
	closed      context.Context //nolint:containedctx // the end of the listener
	end         context.CancelFunc
}

func newPart(l net.Listener) part {
	p := part{Listener: l, connections: make(chan net.Conn)}
	p.closed, p.end = context.WithCancel(context.Background())
	return p
}

// Accept implements net.Listener.
func (p part) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p part) Close() error {
	p.end()
	return p.Listener.Close()
}

// peeked is a connection whose first byte has been looked at.
type peeked struct {
	net.Conn

	r *bufio.Reader
}

// Read implements net.Conn.
func (p peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// divide hands a connection to the part that speaks its protocol.
func divide(ctx context.Context, c net.Conn, secure, plain part) {
	p := peeked{c, bufio.NewReader(c)}
	first, err := p.r.Peek(1)
	if err != nil {
		_ = c.Close()
		return
	}
	to := plain
	if first[0] == tlsRecord {
		to = secure
	}
	select {
	case to.connections <- p:
	case <-ctx.Done():
		_ = c.Close()
	}
}
