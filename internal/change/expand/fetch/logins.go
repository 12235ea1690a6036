package fetch

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/helmpath"
	"helm.sh/helm/v3/pkg/repo"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// logins are the credentials that Helm has (rule 5).
type logins struct {
	repositories []*repo.Entry
	registry     auth.CredentialFunc
}

// readLogins reads the files that Helm and Docker keep; none of them has to be there.
func readLogins(o Options) (out logins, err error) {
	path := cmp.Or(o.Repositories, os.Getenv("HELM_REPOSITORY_CONFIG"), helmpath.ConfigPath("repositories.yaml"))
	file, err := repo.LoadFile(path)
	var unreadable *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &unreadable):
		return out, fmt.Errorf("repositories of Helm: %w", unreadable)
	case err != nil: // its text may quote what is in the file
		return out, fmt.Errorf("repositories of Helm: %s cannot be read", path)
	default:
		out.repositories = file.Repositories
	}
	out.registry, err = registryLogins()
	return out, err
}

// login is what Helm knows of a repository, which may be nothing. Credentials of the URL itself
// come first.
func (c *Charts) login(of *url.URL) (out repo.Entry) {
	bare := *of
	bare.User = nil
	for _, has := range c.logins.repositories {
		if has != nil && strings.TrimSuffix(has.URL, "/") == bare.String() {
			out = *has
			break
		}
	}
	if of.User != nil {
		out.Username = of.User.Username()
		out.Password, _ = of.User.Password()
	}
	return out
}

func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// transportOf has the repository's certificates.
func (c *Charts) transportOf(l repo.Entry) (http.RoundTripper, error) {
	if l.CertFile+l.KeyFile+l.CAFile == "" && !l.InsecureSkipTLSverify {
		return c.plain, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: l.InsecureSkipTLSverify} //nolint:gosec // as the user set it for Helm
	if l.CertFile+l.KeyFile != "" {
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
	return c.transport(config), nil
}
