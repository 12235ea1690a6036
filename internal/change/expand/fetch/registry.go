package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// registry is an OCI registry, with the folder that charts are in.
type registry struct{ host string }

// The media types of a chart in a manifest: Helm's, and the one before it.
var chartLayers = []string{"application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"}

// maxTags bounds what a registry lists of a chart.
const maxTags = 100_000

func (p registry) get(ctx context.Context, c *Charts, r source.Reference, s shelf) (*kept, error) {
	repo, err := remote.NewRepository(p.host + "/" + r.Name)
	if err != nil {
		return nil, fmt.Errorf("%q is no chart of a registry", r.Name)
	}
	repo.PlainHTTP = loopback(repo.Reference.Registry) && c.policy.allows("http://"+repo.Reference.Registry)
	repo.MaxMetadataBytes = maxManifest
	repo.Client = &auth.Client{Client: &http.Client{Transport: c.plain, CheckRedirect: leaveCredentials}, Cache: auth.NewCache(), Credential: c.logins.registry}
	version, err := p.version(ctx, repo, r.Version)
	if err != nil {
		return nil, refused(err)
	}
	if !exact(r.Version) {
		if kept, err := s.find(version); kept != nil || err != nil {
			return kept, err
		}
	}
	data, err := pull(ctx, c, repo, strings.ReplaceAll(version, "+", "_")) // Helm's way: a tag has no plus sign
	if err != nil {
		return nil, refused(err)
	}
	return s.keep(version, data)
}

// version is the version itself, or the highest tag of a range.
func (p registry) version(ctx context.Context, repo *remote.Repository, wanted string) (string, error) {
	if exact(wanted) {
		return wanted, nil
	}
	var versions []string
	err := repo.Tags(ctx, "", func(tags []string) error {
		for _, t := range tags {
			versions = append(versions, strings.ReplaceAll(t, "_", "+"))
		}
		if len(versions) > maxTags {
			return fmt.Errorf("the registry lists more than %d versions, which is the limit", maxTags)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	i, err := highest(versions, wanted)
	if err != nil {
		return "", err
	}
	if i < 0 {
		return "", noVersion(versions)
	}
	return versions[i], nil
}

// pull reads a chart's archive: its manifest by the tag, then the layer. Both are checked against
// their digests.
func pull(ctx context.Context, c *Charts, repo *remote.Repository, tag string) ([]byte, error) {
	desc, body, err := repo.Manifests().FetchReference(ctx, tag)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if desc.Size > maxManifest {
		return nil, tooLarge("its manifest", desc.Size, maxManifest)
	}
	data, err := content.ReadAll(body, desc)
	if err != nil {
		return nil, fmt.Errorf("its manifest: %w", err)
	}
	var manifest struct {
		Layers []ocispec.Descriptor `json:"layers"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, errors.New("its manifest cannot be read")
	}
	i := slices.IndexFunc(manifest.Layers, func(l ocispec.Descriptor) bool { return slices.Contains(chartLayers, l.MediaType) })
	if i < 0 {
		return nil, errors.New("it is no chart: its manifest has no layer with one")
	}
	layer := manifest.Layers[i]
	if layer.Size > maxArchive {
		return nil, tooLarge("its archive", layer.Size, maxArchive)
	}
	blob, err := repo.Blobs().Fetch(ctx, layer)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	archive, err := content.ReadAll(blob, layer)
	switch {
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData), errors.Is(err, content.ErrInvalidDescriptorSize), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &source.Unavailable{Detail: "its digest or size is not what its manifest has, " + layer.Digest.String(), Hint: "nothing of it is used"}
	case err != nil:
		return nil, err
	}
	return archive, c.spend(len(archive))
}

// refused says what a registry answers, without its URLs.
func refused(err error) error {
	var answer *errcode.ErrorResponse
	switch {
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden), errors.Is(err, auth.ErrBasicCredentialNotFound):
		return &source.Unavailable{Detail: "the registry wants credentials, or others", Hint: "credentials are those of Helm and Docker: helm registry login HOST"}
	case errors.Is(err, errdef.ErrNotFound), errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return &source.Unavailable{Detail: "the registry has no such chart, or no such version of it"}
	case errors.As(err, &answer):
		return fmt.Errorf("the registry answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	return err
}

// loopback reports whether a registry is on this machine: as with Docker, that is asked without
// TLS, where that is allowed.
func loopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
