package ociregistry

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// ECRHost is the registry's name in references, ecrAPI that of the API in its region.
const (
	ECRHost = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
	ecrAPI  = "api.ecr.eu-west-1.amazonaws.com"
)

// getToken is the action of ECR's API that External Secrets' generator calls
// (docs.aws.amazon.com/AmazonECR/latest/APIReference/API_GetAuthorizationToken.html).
const getToken = "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"

// user is the one that ECR's tokens are of.
const user = "AWS"

// ECR stands in for Amazon ECR: a registry that nobody reads without a token, and the API that
// gives the token to whom signs the request. Both are behind a proxy, by their own names.
type ECR struct {
	// Env has a process find both, trust their certificate, and have an identity in AWS.
	Env []string

	transport *http.Transport

	mu      sync.Mutex
	token   int // the number of the one that is valid
	refused int
}

// StartECR serves both until the context ends. The certificate is written into a folder.
func StartECR(ctx context.Context, dir string) (*ECR, error) {
	e := &ECR{}
	certificate, key, err := selfSigned(dir, ECRHost, ecrAPI)
	if err != nil {
		return nil, err
	}
	handler := http.NewServeMux()
	handler.HandleFunc(ecrAPI+"/", e.give)
	handler.Handle("/", e.guard(registry.New(registry.Logger(quiet))))
	host, err := serve(ctx, handler, certificate, key)
	if err != nil {
		return nil, err
	}
	proxy, err := tunnel(ctx, host)
	if err != nil {
		return nil, err
	}
	e.Env = []string{
		"HTTPS_PROXY=" + proxy.String(), "SSL_CERT_FILE=" + certificate,
		"AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY=of the tests", // as a pod identity brings them
	}
	authority, err := os.ReadFile(certificate)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	e.transport = &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}
	return e, nil
}

// tunnel serves a proxy for HTTPS that leads every name to one server.
func tunnel(ctx context.Context, to string) (*url.URL, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy of ECR: %w", err)
	}
	server := &http.Server{ErrorLog: quiet, ReadHeaderTimeout: 30 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "expected CONNECT", http.StatusMethodNotAllowed)
			return
		}
		if host := r.URL.Hostname(); host != ECRHost && host != ecrAPI {
			http.Error(w, host+" cannot be reached here", http.StatusBadGateway)
			return
		}
		server, err := new(net.Dialer).DialContext(ctx, "tcp", to)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer server.Close()
		w.WriteHeader(http.StatusOK)
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer client.Close()
		go func() { _, _ = io.Copy(server, client) }()
		_, _ = io.Copy(client, server)
	})}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}, nil
}

// selfSigned writes a certificate of names, which is its own authority, and its key.
func selfSigned(dir string, names ...string) (certificate, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return "", "", err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	certificate, key = filepath.Join(dir, "ecr.crt"), filepath.Join(dir, "ecr.key")
	return certificate, key, errors.Join(
		os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600),
	)
}

// Expire ends the token that was given, as its 12 hours do.
func (e *ECR) Expire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.token++
}

// Refused is how many requests came with a token that had expired.
func (e *ECR) Refused() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.refused
}

// Push writes a chart's archive into the registry, as `helm push` does.
func (e *ECR) Push(ctx context.Context, chart, version string, archive []byte) error {
	tag, err := name.NewTag(ECRHost + "/" + chart + ":" + version)
	if err != nil {
		return err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), "application/vnd.cncf.helm.config.v1+json")
	image, err = mutate.AppendLayers(image, static.NewLayer(archive, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"))
	if err != nil {
		return err
	}
	err = remote.Write(tag, image, remote.WithContext(ctx), remote.WithTransport(e.transport), remote.WithAuth(&authn.Basic{Username: user, Password: e.password()}))
	if err != nil {
		return fmt.Errorf("push chart %s %s: %w", chart, version, err)
	}
	return nil
}

func (e *ECR) password() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprintf("token-%d", e.token)
}

// guard lets requests with the valid token through.
func (e *ECR) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name == user && password == e.password() {
			next.ServeHTTP(w, r)
			return
		}
		if r.Header.Get("Authorization") != "" {
			e.mu.Lock()
			e.refused++
			e.mu.Unlock()
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="`+ECRHost+`",service="ecr.amazonaws.com"`)
		http.Error(w, "your authorization token has expired", http.StatusUnauthorized)
	})
}

// give answers the API.
func (e *ECR) give(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Amz-Target") != getToken || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
		http.Error(w, "expected a signed "+getToken, http.StatusBadRequest)
		return
	}
	var out bytes.Buffer
	err := json.NewEncoder(&out).Encode(map[string]any{"authorizationData": []any{map[string]any{
		"authorizationToken": base64.StdEncoding.EncodeToString([]byte(user + ":" + e.password())),
		"expiresAt":          time.Now().Add(12 * time.Hour).Unix(), "proxyEndpoint": "https://" + ECRHost,
	}}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, _ = w.Write(out.Bytes())
}
