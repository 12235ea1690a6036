package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/helmpath"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"sigs.k8s.io/yaml"
)

// logins are the credentials that Helm has (rule 6).
type logins struct {
	repositories []*login
	registry     auth.CredentialFunc
}

// login is a repository of Helm's repositories.yaml.
type login struct {
	URL      string `json:"url"`
	Username string `json:"username"`
	Password string `json:"password"`
	CertFile string `json:"certFile"`
	KeyFile  string `json:"keyFile"`
	CAFile   string `json:"caFile"`
	Insecure bool   `json:"insecure_skip_tls_verify"`
	PassAll  bool   `json:"pass_credentials_all"`

	once   sync.Once
	own    http.RoundTripper
	failed error
}

// readLogins reads the files that Helm and Docker keep; none of them has to be there.
func readLogins(o Options) (logins, error) {
	var out logins
	path := cmp.Or(o.Repositories, os.Getenv("HELM_REPOSITORY_CONFIG"), helmpath.ConfigPath("repositories.yaml"))
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("repositories of Helm: %w", err)
	}
	var file struct {
		Repositories []*login `json:"repositories"`
	}
	if yaml.Unmarshal(data, &file) != nil { // its text may quote what is in the file
		return out, fmt.Errorf("repositories of Helm: %s cannot be read", path)
	}
	out.repositories = file.Repositories
	helm, err := credentials.NewStore(cmp.Or(o.Registry, os.Getenv("HELM_REGISTRY_CONFIG"), helmpath.ConfigPath("registry", "config.json")), credentials.StoreOptions{})
	if err != nil {
		return out, errors.New("credentials of Helm for registries cannot be read")
	}
	docker, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if o.Docker != "" {
		docker, err = credentials.NewStore(o.Docker, credentials.StoreOptions{})
	}
	if err != nil {
		return out, errors.New("credentials of Docker cannot be read")
	}
	find := credentials.Credential(credentials.NewStoreWithFallbacks(helm, docker))
	out.registry = func(ctx context.Context, host string) (auth.Credential, error) {
		c, err := find(ctx, host)
		if err != nil { // its text is a helper's
			return auth.EmptyCredential, fmt.Errorf("credentials for %s cannot be had", host)
		}
		return c, nil
	}
	return out, nil
}

// of is what is known of a repository, which may be nothing. Credentials of the URL itself come
// first.
func (l logins) of(u *url.URL) *login {
	bare := *u
	bare.User = nil
	for _, has := range l.repositories {
		if has != nil && strings.TrimSuffix(has.URL, "/") == bare.String() {
			return has
		}
	}
	return &login{}
}

// authorize gives credentials to a request to the repository's own host, or wherever the user said
// that they go, unless a server redirected there.
func (l *login) authorize(req *http.Request, of *url.URL, redirected bool) {
	username, password := l.Username, l.Password
	if of.User != nil {
		username = of.User.Username()
		password, _ = of.User.Password()
	}
	if username+password != "" && (l.PassAll && !redirected || sameHost(req.URL, of)) {
		req.SetBasicAuth(username, password)
	}
}

func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// transport has the repository's certificates.
func (l *login) transport(c *Charts) (http.RoundTripper, error) {
	l.once.Do(func() {
		l.own = c.plain
		if l.CertFile+l.KeyFile+l.CAFile != "" || l.Insecure {
			var config *tls.Config
			if config, l.failed = l.tls(); l.failed == nil {
				l.own = c.transport(config)
			}
		}
	})
	return l.own, l.failed
}

func (l *login) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: l.Insecure} //nolint:gosec // as the user set it for Helm
	if l.CertFile != "" || l.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(l.CertFile, l.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("the certificate that Helm has for the repository: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if l.CAFile != "" {
		data, err := os.ReadFile(l.CAFile)
		if err != nil {
			return nil, fmt.Errorf("the authority that Helm has for the repository: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("the authority that Helm has for the repository: %s has no certificate", l.CAFile)
		}
	}
	return config, nil
}
