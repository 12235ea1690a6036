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
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// authority signs certificates of clients.
type authority struct {
	*testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	a := authority{T: t}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	require.NoError(t, err)
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// client is a certificate for a usage, good until then.
func (a authority) client(usage x509.ExtKeyUsage, until time.Time) tls.Certificate {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "flux"}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(a, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// With --tls-client-ca all but probes and metrics needs a certificate, beside the token;
// authorities come and go while the service runs, and one that has gone does not count on open
// connections either.
func TestClientCertificates(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, caFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	roots := x509.NewCertPool()
	roots.AddCert(certify(t, 1, certFile, keyFile))
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	trust := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(caFile, []byte(text), 0o600))
	}
	trust(ours.pem())
	s := start(t, func(o *server.Options) { o.TLSCert, o.TLSKey, o.TLSClientCA = certFile, keyFile, caFile })
	s.say(fluxFleet(nil))
	later := time.Now().Add(time.Hour)
	as := func(certs ...tls.Certificate) *http.Client {
		return &http.Client{Timeout: patient, Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
			RootCAs: roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(8),
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // whatever the server would accept
				if len(certs) == 0 {
					return &tls.Certificate{}, nil
				}
				return &certs[0], nil
			},
		}}}
	}
	good, none := as(ours.client(x509.ExtKeyUsageClientAuth, later)), as()
	use := func(c *http.Client, f func()) {
		s.client.CloseIdleConnections()
		s.client = c
		f()
	}
	requests := map[string]func() *http.Request{
		"getparams": func() *http.Request {
			return s.request("POST", getparams, `{"input":{"parameters":{"view":"members"}}}`)
		},
		"fleet":       func() *http.Request { return s.request("GET", "/api/v1/fleet", "") },
		"explain":     func() *http.Request { return s.request("GET", "/api/v1/explain?cluster=a&component=addons/dns", "") },
		"flux inputs": func() *http.Request { return s.request("GET", "/api/v1/flux/inputs?view=members", "") },
		"registry":    func() *http.Request { return s.request("GET", "/v2/flux/hub-1/f/manifests/latest", "") },
		"webhook":     func() *http.Request { return s.request("POST", "/api/v1/webhook", "{}") },
		"webhook, signed": func() *http.Request {
			return s.request("POST", "/api/v1/webhook", "{}", "Authorization", "", "X-Hub-Signature-256", signed(secret, "{}"))
		},
	}
	use(none, func() {
		for what, request := range requests {
			if r := s.do(request()); r.code != 403 || !strings.Contains(r.body, "no client certificate: expected one of an authority of --tls-client-ca") {
				t.Errorf("%s without a certificate: %d %s", what, r.code, r.body)
			}
		}
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			if r := s.get(path, "Authorization", ""); r.code != 200 {
				t.Errorf("%s without a certificate: %d", path, r.code)
			}
		}
	})
	use(good, func() {
		for what, request := range requests {
			if r := s.do(request()); r.code != 200 && r.code != 202 {
				t.Errorf("%s with a certificate: %d %s", what, r.code, r.body)
			}
		}
		s.ask(`{"view":"members"}`, "Authorization", "").is(t, 401, "a certificate in place of a token")
	})
	for what, cert := range map[string]tls.Certificate{
		"of another authority": theirs.client(x509.ExtKeyUsageClientAuth, later),
		"of a server":          ours.client(x509.ExtKeyUsageServerAuth, later),
		"that has expired":     ours.client(x509.ExtKeyUsageClientAuth, time.Now().Add(-time.Hour)),
	} {
		c := as(cert)
		if resp, err := c.Do(s.request("GET", "/healthz", "")); err == nil {
			resp.Body.Close()
			t.Errorf("a certificate %s is taken: %s", what, resp.Status)
		}
	}

	// The authority goes while a connection is open.
	use(good, func() {
		s.ask(`{"view":"members"}`).is(t, 200, "before")
		trust(theirs.pem())
		if r := s.ask(`{"view":"members"}`); r.code != 403 || r.message() != "the client certificate is of no authority of --tls-client-ca, or has expired" {
			t.Errorf("on the open connection: %d %s", r.code, r.body)
		}
		good.CloseIdleConnections()
		if resp, err := good.Do(s.request("GET", "/healthz", "")); err == nil { // nor is the session taken up again
			resp.Body.Close()
			t.Errorf("on a new connection: %s", resp.Status)
		}
	})
	use(as(theirs.client(x509.ExtKeyUsageClientAuth, later)), func() {
		s.ask(`{"view":"members"}`).is(t, 200, "the new authority")
		const garbage = "-----BEGIN CERTIFICATE-----\nZ2FyYmFnZQ==\n-----END CERTIFICATE-----\n"
		for what, bad := range map[string]string{
			"empty": "", "no PEM": "x", "one is cut off": ours.pem() + theirs.pem()[:200], "one is no certificate": ours.pem() + garbage,
		} {
			trust(bad)
			s.ask(`{"view":"members"}`).is(t, 200, what)
		}
		trust(theirs.pem() + ours.pem())
	})
	use(good, func() {
		s.ask(`{"view":"members"}`).is(t, 200, "both")
	})
	assert.Contains(t, s.log.String(), "TLS client CA cannot be used; the last good one stays in use", "the log does not tell of a bad file")
}

// certify writes a key pair for 127.0.0.1 and returns the certificate.
func certify(t *testing.T, serial int64, certFile, keyFile string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
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
	s.ask(`{"view":"members"}`).is(t, 200, "")
	serial := func() int64 {
		t.Helper()
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.Addr(), "https://"), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
		require.NoError(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	assert.Equal(t, 1, serial(), "serial")
	assert.Contains(t, s.get("/metrics").body, fmt.Sprintf("argosy_tls_certificate_not_after_timestamp_seconds %g\n", float64(first.NotAfter.Unix())), "metrics lack the certificate's end")
	roots.AddCert(certify(t, 2, certFile, keyFile))
	assert.Equal(t, 2, serial(), "renewed: serial")
	require.NoError(t, os.WriteFile(keyFile, []byte("half a"), 0o600))
	assert.Equal(t, 2, serial(), "a bad key: serial")
	require.NoError(t, os.Remove(certFile))
	assert.Equal(t, 2, serial(), "no certificate: serial")
	old := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(s.Addr(), "https://"), old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
}
