// Package kustomize builds kustomizations with kustomize's library, as `kustomize build` does, which Argo CD calls.
//
// It reads nothing but the snapshot that it is given. The library would fetch what a kustomization names elsewhere (a URL, a Git
// repository), so each name is looked up before: one that is not in the snapshot, a plugin, or a chart is not followed.
package kustomize

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// Kustomizations is kustomize. The zero value is ready for use, by several goroutines.
type Kustomizations struct{}

var _ expand.Kustomizations = Kustomizations{}

// Folders are those that the kustomization in a folder is built of, sorted: its own, its bases and components, and theirs.
// What is beyond the snapshot is an expand.NotFollowed; any other error fails in Argo CD, too.
func (Kustomizations) Folders(s *snapshot.Snapshot, dir string) ([]string, error) {
	found := map[string]bool{}
	if err := visit(s, dir, found); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(found))
	for d := range found {
		out = append(out, d)
	}
	slices.Sort(out)
	return out, nil
}

// Build is what the kustomization in a folder makes. All of them come from its own file, as far as is told.
func (k Kustomizations) Build(s *snapshot.Snapshot, dir string) ([]expand.Manifest, error) {
	folders, err := k.Folders(s, dir)
	if err != nil {
		return nil, err
	}
	const root = "/"
	files := filesys.MakeFsInMemory()
	for _, folder := range folders {
		for _, f := range s.FilesUnder(folder) {
			if f.Err != nil {
				return nil, f.Err
			}
			if err := files.WriteFile(root+f.Path, f.Data); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Path, err)
			}
		}
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, root+dir)
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w", dir, err)
	}
	file := path.Base(fileOf(s, dir).Path)
	var out []expand.Manifest
	for _, r := range made.Resources() {
		text, err := r.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("kustomize build %s: %w", dir, err)
		}
		var tree expand.Tree
		if err := json.Unmarshal(text, &tree); err != nil {
			return nil, fmt.Errorf("kustomize build %s: %w", dir, err)
		}
		out = append(out, expand.NewManifest(file, tree, len(text)))
	}
	return out, nil
}

// fileOf is the kustomization of a folder, nil if it has none.
func fileOf(s *snapshot.Snapshot, dir string) *snapshot.File {
	for _, name := range expand.KustomizationFiles {
		if f := s.File(path.Join(dir, name)); f != nil {
			return f
		}
	}
	return nil
}

// visit adds a folder, and all that it is built of.
func visit(s *snapshot.Snapshot, dir string, found map[string]bool) error {
	if found[dir] {
		return nil // the library refuses circles
	}
	file := fileOf(s, dir)
	switch {
	case file == nil:
		return fmt.Errorf("%s has no kustomization", dir)
	case file.Err != nil:
		return file.Err
	}
	found[dir] = true
	var k types.Kustomization
	if err := k.Unmarshal(file.Data); err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	k.FixKustomization() // bases are resources, one env is of several
	if what := beyond(k); what != "" {
		return expand.NotFollowed{Text: fmt.Sprintf("%s has %s, which are not followed", file.Path, what)}
	}
	for _, name := range slices.Concat(k.Resources, k.Components) {
		p := path.Join(dir, name)
		switch {
		case isElsewhere(name, p):
			return expand.NotFollowed{Text: fmt.Sprintf("%s names %q, which is elsewhere, and not followed", file.Path, name)}
		case s.File(p) != nil:
		case !s.HasDir(p):
			return fmt.Errorf("%s names %q, which is not there", file.Path, name)
		default:
			if err := visit(s, p, found); err != nil {
				return err
			}
		}
	}
	for _, name := range filesOf(k) {
		if p := path.Join(dir, name); isElsewhere(name, p) || s.File(p) == nil {
			return expand.NotFollowed{Text: fmt.Sprintf("%s names %q, which is elsewhere or of a kind that is not read", file.Path, name)}
		}
	}
	return nil
}

// isElsewhere reports whether a name is one of another repository or host, or leaves this one.
func isElsewhere(name, joined string) bool {
	return strings.Contains(name, ":") || strings.HasPrefix(strings.ToLower(name), "github.com") || path.IsAbs(name) || joined == ".." || strings.HasPrefix(joined, "../")
}

// beyond names what a kustomization has that is not followed.
func beyond(k types.Kustomization) string {
	switch {
	case len(k.HelmCharts)+len(k.HelmChartInflationGenerator) > 0 || k.HelmGlobals != nil:
		return "Helm charts"
	case len(k.Generators)+len(k.Transformers)+len(k.Validators) > 0:
		return "plugins"
	}
	return ""
}

// filesOf are the files that a kustomization reads besides its resources.
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
		if !strings.ContainsAny(string(p), "\n:") {
			out = append(out, string(p))
		}
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
