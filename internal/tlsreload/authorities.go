package server

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
)

// clientAuthorities are whose certificates clients have to present. The file is read anew for each handshake and each
// request and parsed when it differs, so that a client whose authority has been taken out is refused on an open
// connection too.
type clientAuthorities struct {
	file string
	log  *slog.Logger

	mu      sync.Mutex
	text    []byte
	pool    *x509.CertPool
	problem string
}

func newClientAuthorities(file string, log *slog.Logger) (*clientAuthorities, error) {
	c := &clientAuthorities{file: file, log: log}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// read takes in the file, if it is good. The caller holds the lock, if there is anybody else.
func (c *clientAuthorities) read() error {
	text, err := os.ReadFile(c.file)
	switch {
	case err != nil:
		return fmt.Errorf("TLS client CA %q: %w", c.file, cause(err))
	case c.pool != nil && bytes.Equal(text, c.text):
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return fmt.Errorf("TLS client CA %q: it has no PEM certificate", c.file)
	}
	c.text, c.pool = text, pool
	return nil
}

// current are the newest good ones (rule 4).
func (c *clientAuthorities) current() *x509.CertPool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.pool
	text := ""
	if err := c.read(); err != nil {
		text = err.Error()
	}
	if text != "" && text != c.problem {
		c.log.Error("TLS client CA cannot be used; the last good one counts", "error", text)
	}
	if c.pool != before {
		c.log.Info("TLS client CA has been read again")
	}
	c.problem = text
	return c.pool
}

// configure asks clients for certificates. A handshake goes on without one: probes and metrics need none, and the kubelet
// has none. What is presented has to be good. A session is not taken up again: its certificate would not be looked at.
func (c *clientAuthorities) configure(config *tls.Config) {
	config.ClientAuth = tls.VerifyClientCertIfGiven
	config.SessionTicketsDisabled = true
	config.ClientCAs = c.pool
	base := config.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := base.Clone()
		now.ClientCAs = c.current()
		return now, nil
	}
}

// certified is nil if the request came with a certificate of one of the authorities that are there now, or needs none.
func (s *Server) certified(r *http.Request) *failure {
	if s.clients == nil {
		return nil
	}
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return forbidden("no client certificate: expected one of an authority of --tls-client-ca")
	}
	between := x509.NewCertPool()
	for _, c := range r.TLS.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := r.TLS.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: s.clients.current(), Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return forbidden("the client certificate is of no authority of --tls-client-ca, or has expired")
	}
	return nil
}
