package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/argosy-hub/argosy/hack/release/archive"
	"github.com/argosy-hub/argosy/hack/release/debs"
	"github.com/argosy-hub/argosy/hack/release/image"
)

// architectures are those of images and archives.
var architectures = []string{"amd64", "arm64"}

// programs are what is released, with what they are for.
var programs = map[string]string{
	"argosy":           "Argosy's command line: lint, plan and explain a fleet's repository",
	"generator-plugin": "Argosy's service: computes from one Git repository what every cluster of a fleet runs",
}

// images writes an OCI layout for each program, or for those that the arguments name.
func images(ctx context.Context, o options) error {
	pins, err := debs.ReadPins(o.pins)
	if err != nil {
		return err
	}
	packages := o.archive()
	if err := packages.Fetch(ctx, pins); err != nil {
		return err
	}
	system := map[string]archive.Files{}
	for _, arch := range architectures {
		files := archive.Files{}
		for _, p := range pins {
			if !p.For(arch) {
				continue
			}
			if err := debs.Unpack(ctx, packages.File(p), p, files); err != nil {
				return fmt.Errorf("package %s: %w", p.Name, err)
			}
		}
		system[arch] = image.System(files)
	}
	created, err := sourceDate()
	if err != nil {
		return err
	}
	names := o.arguments
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(programs))
	}
	for _, name := range names {
		c := image.Config{Name: name, Created: created, Labels: map[string]string{
			"org.opencontainers.image.title":       name,
			"org.opencontainers.image.description": programs[name],
			"org.opencontainers.image.version":     strings.TrimPrefix(o.version, "v"),
			"org.opencontainers.image.revision":    o.revision,
			"org.opencontainers.image.created":     created.UTC().Format(time.RFC3339),
			"org.opencontainers.image.source":      "https://github.com/argosy-hub/argosy",
			"org.opencontainers.image.licenses":    "Apache-2.0",
		}}
		var platforms []image.Platform
		for _, arch := range architectures {
			binary, err := build(ctx, o, name, "linux", arch)
			if err != nil {
				return err
			}
			platforms = append(platforms, image.Platform{Arch: arch, System: system[arch], Binary: binary})
		}
		index, err := image.Build(c, platforms)
		if err != nil {
			return err
		}
		dir := filepath.Join(o.dist, "image", name)
		if err := image.Write(dir, index); err != nil {
			return err
		}
		digest, err := index.Digest()
		if err != nil {
			return err
		}
		for _, arch := range architectures {
			img, err := image.Find(index, arch)
			if err != nil {
				return err
			}
			size, err := image.Size(img)
			if err != nil {
				return err
			}
			fmt.Printf("%s linux/%s %d bytes compressed\n", dir, arch, size)
		}
		fmt.Printf("%s %s\n", dir, digest)
	}
	return nil
}

// build is a program for a platform.
func build(ctx context.Context, o options, name, system, arch string) ([]byte, error) {
	file, err := filepath.Abs(filepath.Join(o.dist, "bin", system+"_"+arch, name))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", //nolint:gosec // of the checkout
		"-ldflags", "-s -w -X main.version="+o.version, "-o", file, "./cmd/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s for %s/%s: %w\n%s", name, system, arch, err, out)
	}
	return os.ReadFile(file)
}

// sourceDate is the time that everything in a release has.
func sourceDate() (time.Time, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0), nil
}

// unpack writes the files of an image, from a layout or from a registry, into a folder.
func unpack(ctx context.Context, o options) error {
	if len(o.arguments) != 2 {
		return fmt.Errorf("unpack: %d arguments; expected LAYOUT|REFERENCE FOLDER", len(o.arguments))
	}
	from := o.arguments[0]
	read := image.Read
	if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
		read = func(from string) (v1.ImageIndex, error) {
			reference, err := name.ParseReference(from)
			if err != nil {
				return nil, err
			}
			return remote.Index(reference, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
		}
	}
	index, err := read(from)
	if err != nil {
		return err
	}
	img, err := image.Find(index, runtime.GOARCH)
	if err != nil {
		return err
	}
	return image.Unpack(img, o.arguments[1])
}

// fetch has the pinned packages in the cache afterwards.
func fetch(ctx context.Context, o options) error {
	pins, err := debs.ReadPins(o.pins)
	if err != nil {
		return err
	}
	return o.archive().Fetch(ctx, pins)
}

// updatePins writes the file of pins with today's versions.
func updatePins(ctx context.Context, o options) error {
	pins, err := debs.ReadPins(o.pins)
	if err != nil {
		return err
	}
	latest, err := o.archive().Latest(ctx, pins)
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("# The Debian packages of the images: name, version, architecture, SHA-256. `make pins` writes today's.\n")
	for _, p := range latest {
		fmt.Fprintln(&text, p)
	}
	return os.WriteFile(o.pins, []byte(text.String()), 0o644)
}
