package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
)

// certificate is a key pair of two files, which are read anew for each handshake and parsed when they differ.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu        sync.Mutex
	cert, key []byte
	pair      *tls.Certificate
	problem   string
}

func newCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// read takes in the files, if they are good. The caller holds the lock, if there is anybody else.
func (c *certificate) read() error {
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return fmt.Errorf("TLS certificate %q: %w", c.certFile, cause(err))
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return fmt.Errorf("TLS key %q: %w", c.keyFile, cause(err))
	}
	if c.pair != nil && bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil { // also while one of the files is new and the other is not yet
		return fmt.Errorf("TLS certificate %q with key %q: %w", c.certFile, c.keyFile, err)
	}
	c.cert, c.key, c.pair = cert, key, &pair
	return nil
}

// get is the newest good certificate (rule 4).
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.pair
	text := ""
	if err := c.read(); err != nil {
		text = err.Error()
	}
	if text != "" && text != c.problem {
		c.log.Error("TLS certificate cannot be used; the last good one is being served", "error", text)
	}
	if c.pair != before {
		c.log.Info("TLS certificate has been renewed")
	}
	c.problem = text
	return c.pair, nil
}

// cause is a file's error without its operation and path.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
