package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// cache is the folder of all charts: DIR/<chart>-<digest of repository and
// chart>/<version>@<SHA-256>.tgz.
type cache struct{ dir string }

// shelf is the folder of one chart.
type shelf struct{ dir string }

const (
	temporary = ".new-"
	ending    = ".tgz"
)

func (c cache) shelf(r source.Reference) shelf {
	sum := sha256.Sum256([]byte(strings.TrimSuffix(r.RepoURL, "/") + "\x00" + r.Name))
	return shelf{filepath.Join(c.dir, url.PathEscape(r.Name)+"-"+hex.EncodeToString(sum[:8]))}
}

// kept is a chart of the cache.
type kept struct{ path, version, digest string }

// all are the charts of a shelf.
func (s shelf) all() ([]kept, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []kept
	for _, e := range entries {
		version, digest, ok := strings.Cut(strings.TrimSuffix(e.Name(), ending), "@")
		if version, err = url.PathUnescape(version); ok && err == nil && len(digest) == sha256.Size*2 {
			out = append(out, kept{filepath.Join(s.dir, e.Name()), version, digest})
		}
	}
	return out, nil
}

// find is the chart of a version, or of a range the highest; nil if there is none that is as it was
// written.
func (s shelf) find(version string) (*kept, error) {
	all, err := s.all()
	if err != nil {
		return nil, err
	}
	versions := make([]string, len(all))
	for i, k := range all {
		versions[i] = k.version
	}
	if exact(version) && !slices.Contains(versions, version) {
		return nil, nil // not another build of it, which is equal as a version
	}
	i, err := highest(versions, version)
	if err != nil || i < 0 {
		return nil, err
	}
	if _, err := all[i].read(); err != nil {
		return nil, os.Remove(all[i].path) // damaged: it is fetched anew
	}
	touch(all[i].path)
	return &all[i], nil
}

// read reads a chart and checks it.
func (k *kept) read() ([]byte, error) {
	data, err := os.ReadFile(k.path)
	if err != nil {
		return nil, err
	}
	if digestOf(data) != k.digest {
		return nil, fmt.Errorf("%s in the cache is damaged", filepath.Base(k.path))
	}
	return data, nil
}

// keep puts a chart on the shelf, if it can be unpacked.
func (s shelf) keep(version string, data []byte) (*kept, error) {
	if err := source.CheckArchive(data); err != nil {
		return nil, err
	}
	digest := digestOf(data)
	k := &kept{filepath.Join(s.dir, url.PathEscape(version)+"@"+digest+ending), version, digest}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	return k, disk.Write(k.path, temporary, data)
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// highest is the version that is asked for: itself, or of a range the highest, as Helm and Argo CD
// choose; -1 if there is none.
func highest(versions []string, wanted string) (int, error) {
	if wanted == "" {
		wanted = "*"
	}
	constraint, err := semver.NewConstraint(wanted)
	if err != nil {
		return -1, fmt.Errorf("version %q is no version and no range", wanted)
	}
	for i, v := range versions {
		if v == wanted {
			return i, nil
		}
	}
	best, found := -1, (*semver.Version)(nil)
	for i, text := range versions {
		v, err := semver.NewVersion(text)
		if err == nil && constraint.Check(v) && (found == nil || v.GreaterThan(found)) {
			best, found = i, v
		}
	}
	return best, nil
}
