// Package kustomize builds kustomizations with kustomize's library, as `kustomize build` does,
// which Argo CD calls. For Flux it builds as kustomize-controller does: it writes the
// kustomization, or parts of it, before the build, and replaces variables afterwards.
//
//	k := source.Kustomization{Snapshot: snap, Dir: "dns"}
//	objects, err := kustomize.Kustomizations{}.Build(k)
//	objects[0].Tree // {"kind": "Deployment", "metadata": {"name": "dns"}, ...}
//
// It reads only the given snapshot. The library would fetch a URL or a Git repository that a
// kustomization names, so each name is looked up before. A name outside the snapshot, or a plugin,
// is not followed. Helm charts are replaced by what the caller says that they make.
package kustomize

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Kustomizations builds with kustomize. The zero value is ready for use, by several goroutines.
type Kustomizations struct{}

var _ source.Kustomizations = Kustomizations{}

// Folders returns the folders from which a kustomization is built, sorted: its own, its bases and
// components, and theirs. It returns a source.NotFollowed for names beyond the snapshot; any other
// error fails in Argo CD or Flux, too.
func (Kustomizations) Folders(k source.Kustomization) ([]string, error) {
	t, _, err := treeOf(k)
	if err != nil {
		return nil, err
	}
	return t.folders(k.Dir)
}

// Build returns the objects that a kustomization makes. For Argo CD, all objects have the position
// of its own file.
func (Kustomizations) Build(k source.Kustomization) ([]manifest.Manifest, error) {
	t, overlay, err := treeOf(k)
	if err != nil {
		return nil, err
	}
	folders, err := t.folders(k.Dir)
	if err != nil {
		return nil, err
	}
	if err := t.writeCharts(folders, k.Inflated); err != nil {
		return nil, err
	}
	files, err := t.files(folders)
	if err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	if k.Flux != nil {
		// The file system holds nothing above the repository's root.
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	made, err := run(options, files, path.Join(root, k.Dir))
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w", k.Dir, err)
	}
	if k.Flux != nil {
		return overlay.finish(k.Flux, made)
	}
	return manifests(made, func(*resource.Resource) string { return path.Base(t.fileOf(k.Dir)) })
}

// root is the repository's root in the library's file system.
const root = "/"

// treeOf returns what a kustomization is built from.
func treeOf(k source.Kustomization) (tree, overlay, error) {
	if k.Flux == nil {
		t := tree{Snapshot: k.Snapshot, written: map[string][]byte{}, charts: true}
		return t, overlay{}, t.change(k.Dir, k.Options)
	}
	return fluxTree(k)
}

// files returns the files of folders in the library's file system.
func (t tree) files(folders []string) (filesys.FileSystem, error) {
	files := filesys.MakeFsInMemory()
	write := func(p string, data []byte) error {
		if err := files.WriteFile(root+p, data); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		return nil
	}
	for _, folder := range folders {
		for _, f := range t.FilesUnder(folder) {
			if t.isIgnored(f.Path) {
				continue
			}
			if f.Err != nil {
				return nil, f.Err
			}
			if err := write(f.Path, f.Data); err != nil {
				return nil, err
			}
		}
	}
	for p, data := range t.written {
		if err := write(p, data); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// one makes the library build one kustomization at a time: its schema is a global variable
// (kubernetes-sigs/kustomize#3659).
var one sync.Mutex

// run builds. It returns a panic as an error, as Flux does: the library panics on some invalid
// objects.
func run(options *krusty.Options, files filesys.FileSystem, dir string) (made resmap.ResMap, err error) {
	one.Lock()
	defer one.Unlock()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("kustomize panics: %v", r)
		}
	}()
	return krusty.MakeKustomizer(options).Run(files, dir)
}

// manifests returns the built objects, each with the file that it is from.
func manifests(made resmap.ResMap, file func(*resource.Resource) string) ([]manifest.Manifest, error) {
	var out []manifest.Manifest
	for _, r := range made.Resources() {
		if r.GetKind() == placeholder {
			continue
		}
		text, err := r.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.CurId(), err)
		}
		var tree manifest.Tree
		if err := json.Unmarshal(text, &tree); err != nil {
			return nil, fmt.Errorf("%s: %w", r.CurId(), err)
		}
		if metadata, is := tree["metadata"].(manifest.Tree); is && strings.HasPrefix(r.GetKind(), "ValidatingAdmissionPolicy") {
			delete(metadata, "namespace") // kustomize 5.8.3 knows that they have none
		}
		out = append(out, manifest.New(file(r), tree, len(text)))
	}
	return out, nil
}

// userOf matches what the library takes for the user of a Git repository (api v0.21.1,
// internal/git/repospec.go, extractUsername). The library tries git before it looks for a folder.
var userOf = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// isRemote reports whether a name belongs to another repository or host, or leaves this repository.
func isRemote(name, joined string) bool {
	return strings.Contains(name, ":") || userOf.MatchString(name) || strings.HasPrefix(strings.ToLower(name), "github.com") || path.IsAbs(name) || joined == ".." || strings.HasPrefix(joined, "../")
}

// beyond names a feature of a kustomization that is not followed. Flux builds none with charts.
func beyond(k types.Kustomization, charts bool) string {
	switch {
	case !charts && (len(k.HelmCharts) > 0 || k.HelmGlobals != nil):
		return "Helm charts"
	case len(k.Generators)+len(k.Transformers)+len(k.Validators) > 0:
		return "plugins"
	}
	return ""
}

// filesOf returns the files that a kustomization reads besides its resources.
func filesOf(k types.Kustomization) []string {
	out := slices.Concat(k.Crds, k.Configurations)
	if p := k.OpenAPI["path"]; p != "" {
		out = append(out, p)
	}
	//nolint:staticcheck // both are deprecated, and in use
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) {
		if p.Path != "" {
			out = append(out, p.Path)
		}
	}
	for _, p := range k.PatchesStrategicMerge { //nolint:staticcheck // the same
		// The library loads a text that it cannot decode, even from a URL (api v0.21.1,
		// PatchStrategicMergeTransformer.go, loadFromPaths).
		if decodes(provider.NewDefaultDepProvider().GetResourceFactory(), []byte(p)) != nil {
			out = append(out, string(p))
		}
	}
	for _, c := range k.HelmCharts {
		out = append(out, valueFiles(c)...)
	}
	for _, r := range k.Replacements {
		if r.Path != "" {
			out = append(out, r.Path)
		}
	}
	add := func(sources types.KvPairSources) {
		for _, f := range sources.FileSources {
			if _, name, named := strings.Cut(f, "="); named {
				f = name
			}
			out = append(out, f)
		}
		out = append(out, sources.EnvSources...)
	}
	for _, g := range k.ConfigMapGenerator {
		add(g.KvPairSources)
	}
	for _, g := range k.SecretGenerator {
		add(g.KvPairSources)
	}
	return out
}
