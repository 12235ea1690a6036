// Package githubapp gets tokens with which an installation of a GitHub App reads a repository.
//
//	app := githubapp.New("/etc/git-credentials", "github.com")
//	err := app.Renew(ctx)
//	token := app.Token() // the password of the user x-access-token
package githubapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
)

// The files of a GitHub App in a credentials folder have the names of keys in Argo CD's repository
// Secrets. So one Secret serves both. The last file is optional.
const (
	IDFile           = "githubAppID"
	InstallationFile = "githubAppInstallationID"
	KeyFile          = "githubAppPrivateKey"
	URLFile          = "githubAppEnterpriseBaseUrl"
)

// User is the user name that GitHub expects with a token.
const User = "x-access-token"

// timeout bounds a request for a token.
const timeout = 15 * time.Second

// App gets the tokens of an installation. A token lasts for an hour. Renew requests a new one a
// minute before the last one expires, or after Forget.
type App struct {
	dir, host string
	files     [4]string // contents that transport was made from
	transport *ghinstallation.Transport
	token     string
}

// New makes an App from the files in a folder, for repositories of a host.
func New(dir, host string) *App { return &App{dir: dir, host: host} }

// Token returns the token of the last Renew, "" for none.
func (a *App) Token() string { return a.token }

// Forget makes the next Renew request another token: GitHub may have revoked this one.
func (a *App) Forget() { a.transport = nil }

// Renew gets a token that lasts for a poll. The files may have changed since the last call.
func (a *App) Renew(ctx context.Context) error {
	var files [4]string
	for i, name := range []string{IDFile, InstallationFile, KeyFile, URLFile} {
		data, err := os.ReadFile(filepath.Join(a.dir, name))
		if err != nil && (name != URLFile || !errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("the file %s cannot be read", name)
		}
		files[i] = strings.TrimSpace(string(data))
	}
	if a.transport == nil || files != a.files {
		transport, err := newTransport(files, a.host)
		if err != nil {
			return err
		}
		a.files, a.transport = files, transport
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	token, err := a.transport.Token(ctx)
	if err != nil {
		return tokenError(err)
	}
	a.token = token
	return nil
}

func newTransport(files [4]string, host string) (*ghinstallation.Transport, error) {
	var numbers [2]int64
	for i, name := range []string{IDFile, InstallationFile} {
		n, err := strconv.ParseInt(files[i], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the file %s has no number", name)
		}
		numbers[i] = n
	}
	base := cmp.Or(files[3], apiOf(host))
	if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "https" && u.Hostname() != "127.0.0.1" {
		return nil, fmt.Errorf("the file %s has no https URL", URLFile)
	}
	transport, err := ghinstallation.New(bounded{http.DefaultTransport}, numbers[0], numbers[1], []byte(files[2]))
	if err != nil {
		return nil, fmt.Errorf("the file %s has no private key (PEM, RSA)", KeyFile)
	}
	transport.BaseURL = base
	return transport, nil
}

// maxResponse bounds a response of GitHub's API, in bytes. One with a token has a few thousand.
const maxResponse = 1 << 20

// bounded reads at most maxResponse bytes of each response.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxResponse)
	}
	return response, err
}

// apiOf returns the address of GitHub's API for the repositories of a host. (docs.github.com,
// "Getting started with the REST API" of GitHub.com and of GitHub Enterprise Server)
func apiOf(host string) string {
	switch {
	case host == "github.com":
		return "https://api.github.com"
	case strings.HasSuffix(host, ".ghe.com"):
		return "https://api." + host
	}
	return "https://" + host + "/api/v3"
}

// tokenError returns why there is no token, without the request's text.
func tokenError(err error) error {
	var refused *ghinstallation.HTTPError
	if errors.As(err, &refused) && refused.Response != nil {
		_ = refused.Response.Body.Close()
		return fmt.Errorf("GitHub gives the App no token: %s for installation %d", refused.Response.Status, refused.InstallationID)
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return fmt.Errorf("GitHub's API sends more than %d bytes for a token", large.Limit)
	}
	return errors.New("GitHub's API cannot be reached for a token")
}
