package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/repo"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

const helmCredentials = "Helm's credentials are used: helm repo add NAME URL --username ... --password-stdin"

// fromRepository gets a chart of a Helm repository.
func (c *Charts) fromRepository(ctx context.Context, r source.Reference, s shelf) (*source.Archive, error) {
	at, err := url.Parse(strings.TrimSuffix(r.RepoURL, "/"))
	if err != nil { // its text quotes the URL
		return nil, errors.New("the repository's URL cannot be parsed")
	}
	index, err := c.indexes.get(at.String(), func() (*repo.IndexFile, error) { return c.index(ctx, at) })
	if err != nil {
		return nil, err
	}
	all, ok := index.Entries[r.Name]
	if !ok {
		return nil, &source.Unavailable{Detail: "the repository has no chart of that name", Hint: strings.Join(problem.Nearest(r.Name, slices.Sorted(maps.Keys(index.Entries))), "; ")}
	}
	found, err := highest(all, r.Version)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, noVersion(slices.Clone(all))
	case len(found.URLs) == 0:
		return nil, errors.New("the repository's index has no URL of it")
	}
	version := r.Version // kept as what was asked for: the index may have another spelling (v1.2.3)
	if !exact(version) { // the version that a range comes to may be there
		version = found.Version
		if kept, err := s.find(version); kept != nil || err != nil {
			return kept, err
		}
	}
	data, err := c.download(ctx, at, found.URLs[0], "its archive", maxArchive)
	if err != nil {
		return nil, err
	}
	if want := strings.TrimPrefix(found.Digest, "sha256:"); want != "" && want != digestOf(data) {
		return nil, &source.Unavailable{
			Detail: fmt.Sprintf("its digest is %s; the repository's index has %s", digestOf(data), want),
			Hint:   "it is not what has been released, or the index is out of date: nothing of it is used",
		}
	}
	return s.keep(version, data)
}

// index is a repository's index.yaml, as Helm reads it: from a file.
func (c *Charts) index(ctx context.Context, of *url.URL) (*repo.IndexFile, error) {
	data, err := c.download(ctx, of, "index.yaml", "the repository's index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "argosy-index-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	index, err := repo.LoadIndexFile(file.Name())
	if err != nil {
		return nil, errors.New("the repository's index.yaml cannot be read: it is not an index of charts")
	}
	return index, nil
}

// download reads what is at a URL, which may be relative to the repository's, up to a limit. The
// repository's credentials and certificates are for its own host, unless Helm is set otherwise.
func (c *Charts) download(ctx context.Context, of *url.URL, ref, what string, limit int64) ([]byte, error) {
	absolute, err := repo.ResolveReferenceURL(of.String(), ref)
	if err != nil { // its text quotes the URL
		return nil, errors.New("the repository's index has a URL that cannot be parsed")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, absolute, nil)
	if err != nil {
		return nil, errors.New("the repository's index has a URL that cannot be parsed")
	}
	login := c.login(of)
	own, err := c.transportOf(login)
	if err != nil {
		return nil, err
	}
	req.URL.User = nil
	req.Header.Set("User-Agent", "argosy")
	if login.Username+login.Password != "" && (login.PassCredentialsAll || sameHost(req.URL, of)) {
		req.SetBasicAuth(login.Username, login.Password)
	}
	resp, err := c.client(&bounded{of: of, own: own, what: what, limit: limit}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return io.ReadAll(resp.Body)
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, &source.Unavailable{
			Detail: fmt.Sprintf("%s: the server answers %s", what, resp.Status),
			Hint:   helmCredentials,
		}
	}
	return nil, fmt.Errorf("%s: the server answers %s", what, resp.Status)
}
