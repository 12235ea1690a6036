package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// The cache is a folder: <chart>-<digest of repository and chart>/<version>@<SHA-256>.tgz for
// charts, and two folders of others: values and mirrors.
const (
	temporary = ".new-"
	ending    = ".tgz"
)

// shelf is the folder of one chart.
type shelf struct{ dir string }

func (c *Charts) shelf(r source.Reference) shelf {
	sum := sha256.Sum256([]byte(strings.TrimSuffix(r.RepoURL, "/") + "\x00" + r.Name))
	return shelf{filepath.Join(c.o.Dir, url.PathEscape(r.Name)+"-"+hex.EncodeToString(sum[:8]))}
}

// find is the chart of a version, or of a range the highest; nil if there is none that is as it was
// written.
func (s shelf) find(version string) (*source.Archive, error) {
	paths, err := filepath.Glob(filepath.Join(s.dir, "*@*"+ending))
	if err != nil {
		return nil, err
	}
	var all repo.ChartVersions
	for _, path := range paths {
		name, digest, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ending), "@")
		if name, err = url.PathUnescape(name); err == nil && len(digest) == sha256.Size*2 {
			all = append(all, &repo.ChartVersion{Metadata: &chart.Metadata{Version: name}, URLs: []string{path}, Digest: digest})
		}
	}
	found, err := highest(all, version)
	if found == nil || err != nil || exact(version) && found.Version != version { // another build of it is equal as a version
		return nil, err
	}
	path := found.URLs[0]
	kept := &source.Archive{Digest: found.Digest, Version: found.Version, Open: func() ([]byte, error) { return read(path, found.Digest) }}
	if _, err := kept.Open(); err != nil {
		return nil, os.Remove(path) // damaged: it is fetched anew
	}
	return kept, nil
}

// read reads a chart and checks it.
func read(path, digest string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err == nil && digestOf(data) != digest {
		err = fmt.Errorf("%s in the cache is damaged", filepath.Base(path))
	}
	return data, err
}

// keep puts a chart on the shelf, if it can be unpacked.
func (s shelf) keep(version string, data []byte) (*source.Archive, error) {
	if err := source.CheckArchive(data); err != nil {
		return nil, err
	}
	digest := digestOf(data)
	path := filepath.Join(s.dir, url.PathEscape(version)+"@"+digest+ending)
	return &source.Archive{Digest: digest, Version: version, Open: func() ([]byte, error) { return read(path, digest) }}, write(path, data)
}

// write puts a file into the cache, all of it or nothing.
func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return disk.Write(path, temporary, data)
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// exact reports whether a version is one and no range.
func exact(version string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	return err == nil
}

// highest is the version that is asked for: itself, or of a range the highest, as Helm chooses; nil
// if there is none.
func highest(all repo.ChartVersions, wanted string) (*repo.ChartVersion, error) {
	if _, err := semver.NewConstraint(wanted); wanted != "" && err != nil {
		return nil, fmt.Errorf("version %q is neither a version nor a range", wanted)
	}
	all = slices.Clone(all)
	sort.Sort(sort.Reverse(all))
	found, err := repo.IndexFile{Entries: map[string]repo.ChartVersions{"": all}}.Get("", wanted)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // there is none
	}
	return found, nil
}

// noVersion says which versions there are.
func noVersion(all repo.ChartVersions) error {
	if len(all) == 0 {
		return &source.Unavailable{Detail: "there is no version of it"}
	}
	sort.Sort(all)
	return &source.Unavailable{Detail: "there is no such version", Hint: fmt.Sprintf("there are %d; the highest is %s", len(all), all[len(all)-1].Version)}
}
