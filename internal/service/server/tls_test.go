package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/service/server"
)

// certify writes a key pair for 127.0.0.1 and returns the certificate.
func certify(t *testing.T, serial int64, certFile, keyFile string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestTLSWithARenewedCertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	roots := x509.NewCertPool()
	first := certify(t, 1, certFile, keyFile)
	roots.AddCert(first)
	s := start(t, func(o *server.Options) { o.TLSCert, o.TLSKey = certFile, keyFile })
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	s.client = &http.Client{Transport: transport, Timeout: patient}
	s.say(repository(nil))
	if !strings.HasPrefix(s.Addr(), "https://127.0.0.1:") {
		t.Errorf("address %s", s.Addr())
	}
	if r := s.ask(`{"view":"members"}`); r.code != 200 {
		t.Errorf("%d %s", r.code, r.body)
	}
	serial := func() int64 {
		t.Helper()
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.Addr(), "https://"), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("serial %d", n)
	}
	if m := s.get("/metrics").body; !strings.Contains(m, fmt.Sprintf("argosy_tls_certificate_not_after_timestamp_seconds %g\n", float64(first.NotAfter.Unix()))) {
		t.Error("metrics lack the certificate's end")
	}
	roots.AddCert(certify(t, 2, certFile, keyFile))
	if n := serial(); n != 2 {
		t.Errorf("renewed: serial %d", n)
	}
	if err := os.WriteFile(keyFile, []byte("half a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := serial(); n != 2 {
		t.Errorf("a bad key: serial %d", n)
	}
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	if n := serial(); n != 2 {
		t.Errorf("no certificate: serial %d", n)
	}
	old := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(s.Addr(), "https://"), old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
}
