package httpserver

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"github.com/argosy-hub/argosy/internal/base/disk"
)

// maxFile bounds each PEM file.
const maxFile = 1 << 20

// TLSOptions name the PEM files of a certificate and of client authorities. Cert and Key are
// required.
type TLSOptions struct {
	Cert, Key string
	// Clients are the authorities of clients' certificates. By default, clients need no
	// certificate.
	Clients *Authorities
	Log     *slog.Logger
	// Rotated, if set, is called when the files have another certificate.
	Rotated func(kind string)
}

// TLS returns a server's configuration, which reads the files again as they change. They must be
// valid: a later invalid file leaves the last valid one in use.
func TLS(o TLSOptions) (*tls.Config, error) {
	pair, err := disk.Open(disk.Options[*tls.Certificate]{
		Sources: []disk.Source{{Kind: "TLS certificate", Path: o.Cert, Limit: maxFile}, {Kind: "TLS key", Path: o.Key, Limit: maxFile}},
		Parse: func(contents [][]byte) (*tls.Certificate, error) {
			c, err := tls.X509KeyPair(contents[0], contents[1])
			if err != nil { // also while only one of the files is new
				return nil, fmt.Errorf("TLS certificate %q with key %q: %w", o.Cert, o.Key, err)
			}
			return &c, nil
		},
		Log: o.Log, Changed: o.Rotated,
	})
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Current(), nil },
	}
	if o.Clients != nil {
		o.Clients.configure(config)
	}
	return config, nil
}
