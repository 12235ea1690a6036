package expand

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// The kinds of a source, as Argo CD names them.
const (
	kindDirectory = "Directory"
	kindHelm      = "Helm"
	kindKustomize = "Kustomize"
	kindPlugin    = "Plugin"
)

// explicit are the kinds that a source names by having options of them. Empty ones count where an Application has several
// sources, as Argo CD drops them of a single one.
//
// Source: argo-cd v2.14 and v3.2, pkg/apis/application/v1alpha1/types.go, ExplicitType; util/argo/argo.go, NormalizeApplicationSpec.
func explicit(of Tree, several bool) []string {
	var out []string
	for _, kind := range []string{kindKustomize, kindHelm, kindDirectory, kindPlugin} {
		options, there := of[strings.ToLower(kind)].(Tree)
		if there && (several || kind == kindPlugin || !isZero(options)) {
			out = append(out, kind)
		}
	}
	return out
}

// isZero reports whether options say nothing.
func isZero(v any) bool {
	switch v := v.(type) {
	case Tree:
		for _, below := range v {
			if !isZero(below) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return v == nil || v == "" || v == false
}

// kind is what Argo CD takes a source for: what its options say, else what is in its folder.
//
// Source: ibid., util/app/discovery/discovery.go, Discover: of both files, the one that comes last by its name.
func (s source) kind(f *folder) (string, error) {
	switch {
	case len(s.explicit) > 1:
		return "", fmt.Errorf("the source has options of several kinds: %s; Argo CD takes one", strings.Join(s.explicit, ", "))
	case slices.Equal(s.explicit, []string{kindPlugin}):
		return "", NotFollowed{Text: fmt.Sprintf("%s is for a plugin of Argo CD's, which is not followed", f.dir)}
	case slices.Equal(s.explicit, []string{kindHelm}) && !f.helm:
		return "", fmt.Errorf("%s has no Chart.yaml, and the source has options of Helm for it", f.dir)
	case len(s.explicit) == 1:
		return s.explicit[0], nil
	case f.kustomize:
		return kindKustomize, nil
	case f.helm:
		return kindHelm, nil
	}
	return kindDirectory, nil
}

// directory is which files of a folder Argo CD reads as manifests: spec.source.directory.
type directory struct {
	recurse          bool
	include, exclude string
}

func directoryOf(source Tree) directory {
	recurse, _ := At(source, "directory", "recurse").(bool)
	return directory{recurse, text(source, "directory", "include"), text(source, "directory", "exclude")}
}

// given is all that tells which files are read.
func (d directory) given() any { return []any{d.recurse, d.include, d.exclude} }

// skipMarker in a file has Argo CD leave it out: 3.0 and later, but nobody writes it for an older one.
const skipMarker = "+argocd:skip-file-rendering"

// files are those of a folder that are read, and those that are programs, in Jsonnet.
//
// Source: ibid., reposerver/repository/repository.go, getPotentiallyValidManifests.
func (d directory) files(f *folder) (manifests, jsonnet []*snapshot.File) {
	include, exclude := globOf(d.include), globOf(d.exclude)
	var linked []string // folders that are links, which are not followed
	for _, l := range f.snap.Beside().LinkedFolders {
		if l == f.dir || strings.HasPrefix(l, f.dir+"/") {
			linked = append(linked, l+"/")
		}
	}
	for _, file := range f.files {
		program := path.Ext(file.Path) == ".jsonnet"
		relative := below(f.dir, file.Path)
		switch {
		case !program && !isManifest(file.Path):
		case !d.recurse && strings.Contains(relative, "/"):
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

// globOf is a pattern as Argo CD has it: over the whole path, where * takes slashes, too. What is no pattern matches nothing.
//
// Source: ibid., util/glob/glob.go.
func globOf(pattern string) glob.Glob {
	g, err := glob.Compile(pattern)
	if err != nil {
		return nothing{}
	}
	return g
}

type nothing struct{}

func (nothing) Match(string) bool { return false }

// programs says of some that they are not run.
func programs(jsonnet []*snapshot.File) string {
	if n := len(jsonnet) - 1; n > 0 {
		return fmt.Sprintf("%s and %d more are programs in Jsonnet: what they make is not followed", jsonnet[0].Path, n)
	}
	return jsonnet[0].Path + " is a program in Jsonnet: what it makes is not followed"
}

// manifestsIn are the objects that stand in a folder; ok is false where Argo CD fails on it, which is named.
func (h *Hub) manifestsIn(f *folder, o *Object, d directory) (out []*Object, ok bool) {
	files, jsonnet := d.files(f)
	if len(jsonnet) > 0 {
		h.faultAt(o, problem.Pos{File: jsonnet[0].Path}, problem.Warning, programs(jsonnet))
	}
	ok = true
	for _, file := range files {
		objects, read := h.written(file, o, h.runsOn(o))
		out, ok = append(out, objects...), ok && read
	}
	return out, ok
}
