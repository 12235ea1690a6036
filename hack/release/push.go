package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/argosy-hub/argosy/hack/release/chart"
	"github.com/argosy-hub/argosy/hack/release/image"
	"github.com/argosy-hub/argosy/hack/release/sign"
)

// signRelease signs the files of a release.
func signRelease(ctx context.Context, o options) error {
	return o.cosign().Release(ctx, filepath.Join(o.dist, "release"), o.provenance())
}

// push pushes images and charts to a registry, all or those that the arguments name, and signs each
// by its digest.
func push(ctx context.Context, o options) error {
	if len(o.arguments) == 0 {
		return errors.New("push: no arguments; expected REGISTRY, for example ghcr.io/argosy-hub")
	}
	registry, names := o.arguments[0], o.arguments[1:]
	files, err := filepath.Glob(filepath.Join(o.dist, "release", "*-"+o.plain()+".tgz"))
	if err != nil {
		return err
	}
	packages := map[string]string{} // files by the charts' names
	for _, file := range files {
		packages[strings.TrimSuffix(filepath.Base(file), "-"+o.plain()+".tgz")] = file
	}
	if len(names) == 0 {
		names = slices.Concat(slices.Sorted(maps.Keys(programs)), slices.Sorted(maps.Keys(packages)))
	}
	for _, name := range names {
		switch {
		case programs[name] != "":
			err = pushImage(ctx, o, registry, name)
		case packages[name] != "":
			err = pushChart(ctx, o, registry, packages[name])
		default:
			err = errors.New("no image and no packaged chart of this version")
		}
		if err != nil {
			return fmt.Errorf("push %s: %w", name, err)
		}
	}
	return nil
}

// pushImage pushes a program's image from its layout, and signs it.
func pushImage(ctx context.Context, o options, registry, program string) error {
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	var names []name.Option
	if o.insecure {
		names = append(names, name.Insecure)
	}
	index, err := image.Read(filepath.Join(o.dist, "image", program))
	if err != nil {
		return err
	}
	tag, err := name.NewTag(registry+"/"+program+":"+o.plain(), names...)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(tag, index, options...); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Println(tag, digest)
	return o.cosign().Reference(ctx, tag.Context().Digest(digest.String()).String(), map[string]string{
		"slsaprovenance1": o.provenance(),
		"spdxjson":        filepath.Join(o.dist, "release", program+"_"+o.plain()+".spdx.json"),
	})
}

// pushChart pushes a packaged chart, and signs it.
func pushChart(ctx context.Context, o options, registry, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	reference, err := chart.Push(content, registry+"/charts", o.insecure)
	if err != nil {
		return err
	}
	fmt.Println(reference)
	return o.cosign().Reference(ctx, reference, map[string]string{"slsaprovenance1": o.provenance()})
}

func (o options) cosign() sign.Cosign {
	return sign.Cosign{Program: o.cosignProgram, Key: o.key, Insecure: o.insecure}
}
