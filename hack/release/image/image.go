// Package image writes container images without a container runtime.
//
//  1. An image is two layers: Git and what it needs of Debian, and one static program. There is
//     nothing else in it: no package manager, no documentation, and of programs only Git's and
//     OpenSSH's, and the sh by which Git starts its helpers.
//  2. It runs as 65532, from a read-only root; /tmp is the only folder that expects a volume.
//  3. The same inputs and the same time are the same bytes (SOURCE_DATE_EPOCH).
//  4. Every library that a program in it needs is in it, or there is no image.
package image

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/argosy-hub/argosy/hack/release/archive"
)

// User is who the program runs as.
const User = 65532

// MaxSize is how many bytes one platform's compressed layers may have.
const MaxSize = 60 << 20

// Platform is one architecture's part of an image.
type Platform struct {
	Arch   string
	System archive.Files // from Debian's packages
	Binary []byte        // static
}

// Config is what the platforms have in common.
type Config struct {
	Name    string // of the program
	Labels  map[string]string
	Created time.Time
}

// System adds to packages' files what no package has: users, name resolution, folders.
func System(packages archive.Files) archive.Files {
	files := maps.Clone(packages)
	for name, text := range map[string]string{
		"etc/passwd":        fmt.Sprintf("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%[1]d:%[1]d:nonroot:/home/nonroot:/sbin/nologin\n", User),
		"etc/group":         fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", User),
		"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
	} {
		files[name] = archive.File{Content: []byte(text), Mode: 0o644}
	}
	files["tmp"] = archive.File{Folder: true, Mode: 0o1777}
	files["home/nonroot"] = archive.File{Folder: true, Mode: 0o700, Owner: User}
	if _, is := files["bin/sh"]; !is { // a diversion in some versions of dash
		files["bin/sh"] = archive.File{Link: "dash"}
	}
	return files
}

// Build is the image of all platforms.
func Build(c Config, platforms []Platform) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		img, err := build(c, p)
		if err != nil {
			return nil, fmt.Errorf("image %s for %s: %w", c.Name, p.Arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: "linux", Architecture: p.Arch},
		}})
	}
	annotated, ok := mutate.Annotations(index, c.Labels).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("image %s: annotating an index gives no index", c.Name)
	}
	return annotated, nil
}

func build(c Config, p Platform) (v1.Image, error) {
	if err := checkLibraries(p.System); err != nil {
		return nil, err
	}
	program := "usr/local/bin/" + c.Name
	img := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	img, err := mutate.ConfigFile(img, &v1.ConfigFile{
		OS: "linux", Architecture: p.Arch, Created: v1.Time{Time: c.Created.UTC()},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: fmt.Sprintf("%d:%[1]d", User), Entrypoint: []string{"/" + program}, WorkingDir: "/home/nonroot",
			Env:    []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/nonroot", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
			Labels: c.Labels,
		},
	})
	if err != nil {
		return nil, err
	}
	for _, files := range []archive.Files{p.System, {program: {Content: p.Binary, Mode: 0o755}}} {
		var content bytes.Buffer
		if err := files.Tar(&content, c.Created); err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content.Bytes())), nil
		}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{
			Created: v1.Time{Time: c.Created.UTC()}, CreatedBy: "make image",
		}}); err != nil {
			return nil, err
		}
	}
	size, err := Size(img)
	if err == nil && size > MaxSize {
		err = fmt.Errorf("%d bytes compressed; at most %d", size, MaxSize)
	}
	return img, err
}

// Size is that of all compressed layers.
func Size(img v1.Image) (size int64, err error) {
	m, err := img.Manifest()
	if err != nil {
		return 0, err
	}
	for _, l := range m.Layers {
		size += l.Size
	}
	return size, nil
}

// Write writes an OCI layout with one image into a folder, in place of what is there.
func Write(dir string, index v1.ImageIndex) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index)
}

// Read is the image of a layout.
func Read(dir string) (v1.ImageIndex, error) {
	root, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	m, err := root.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(m.Manifests) != 1 {
		return nil, fmt.Errorf("%s: %d images; expected 1", dir, len(m.Manifests))
	}
	return root.ImageIndex(m.Manifests[0].Digest)
}
