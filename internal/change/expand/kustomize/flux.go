package kustomize

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// What Flux adds to kustomize. Flux's own library (github.com/fluxcd/pkg/kustomize v1.35, of
// kustomize-controller v1.9.5) needs a later kustomize than Argo CD has, and files on a disk. This
// file does the same, and test/kustomizations compares both.

// overlay is the part of a Kustomization's spec that changes the build.
type overlay struct {
	TargetNamespace         string
	NamePrefix, NameSuffix  *string
	Patches                 []types.Patch
	Images                  []types.Image
	Components              []string
	IgnoreMissingComponents bool
	BuildMetadata           []string
	CommonMetadata          struct{ Labels, Annotations map[string]string }
	Decryption              *struct{}
	PostBuild               *postBuild

	dir string
	// origin means that the objects keep kustomize's annotations about their files.
	origin bool
}

// fluxTree returns a repository with the kustomization that Flux writes.
func fluxTree(k source.Kustomization) (tree, overlay, error) {
	o := overlay{dir: k.Dir}
	spec, err := json.Marshal(k.Flux.Spec)
	if err == nil {
		err = json.Unmarshal(spec, &o)
	}
	if err != nil {
		return tree{}, o, fmt.Errorf("spec: %w", err)
	}
	if k.Flux.Spec["ignore"] != nil {
		return tree{}, o, source.NotFollowed{Text: "spec.ignore is not followed: what it names is left as it is on the cluster"}
	}
	t := tree{Snapshot: k.Snapshot, ignored: ignored(k)}
	if !slices.ContainsFunc(t.Under(k.Dir), func(p string) bool { return !t.isIgnored(p) }) {
		return tree{}, o, fmt.Errorf("path %q is not there, or is ignored", k.Dir)
	}
	name, text, err := o.kustomization(t)
	if err != nil {
		return tree{}, o, err
	}
	t.written = map[string][]byte{name: text}
	return t, o, nil
}

// excluded lists files that no Flux source has. unlessSaid lists files that a source leaves out
// unless it names files to ignore (sourceignore.go).
var (
	excluded   = []string{".git/", ".gitignore", ".gitmodules", ".gitattributes"}
	unlessSaid = []string{
		"*.jpg", "*.jpeg", "*.gif", "*.png", "*.wmv", "*.flv", "*.tar.gz", "*.zip",
		".github/", ".circleci/", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml", "codeship-services.yml", "codeship-steps.yml",
		"**/.goreleaser.yml", "**/.sops.yaml", "**/.flux.yaml",
	}
)

// ignored returns which files a source leaves out, as storage.SourceIgnoreFilter does, with the
// code of go-git that Flux has copied. It also leaves out files behind links to folders, as an
// artifact has no links (storage.Archive).
func ignored(k source.Kustomization) func(p string) bool {
	f, linked := k.Flux, map[string]bool{}
	for _, l := range k.Snapshot.Beside().LinkedFolders {
		linked[l] = true
	}
	var patterns []gitignore.Pattern
	add := func(lines, domain []string) {
		for _, line := range lines {
			if line = strings.TrimSuffix(line, "\r"); !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
				patterns = append(patterns, gitignore.ParsePattern(line, domain))
			}
		}
	}
	add(excluded, nil)
	if f.Ignore == "" && len(f.SourceIgnore) == 0 {
		add(unlessSaid, nil)
	}
	for _, file := range f.SourceIgnore {
		var domain []string
		if dir := path.Dir(file.Path); dir != "." {
			domain = strings.Split(dir, "/")
		}
		add(strings.Split(string(file.Data), "\n"), domain)
	}
	add(strings.Split(f.Ignore, "\n"), nil)
	add(f.Without, nil)
	matcher := gitignore.NewMatcher(patterns)
	return func(p string) bool {
		parts := strings.Split(p, "/")
		for i := range parts { // skip the contents of ignored folders
			if matcher.Match(parts[:i+1], i < len(parts)-1) || linked[strings.Join(parts[:i], "/")] {
				return true
			}
		}
		return false
	}
}

// kustomization returns the file that Flux writes. It is the folder's own, or made of all manifests
// in the folder, with the Kustomization's additions (kustomize_generator.go, GenerateManifest).
func (o *overlay) kustomization(t tree) (name string, text []byte, err error) {
	k := types.Kustomization{TypeMeta: types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind}}
	if name = t.fileOf(o.dir); name != "" {
		data, _, err := t.data(name)
		if err == nil {
			err = yaml.Unmarshal(data, &k)
		}
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(k.Resources) == 0 { // else the library finds it empty
			k.BuildMetadata = []string{types.OriginAnnotations}
		}
	} else {
		name = path.Join(o.dir, source.KustomizationFiles[0])
		if k.Resources, err = o.scan(t); err != nil {
			return "", nil, err
		}
		if len(k.Resources) == 0 {
			k.Namespace = "_placeholder" // else the library finds it empty
		}
	}
	if o.TargetNamespace != "" {
		k.Namespace = o.TargetNamespace
	}
	if o.NamePrefix != nil {
		k.NamePrefix = *o.NamePrefix
	}
	if o.NameSuffix != nil {
		k.NameSuffix = *o.NameSuffix
	}
	k.Patches = append(k.Patches, o.Patches...)
	for _, c := range o.Components {
		if p := path.Join(o.dir, c); !o.IgnoreMissingComponents || t.has(p) || t.HasDir(p) {
			k.Components = append(k.Components, c)
		}
	}
	for _, image := range o.Images {
		set(&k.Images, image)
	}
	if len(o.BuildMetadata) > 0 {
		k.BuildMetadata = o.BuildMetadata
	}
	if o.origin = slices.Contains(k.BuildMetadata, types.OriginAnnotations); !o.origin {
		k.BuildMetadata = append(k.BuildMetadata, types.OriginAnnotations)
	}
	text, err = yaml.Marshal(k)
	return name, text, err
}

