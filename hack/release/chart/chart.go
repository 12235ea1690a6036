// Package chart packages Helm charts and pushes them to OCI registries. The same chart and version
// are the same bytes.
package chart

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/argosy-hub/argosy/hack/release/archive"
)

// ofCatalog is one of Argosy's own charts in a catalog, up to its revision.
var ofCatalog = regexp.MustCompile(`(repoURL: https://github\.com/argosy-hub/argosy(?:, |\n +)path: \S+?(?:, |\n +)version: )main\b`)

// Package is a chart's folder as an archive, with the version as its own, as its application's and
// as that of the charts in it. Argosy's own charts in its catalogs are those of the version's tag:
// a branch would change every fleet without a commit of its own.
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
		if strings.HasPrefix(f.Name, "catalogs/") {
			f.Data = ofCatalog.ReplaceAll(f.Data, []byte("${1}v"+version))
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

// Push pushes a packaged chart with Helm's own client, and returns its reference by digest. It logs
// in with the credentials of Helm and Docker.
func Push(content []byte, repository string, plainHTTP bool) (reference string, err error) {
	c, err := loader.LoadArchive(bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	options := []registry.ClientOption{registry.ClientOptWriter(io.Discard)}
	if plainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	client, err := registry.NewClient(options...)
	if err != nil {
		return "", err
	}
	name := repository + "/" + c.Name()
	// Without a time of its own, the same chart would have another manifest each time.
	pushed, err := client.Push(content, name+":"+c.Metadata.Version, registry.PushOptCreationTime(time.Unix(0, 0).UTC().Format(time.RFC3339)))
	if err != nil {
		return "", err
	}
	return name + "@" + pushed.Manifest.Digest, nil
}
