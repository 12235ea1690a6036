package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/service/server"
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		a.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "flux"}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.Fatal(err)
	}
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
		if err := os.WriteFile(caFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
		if r := s.ask(`{"view":"members"}`, "Authorization", ""); r.code != 401 {
			t.Errorf("a certificate in place of a token: %d %s", r.code, r.body)
		}
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
		if r := s.ask(`{"view":"members"}`); r.code != 200 {
			t.Errorf("before: %d %s", r.code, r.body)
		}
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
		if r := s.ask(`{"view":"members"}`); r.code != 200 {
			t.Errorf("the new authority: %d %s", r.code, r.body)
		}
		const garbage = "-----BEGIN CERTIFICATE-----\nZ2FyYmFnZQ==\n-----END CERTIFICATE-----\n"
		for what, bad := range map[string]string{
			"empty": "", "no PEM": "x", "one is cut off": ours.pem() + theirs.pem()[:200], "one is no certificate": ours.pem() + garbage,
		} {
			trust(bad)
			if r := s.ask(`{"view":"members"}`); r.code != 200 {
				t.Errorf("%s: %d %s", what, r.code, r.body)
			}
		}
		trust(theirs.pem() + ours.pem())
	})
	use(good, func() {
		if r := s.ask(`{"view":"members"}`); r.code != 200 {
			t.Errorf("both: %d %s", r.code, r.body)
		}
	})
	if !strings.Contains(s.log.String(), "TLS client CA cannot be used; the last good one stays in use") {
		t.Error("the log does not tell of a bad file")
	}
}