// set replaces an image, over the folder's own kustomization. A tag and a digest replace each
// other.
func set(images *[]types.Image, image types.Image) {
	i := slices.IndexFunc(*images, func(x types.Image) bool { return x.Name == image.Name })
	if i < 0 {
		*images = append(*images, image)
		return
	}
	known := &(*images)[i]
	if image.NewName != "" {
		known.NewName = image.NewName
	}
	if image.NewTag != "" || image.Digest != "" {
		known.NewTag, known.Digest = image.NewTag, image.Digest
	}
}

// scan returns the manifests in and below a folder without a kustomization. It takes a folder with
// a kustomization as a whole.
func (o *overlay) scan(t tree) ([]string, error) {
	var out []string
	whole := map[string]bool{}
	objects := provider.NewDefaultDepProvider().GetResourceFactory()
	for _, p := range t.Under(o.dir) {
		if t.isIgnored(p) {
			continue
		}
		if base := o.based(t, path.Dir(p)); base != "" {
			if !whole[base] {
				whole[base] = true
				out = append(out, "./"+source.Relative(o.dir, base))
			}
			continue
		}
		if ext := path.Ext(p); ext != ".yaml" && ext != ".yml" {
			continue
		}
		data, _, err := t.data(p)
		if err != nil {
			return nil, err
		}
		if err := decodes(objects, data); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		out = append(out, "./"+source.Relative(o.dir, p))
	}
	return out, nil
}

// based returns the uppermost folder with a kustomization that contains, or is, the given folder.
// Only folders below the built one count.
func (o *overlay) based(t tree, dir string) string {
	found := ""
	for ; dir != o.dir && dir != "."; dir = path.Dir(dir) {
		if t.fileOf(dir) != "" {
			found = dir
		}
	}
	return found
}

// decodes returns an error for a file that does not hold Kubernetes objects. The library may panic.
func decodes(objects *resource.Factory, data []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("kustomize panics: %v", r)
		}
	}()
	_, err = objects.SliceFromBytes(data)
	return err
}

// finish does what Flux does after a build: it replaces variables, adds common metadata, and drops
// objects that are not to be applied.
func (o *overlay) finish(f *source.Flux, made resmap.ResMap) ([]manifest.Manifest, error) {
	files := map[*resource.Resource]string{}
	for _, r := range made.Resources() {
		files[r] = source.KustomizationFiles[0]
		if origin, err := r.GetOrigin(); err == nil && origin != nil {
			files[r] = origin.Path + origin.ConfiguredIn
		}
		if !o.origin {
			if err := r.SetOrigin(nil); err != nil {
				return nil, err
			}
		}
		if r.GetName() == "" || r.GetKind() == "" || r.GetApiVersion() == "" {
			return nil, fmt.Errorf("%s: an object without apiVersion, kind or name", files[r])
		}
		if o.PostBuild != nil {
			if err := o.PostBuild.substitute(f, made, r); err != nil {
				return nil, fmt.Errorf("%s %q: %w", r.GetKind(), r.GetName(), err)
			}
		}
	}
	all, err := manifests(made, func(r *resource.Resource) string { return files[r] })
	if err != nil {
		return nil, err
	}
	out := all[:0]
	for _, m := range all {
		tree, err := o.applied(m.Tree)
		if err != nil {
			return nil, err
		}
		if tree != nil {
			out = append(out, manifest.New(m.Template, tree, m.Size))
		}
	}
	return out, nil
}

// api is the group of Kustomizations, which begins their annotations and labels.
const api = "kustomize.toolkit.fluxcd.io/"

// applied returns an object as Flux applies it, or nil if Flux does not. For an object that Flux
// only creates if it is missing, it returns the name only (kustomization_controller.go, apply).
func (o *overlay) applied(made manifest.Tree) (manifest.Tree, error) {
	if sops := manifest.At(made, "sops", "mac"); sops != nil {
		if o.Decryption == nil {
			return nil, fmt.Errorf("%v %q is encrypted, and spec.decryption is not there", made["kind"], manifest.At(made, "metadata", "name"))
		}
		return nil, source.NotFollowed{Text: fmt.Sprintf("%v %q is encrypted, and not followed", made["kind"], manifest.At(made, "metadata", "name"))}
	}
	metadata, _ := made["metadata"].(manifest.Tree)
	for part, all := range map[string]map[string]string{"labels": o.CommonMetadata.Labels, "annotations": o.CommonMetadata.Annotations} {
		of, _ := metadata[part].(manifest.Tree)
		if of == nil && len(all) > 0 {
			of = manifest.Tree{}
			metadata[part] = of
		}
		for key, value := range all {
			of[key] = value
		}
	}
	says := func(key, value string) bool {
		for _, part := range []string{"labels", "annotations"} {
			if v, _ := manifest.At(metadata, part, api+key).(string); strings.EqualFold(v, value) {
				return true
			}
		}
		return false
	}
	switch {
	case says("reconcile", "disabled"), says("ssa", "Ignore"):
		return nil, nil
	case says("ssa", "IfNotPresent"):
		return manifest.Tree{"apiVersion": made["apiVersion"], "kind": made["kind"], "metadata": manifest.Tree{"name": metadata["name"], "namespace": metadata["namespace"]}}, nil
	}
	return made, nil
}
