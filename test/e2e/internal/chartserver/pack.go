package chartserver

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// templates are what all stand-ins have in common; definitions are the CRDs by chart.
var (
	//go:embed all:chart
	templates embed.FS
	//go:embed crds
	definitions embed.FS
)

// packed is when every stand-in was made (4).
var packed = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Helm's own patterns: names as pkg/chartutil's, versions as Masterminds/semver accepts them of a
// chart (a leading v and missing parts are fine).
var (
	chartName    = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)
	chartVersion = regexp.MustCompile(`^v?\d+(\.\d+){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
)

// metadata is Chart.yaml, and with what follows it an entry of index.yaml.
type metadata struct {
	APIVersion  string   `json:"apiVersion"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	AppVersion  string   `json:"appVersion"`
	Description string   `json:"description"`
	Type        string   `json:"type"`
	Created     string   `json:"created,omitempty"`
	Digest      string   `json:"digest,omitempty"`
	URLs        []string `json:"urls,omitempty"`
}

func (c Chart) metadata() metadata {
	return metadata{
		APIVersion: "v2", Name: c.Name, Version: c.Version, AppVersion: c.Version, Type: "application",
		Description: "Stand-in for the chart " + c.Name + ": shows the values it was given",
	}
}

// Package is a stand-in's package, for another server than this one.
func Package(chart Chart) ([]byte, error) { return pack(chart, nil) }

// pack makes a stand-in's package, with further files of its own.
func pack(chart Chart, own map[string][]byte) ([]byte, error) {
	switch {
	case !chartName.MatchString(chart.Name):
		return nil, fmt.Errorf("name %q: expected letters, digits and any of '._-'", chart.Name)
	case !chartVersion.MatchString(chart.Version):
		return nil, fmt.Errorf("version %q: expected an exact version, such as 1.2.3; ranges have no package", chart.Version)
	}
	files := map[string][]byte{}
	maps.Copy(files, own)
	about, err := yaml.Marshal(chart.metadata())
	if err != nil {
		return nil, err
	}
	files["Chart.yaml"] = about
	if err := add(files, templates, "chart", ""); err != nil {
		return nil, err
	}
	if err := add(files, definitions, path.Join("crds", chart.Name), "crds"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return Pack(chart.Name, files)
}

// Pack makes a package of a chart's files.
func Pack(chart string, files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out) // its header has no time unless it is given one
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join(chart, name), Mode: 0o644, Size: int64(len(files[name])), ModTime: packed,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// add adds the files below root of from, as files below to.
func add(files map[string][]byte, from fs.FS, root, to string) error {
	return fs.WalkDir(from, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		files[path.Join(to, strings.TrimPrefix(name, root+"/"))] = data
		return err
	})
}

// index makes index.yaml.
func index(packages map[Chart][]byte) ([]byte, error) {
	created := packed.Format(time.RFC3339)
	entries := map[string][]metadata{}
	for _, chart := range slices.SortedFunc(maps.Keys(packages), Chart.Compare) {
		entry := chart.metadata()
		digest := sha256.Sum256(packages[chart])
		entry.Created, entry.Digest, entry.URLs = created, hex.EncodeToString(digest[:]), []string{"charts/" + chart.file()}
		entries[chart.Name] = append(entries[chart.Name], entry)
	}
	return yaml.Marshal(struct {
		APIVersion string                `json:"apiVersion"`
		Generated  string                `json:"generated"`
		Entries    map[string][]metadata `json:"entries"`
	}{"v1", created, entries})
}
