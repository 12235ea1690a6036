package main

import (
	"context"
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
	return o.cosign().Release(ctx, filepath.Join(o.dist, "release"), filepath.Join(o.dist, "provenance.json"))
}

// push pushes images and charts to a registry, and signs each by its digest.
func push(ctx context.Context, o options) error {
	if len(o.arguments) != 1 {
		return fmt.Errorf("push: %d arguments; expected REGISTRY, for example ghcr.io/argosy-hub", len(o.arguments))
	}
	registry, plain := o.arguments[0], strings.TrimPrefix(o.version, "v")
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	var names []name.Option
	if o.insecure {
		names = append(names, name.Insecure)
	}
	provenance := filepath.Join(o.dist, "provenance.json")
	for _, program := range slices.Sorted(maps.Keys(programs)) {
		index, err := image.Read(filepath.Join(o.dist, "image", program))
		if err != nil {
			return err
		}
		tag, err := name.NewTag(registry+"/"+program+":"+plain, names...)
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
		reference := tag.Context().Digest(digest.String())
		fmt.Println(tag, digest)
		err = o.cosign().Reference(ctx, reference.String(), map[string]string{
			"slsaprovenance1": provenance,
			"spdxjson":        filepath.Join(o.dist, "release", program+"_"+plain+".spdx.json"),
		})
		if err != nil {
			return err
		}
	}
	files, err := filepath.Glob(filepath.Join(o.dist, "release", "*-"+plain+".tgz"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		reference, err := chart.Push(content, registry+"/charts", o.insecure)
		if err != nil {
			return fmt.Errorf("push %s: %w", filepath.Base(file), err)
		}
		fmt.Println(reference)
		if err := o.cosign().Reference(ctx, reference, map[string]string{"slsaprovenance1": provenance}); err != nil {
			return err
		}
	}
	return nil
}

func (o options) cosign() sign.Cosign {
	return sign.Cosign{Program: o.cosignProgram, Key: o.key, Insecure: o.insecure}
}
