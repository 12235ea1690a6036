package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// repository is a Helm repository.
type repository struct{ url *url.URL }

// index is what is needed of an index.yaml: the versions of each chart.
type index map[string][]release

type release struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"`
}

func (p repository) get(ctx context.Context, c *Charts, r source.Reference, s shelf) (*kept, error) {
	all, err := once(c, c.indexes, p.url.String(), func() (index, error) { return p.index(ctx, c) })
	if err != nil {
		return nil, err
	}
	releases, ok := all[r.Name]
	if !ok {
		return nil, &source.Unavailable{Detail: "the repository has no chart of that name", Hint: strings.Join(problem.Nearest(r.Name, slices.Sorted(maps.Keys(all))), "; ")}
	}
	versions := make([]string, len(releases))
	for i, x := range releases {
		versions[i] = x.Version
	}
	i, err := highest(versions, r.Version)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, noVersion(versions)
	}
	found := releases[i]
	if !exact(r.Version) { // the version that a range comes to may be there
		if kept, err := s.find(found.Version); kept != nil || err != nil {
			return kept, err
		}
	}
	if len(found.URLs) == 0 {
		return nil, errors.New("the repository's index has no URL of it")
	}
	at, err := p.resolve(found.URLs[0])
	if err != nil {
		return nil, err
	}
	data, err := c.download(ctx, at, p.url, "its archive", maxArchive)
	if err != nil {
		return nil, err
	}
	if want := strings.TrimPrefix(found.Digest, "sha256:"); want != "" && want != digestOf(data) {
		return nil, &source.Unavailable{
			Detail: fmt.Sprintf("its digest is %s; the repository's index has %s", digestOf(data), want),
			Hint:   "it is not what has been released, or the index is out of date: nothing of it is used",
		}
	}
	// Kept as what was asked for: an exact version may have another spelling in the index (v1.2.3).
	version := found.Version
	if exact(r.Version) {
		version = r.Version
	}
	return s.keep(version, data)
}

// index reads index.yaml.
func (p repository) index(ctx context.Context, c *Charts) (index, error) {
	at := *p.url
	at.Path, at.RawPath = strings.TrimSuffix(at.Path, "/")+"/index.yaml", ""
	data, err := c.download(ctx, &at, p.url, "the repository's index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	var file struct {
		Entries index `json:"entries"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil || file.Entries == nil {
		return nil, errors.New("the repository's index.yaml cannot be read: it is no index of charts")
	}
	return file.Entries, nil
}

// resolve is the URL of an archive, which may be relative to the repository.
func (p repository) resolve(ref string) (*url.URL, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return nil, errors.New("the repository's index has a URL that cannot be parsed")
	}
	if !u.IsAbs() {
		base := *p.url
		base.Path, base.RawPath = strings.TrimSuffix(base.Path, "/")+"/", ""
		u = base.ResolveReference(u)
		u.RawQuery = base.RawQuery
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the repository's index has it at a URL of scheme %s; expected https", u.Scheme)
	}
	return u, nil
}

// download reads what is at a URL of a repository, up to a limit.
func (c *Charts) download(ctx context.Context, at, of *url.URL, what string, limit int) ([]byte, error) {
	resp, err := c.request(ctx, at, of)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, &source.Unavailable{
			Detail: fmt.Sprintf("%s: the server answers %s", what, resp.Status),
			Hint:   "credentials are those of Helm: helm repo add NAME URL --username ... --password-stdin",
		}
	default:
		return nil, fmt.Errorf("%s: the server answers %s", what, resp.Status)
	}
	if resp.ContentLength > int64(limit) {
		return nil, tooLarge(what, resp.ContentLength, limit)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes, which is the limit", what, limit)
	}
	return data, c.spend(len(data))
}

// request follows redirects. The repository's credentials and certificates are for its own host.
func (c *Charts) request(ctx context.Context, at, of *url.URL) (*http.Response, error) {
	login := c.logins.of(of)
	for hops := 0; ; hops++ {
		transport := c.plain
		if sameHost(at, of) {
			var err error
			if transport, err = login.transport(c); err != nil {
				return nil, err
			}
		}
		bare := *at
		bare.User = nil
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, bare.String(), nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("User-Agent", "argosy")
		req.Header.Set("Accept-Encoding", "identity") // an archive is packed already, and its digest is that of what is packed
		login.authorize(req, of, hops > 0)
		client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		next, err := resp.Location()
		if err != nil || resp.StatusCode/100 != 3 {
			return resp, nil //nolint:nilerr // it is no redirect
		}
		resp.Body.Close()
		if hops == maxRedirects {
			return nil, fmt.Errorf("the server redirects more than %d times, which is the limit", maxRedirects)
		}
		at = next
	}
}

func tooLarge(what string, size int64, limit int) error {
	return fmt.Errorf("%s has %d bytes; the limit is %d", what, size, limit)
}

// noVersion says which versions there are.
func noVersion(versions []string) error {
	if len(versions) == 0 {
		return &source.Unavailable{Detail: "there is no version of it"}
	}
	newest, _ := highest(versions, ">=0.0.0-0")
	return &source.Unavailable{Detail: "there is no such version", Hint: fmt.Sprintf("there are %d; the highest is %s", len(versions), versions[max(newest, 0)])}
}
