// Package chart packages Helm charts and pushes them to OCI registries. The same chart and version
// are the same bytes.
package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/argosy-hub/argosy/hack/release/archive"
)

// Package is a chart's folder as an archive, with the version as its own, as its application's and
// as that of the charts in it.
func Package(dir, version string, at time.Time) (name string, content []byte, err error) {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return "", nil, fmt.Errorf("chart %s: %w", dir, err)
	}
	// Lines, so that the comments stay.
	own := regexp.MustCompile(`(?m)^(\s*(?:version|appVersion): )"?` + regexp.QuoteMeta(c.Metadata.Version) + `"?$`)
	files := archive.Files{}
	for _, f := range c.Raw {
		if path.Base(f.Name) == "Chart.yaml" {
			f.Data = own.ReplaceAll(f.Data, []byte("${1}"+version))
		}
		files[path.Join(c.Name(), f.Name)] = archive.File{Content: f.Data, Mode: 0o644}
	}
	if content, err = files.TarGz(at); err != nil {
		return "", nil, err
	}
	packaged, err := loader.LoadArchive(bytes.NewReader(content))
	if err != nil {
		return "", nil, fmt.Errorf("chart %s as it is packaged: %w", dir, err)
	}
	if packaged.Metadata.Version != version {
		return "", nil, fmt.Errorf("chart %s: packaged as version %s; expected %s", dir, packaged.Metadata.Version, version)
	}
	return c.Name(), content, packaged.Validate()
}

// manifest is one as it is stored.
type manifest []byte

func (m manifest) RawManifest() ([]byte, error)      { return m, nil }
func (manifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// Push pushes a packaged chart as Helm does (helm.sh/docs/topics/registries).
func Push(content []byte, repository string, options []remote.Option, insecure ...name.Option) (name.Digest, error) {
	c, err := loader.LoadArchive(bytes.NewReader(content))
	if err != nil {
		return name.Digest{}, err
	}
	config, err := json.Marshal(c.Metadata)
	if err != nil {
		return name.Digest{}, err
	}
	tag, err := name.NewTag(repository+"/"+c.Name()+":"+c.Metadata.Version, insecure...)
	if err != nil {
		return name.Digest{}, err
	}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Annotations: annotations(c.Metadata)}
	for i, layer := range []v1.Layer{
		static.NewLayer(config, "application/vnd.cncf.helm.config.v1+json"),
		static.NewLayer(content, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"),
	} {
		if err := remote.WriteLayer(tag.Repository, layer, options...); err != nil {
			return name.Digest{}, err
		}
		d, err := descriptor(layer)
		if err != nil {
			return name.Digest{}, err
		}
		if i == 0 {
			m.Config = d
		} else {
			m.Layers = append(m.Layers, d)
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return name.Digest{}, err
	}
	digest, _, err := v1.SHA256(bytes.NewReader(raw))
	if err != nil {
		return name.Digest{}, err
	}
	return tag.Context().Digest(digest.String()), remote.Put(tag, manifest(raw), options...)
}

func descriptor(layer v1.Layer) (d v1.Descriptor, err error) {
	if d.MediaType, err = layer.MediaType(); err != nil {
		return d, err
	}
	if d.Size, err = layer.Size(); err != nil {
		return d, err
	}
	d.Digest, err = layer.Digest()
	return d, err
}

func annotations(m *chart.Metadata) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       m.Name,
		"org.opencontainers.image.version":     m.Version,
		"org.opencontainers.image.description": m.Description,
		"org.opencontainers.image.source":      "https://github.com/argosy-hub/argosy",
	}
}
