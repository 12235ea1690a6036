package source

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// The kinds of a source, as Argo CD names them.
const (
	KindDirectory = "Directory"
	KindHelm      = "Helm"
	KindKustomize = "Kustomize"
	kindPlugin    = "Plugin"
)

// explicit returns the kinds for which a source has options. Empty options count only where an
// Application has several sources: Argo CD drops them from a single source.
//
// Source: argo-cd v2.14 and v3.2, pkg/apis/application/v1alpha1/types.go, ExplicitType;
// util/argo/argo.go, NormalizeApplicationSpec.
func explicit(of manifest.Tree, several bool) []string {
	var out []string
	for _, kind := range []string{KindKustomize, KindHelm, KindDirectory, kindPlugin} {
		options, there := of[strings.ToLower(kind)].(manifest.Tree)
		if there && (several || kind == kindPlugin || !isZero(options)) {
			out = append(out, kind)
		}
	}
	return out
}

// isZero reports whether options are empty.
func isZero(v any) bool {
	switch v := v.(type) {
	case manifest.Tree:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(below any) bool { return !isZero(below) })
	case []any:
		return len(v) == 0
	}
	return v == nil || v == "" || v == false
}

// Kind returns the kind that Argo CD takes a source for: by its options, else by the files of its
// folder.
//
// Source: ibid., util/app/discovery/discovery.go, Discover: of both files, the later by name.
func (s Source) Kind(f *Folder) (string, error) {
	switch {
	case len(s.Explicit) > 1:
		return "", fmt.Errorf("the source has options of several kinds: %s; Argo CD takes one", strings.Join(s.Explicit, ", "))
	case slices.Equal(s.Explicit, []string{kindPlugin}):
		return "", NotFollowed{Text: fmt.Sprintf("%s is for a plugin of Argo CD's, which is not followed", f.Dir)}
	case slices.Equal(s.Explicit, []string{KindHelm}) && !f.helm:
		return "", fmt.Errorf("%s has no Chart.yaml, and the source has options of Helm for it", f.Dir)
	case len(s.Explicit) == 1:
		return s.Explicit[0], nil
	case f.kustomize:
		return KindKustomize, nil
	case f.helm:
		return KindHelm, nil
	}
	return KindDirectory, nil
}

// Directory selects the files of a folder that Argo CD reads as manifests: spec.source.directory.
type Directory struct {
	Recurse          bool
	include, exclude string
}

func directoryOf(source manifest.Tree) Directory {
	recurse, _ := manifest.At(source, "directory", "recurse").(bool)
	return Directory{recurse, manifest.Text(source, "directory", "include"), manifest.Text(source, "directory", "exclude")}
}

// Options returns all options, for a key.
func (d Directory) Options() any { return []any{d.Recurse, d.include, d.exclude} }

// skipMarker makes Argo CD 3.0 and later leave a file out.
const skipMarker = "+argocd:skip-file-rendering"

// Files returns the manifests of a folder, and its Jsonnet programs.
//
// Source: ibid., reposerver/repository/repository.go, getPotentiallyValidManifests.
func (d Directory) Files(f *Folder) (manifests, jsonnet []*snapshot.File) {
	include, exclude := globOf(d.include), globOf(d.exclude)
	var linked []string // folders that are links, which are not followed
	for _, l := range f.Snapshot.Beside().LinkedFolders {
		if l == f.Dir || strings.HasPrefix(l, f.Dir+"/") {
			linked = append(linked, l+"/")
		}
	}
	for _, file := range f.Files {
		program := path.Ext(file.Path) == ".jsonnet"
		relative := Relative(f.Dir, file.Path)
		switch {
		case !program && !manifest.IsFile(file.Path):
		case !d.Recurse && strings.Contains(relative, "/"):
		case slices.ContainsFunc(linked, func(l string) bool { return strings.HasPrefix(file.Path, l) }):
		case d.exclude != "" && exclude.Match(relative):
		case d.include != "" && !include.Match(relative):
		case bytes.Contains(file.Data, []byte(skipMarker)):
		case program:
			jsonnet = append(jsonnet, file)
		default:
			manifests = append(manifests, file)
		}
	}
	return manifests, jsonnet
}

// globOf returns a pattern as Argo CD reads it: it matches the whole path, and * matches slashes,
// too. An invalid pattern matches nothing.
//
// Source: ibid., util/glob/glob.go.
func globOf(pattern string) glob.Glob {
	g, err := glob.Compile(pattern)
	if err != nil {
		return glob.MustCompile("") // no path is empty
	}
	return g
}

// JsonnetNotFollowed says that Jsonnet programs are not run.
func JsonnetNotFollowed(jsonnet []*snapshot.File) string {
	if n := len(jsonnet) - 1; n > 0 {
		return fmt.Sprintf("%s and %d more are programs in Jsonnet: what they make is not followed", jsonnet[0].Path, n)
	}
	return jsonnet[0].Path + " is a program in Jsonnet: what it makes is not followed"
}
