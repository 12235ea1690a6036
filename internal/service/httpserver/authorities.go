package httpserver

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"

	"github.com/argosy-hub/argosy/internal/base/disk"
)

// Authorities are the issuers of the certificates that clients must present.
type Authorities struct{ file *disk.File[*x509.CertPool] }

// OpenAuthorities reads a PEM file of authorities, which must be valid. It calls rotated, unless
// nil, when the file has other authorities.
func OpenAuthorities(path string, log *slog.Logger, rotated func(kind string)) (*Authorities, error) {
	source := disk.Source{Kind: "TLS client CA", Path: path, Limit: maxFile}
	f, err := disk.Open(disk.Options[*x509.CertPool]{
		Sources: []disk.Source{source},
		Parse: func(contents [][]byte) (*x509.CertPool, error) {
			pool, err := authorities(contents[0])
			if err != nil {
				return nil, source.Error(err)
			}
			return pool, nil
		},
		Log: log, Changed: rotated,
	})
	if err != nil {
		return nil, err
	}
	return &Authorities{f}, nil
}

// authorities returns all certificates of a PEM file. One that cannot be read is an error, as its
// clients would be refused: pem and x509.CertPool.AppendCertsFromPEM skip it.
func authorities(file []byte) (*x509.CertPool, error) {
	pool, good := x509.NewCertPool(), 0
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			pool.AddCert(c)
			good++
		}
	}
	switch begun := bytes.Count(file, []byte("-----BEGIN CERTIFICATE-----")); {
	case good == 0:
		return nil, errors.New("it has no PEM certificate")
	case good < begun:
		return nil, fmt.Errorf("%d of its %d certificates cannot be read", begun-good, begun)
	}
	return pool, nil
}

// configure requests certificates of clients. A handshake succeeds without one, as the kubelet has
// none. Sessions are not resumed, so that a removed authority no longer counts.
func (a *Authorities) configure(config *tls.Config) {
	config.ClientAuth = tls.VerifyClientCertIfGiven
	config.SessionTicketsDisabled = true
	config.ClientCAs, _ = a.file.Last()
	base := config.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := base.Clone()
		now.ClientCAs = a.file.Current()
		return now, nil
	}
}

// Verify fails unless the client has presented a certificate of an authority that is in the file
// now. The state is nil without TLS.
func (a *Authorities) Verify(state *tls.ConnectionState) error {
	if state == nil || len(state.PeerCertificates) == 0 {
		return errors.New("no client certificate: expected one of an authority of --tls-client-ca")
	}
	intermediates := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: a.file.Current(), Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return errors.New("the client certificate is of no authority of --tls-client-ca, or has expired")
	}
	return nil
}
