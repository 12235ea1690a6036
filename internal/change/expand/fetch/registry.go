package fetch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/helmpath"
	helmregistry "helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// fromRegistry gets a chart of an OCI registry, with the folder that charts are in.
func (c *Charts) fromRegistry(ctx context.Context, r source.Reference, s shelf) (*source.Archive, error) {
	from, err := remote.NewRepository(strings.TrimSuffix(strings.TrimPrefix(r.RepoURL, "oci://"), "/") + "/" + r.Name)
	if err != nil { // its text quotes the URL
		return nil, fmt.Errorf("%q is not a chart of a registry", r.Name)
	}
	from.PlainHTTP = loopback(from.Reference.Registry) && c.policy.allows("http://"+from.Reference.Registry)
	from.Client = &auth.Client{Client: c.client(&bounded{own: c.plain, what: "its archive", limit: maxArchive + maxManifest}), Cache: auth.NewCache(), Credential: c.logins.registry}
	version := r.Version
	if !exact(version) {
		if version, err = highestTag(ctx, from, version); err != nil {
			return nil, refused(err)
		}
		if kept, err := s.find(version); kept != nil || err != nil {
			return kept, err
		}
	}
	data, err := pull(ctx, from, strings.ReplaceAll(version, "+", "_")) // Helm's way: a tag has no plus sign
	if err != nil {
		return nil, refused(err)
	}
	return s.keep(version, data)
}

// highestTag is the highest version of a range.
func highestTag(ctx context.Context, from *remote.Repository, wanted string) (string, error) {
	var all repo.ChartVersions
	err := from.Tags(ctx, "", func(tags []string) error {
		for _, t := range tags {
			all = append(all, &repo.ChartVersion{Metadata: &chart.Metadata{Version: strings.ReplaceAll(t, "_", "+")}})
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	found, err := highest(all, wanted)
	if err == nil && found == nil {
		err = noVersion(all)
	}
	if err != nil {
		return "", err
	}
	return found.Version, nil
}

// pull reads a chart's archive: its manifest by the tag, then the layer. Both are checked against
// their digests.
func pull(ctx context.Context, from *remote.Repository, tag string) ([]byte, error) {
	_, data, err := oras.FetchBytes(ctx, from, tag, oras.FetchBytesOptions{MaxBytes: maxManifest})
	if err != nil {
		return nil, err
	}
	var manifest ocispec.Manifest
	if json.Unmarshal(data, &manifest) != nil {
		return nil, errors.New("its manifest cannot be read")
	}
	i := slices.IndexFunc(manifest.Layers, func(l ocispec.Descriptor) bool {
		return l.MediaType == helmregistry.ChartLayerMediaType || l.MediaType == helmregistry.LegacyChartLayerMediaType
	})
	if i < 0 {
		return nil, errors.New("it is not a chart: its manifest has no chart layer")
	}
	layer := manifest.Layers[i]
	if layer.Size > maxArchive { // as much memory is taken for it
		return nil, fmt.Errorf("its archive has %d bytes; the limit is %d", layer.Size, maxArchive)
	}
	return content.FetchAll(ctx, from.Blobs(), layer)
}

// refused says what a registry answers, without its URLs.
func refused(err error) error {
	var answer *errcode.ErrorResponse
	switch {
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden), errors.Is(err, auth.ErrBasicCredentialNotFound):
		return &source.Unavailable{Detail: "the registry wants credentials, or others", Hint: "Helm's and Docker's credentials are used: helm registry login HOST"}
	case errors.Is(err, errdef.ErrNotFound), errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return &source.Unavailable{Detail: "the registry has no such chart, or no such version of it"}
	case errors.As(err, &answer):
		return fmt.Errorf("the registry answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	case errors.Is(err, errdef.ErrSizeExceedsLimit):
		return fmt.Errorf("its manifest has more than %d bytes, which is the limit", maxManifest)
	case errors.As(err, new(*source.Unavailable)), errors.As(err, new(*url.Error)):
		return err
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "://"):
		return &source.Unavailable{Detail: "its digest or size is not what the registry says of it", Hint: "nothing of it is used"}
	}
	return err
}

// registryLogins are the credentials of Helm, and then of Docker.
func registryLogins() (auth.CredentialFunc, error) {
	helm, err := credentials.NewStore(cmp.Or(os.Getenv("HELM_REGISTRY_CONFIG"), helmpath.ConfigPath("registry", "config.json")), credentials.StoreOptions{})
	if err != nil {
		return nil, errors.New("credentials of Helm for registries cannot be read")
	}
	docker, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, errors.New("credentials of Docker cannot be read")
	}
	find := credentials.Credential(credentials.NewStoreWithFallbacks(helm, docker))
	return func(ctx context.Context, host string) (auth.Credential, error) {
		c, err := find(ctx, host)
		if err != nil { // its text is a helper's
			return auth.EmptyCredential, fmt.Errorf("credentials for %s cannot be had", host)
		}
		return c, nil
	}, nil
}

// loopback reports whether a registry is on this machine: as with Docker, that is asked without
// TLS, where that is allowed.
func loopback(hostport string) bool {
	host := (&url.URL{Host: hostport}).Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
