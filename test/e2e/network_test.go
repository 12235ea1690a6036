package e2e

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
)

const networksDocument = "docs/how-to/private-networks.md"

// network follows the document: with its values, the service reads the fleet repository over HTTPS
// with a certificate of a private CA, by a name that the proxy alone knows.
func network(t *testing.T, o *operated) {
	forge, authority := privateForge(t, o)
	proxy := newProxy(t, forge)
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "fleet-ca"}, "data": map[string]any{"ca.crt": string(authority)},
	})
	must(t, err)
	must(t, o.cluster.Client.Apply(t.Context(), argocd.Namespace, text))

	private := *o
	private.dir = t.TempDir()
	values := map[string]any{"source": map[string]any{"git": map[string]any{"url": "https://example.com/fleet"}}}
	for _, section := range []string{"private CA", "proxy"} {
		values = merged(values, documentedService(t, o.checkout, section))
	}
	values = merged(values, map[string]any{"hub": "hub", "facts": map[string]any{"from": "none"}, "token": map[string]any{"existingSecret": "generator-plugin-token"}})
	text, err = yaml.Marshal(values)
	must(t, err)
	private.install(t, strings.ReplaceAll(string(text), "http://proxy.example.com:3128", proxy.url))
	p := private.replica(t, "private", o.build()) // until it is ready
	must(t, p.Process.Stop())
	if connected := proxy.connected(); !slices.Contains(connected, "example.com:443") {
		t.Errorf("the proxy connected %v; expected the fleet repository", connected)
	}
	o.install(t, o.values())
}

// documentedService are the values of the service in a block of the document.
func documentedService(t *testing.T, checkout, section string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(checkout, networksDocument))
	must(t, err)
	_, block, found := strings.Cut(string(text), "```yaml\n# "+section+"\n")
	if !found {
		t.Fatalf("%s has no block %q", networksDocument, section)
	}
	block, _, _ = strings.Cut(block, "```")
	var values struct{ Service map[string]any }
	must(t, yaml.Unmarshal([]byte(block), &values))
	return values.Service
}

// merged are two maps as one; lists are joined, as the document says.
func merged(a, b map[string]any) map[string]any {
	for key, value := range b {
		switch v := value.(type) {
		case map[string]any:
			if under, is := a[key].(map[string]any); is {
				value = merged(under, v)
			}
		case []any:
			if under, is := a[key].([]any); is {
				value = append(slices.Clone(under), v...)
			}
		}
		a[key] = value
	}
	return a
}

// privateForge serves the Git server by HTTPS as example.com, with a certificate of its authority.
func privateForge(t *testing.T, o *operated) (address string, authority []byte) {
	t.Helper()
	git, err := url.Parse(o.git.URL("fleet"))
	must(t, err)
	forge := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = git.Scheme, git.Host
		r.Out.URL.Path = strings.Replace(r.In.URL.Path, "/fleet", git.Path, 1)
	}})
	forge.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	forge.StartTLS()
	t.Cleanup(forge.Close)
	// The certificate that net/http/httptest has is its own authority, for example.com.
	return forge.Listener.Addr().String(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: forge.Certificate().Raw})
}

// connectProxy leads every CONNECT to one address.
type connectProxy struct {
	url, to string

	mu   sync.Mutex
	seen []string
}

func newProxy(t *testing.T, to string) *connectProxy {
	t.Helper()
	p := &connectProxy{to: to}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *connectProxy) connected() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "expected CONNECT", http.StatusMethodNotAllowed)
		return
	}
	p.mu.Lock()
	p.seen = append(p.seen, r.Host)
	p.mu.Unlock()
	var dialer net.Dialer
	there, err := dialer.DialContext(r.Context(), "tcp", p.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = there.Close()
		return
	}
	go func() {
		defer func() { _ = there.Close() }()
		_, _ = io.Copy(there, here)
	}()
	defer func() { _ = here.Close() }()
	_, _ = io.Copy(here, there)
}
