package source

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// applicationKind matches a file that may have an Application or an ApplicationSet.
var applicationKind = regexp.MustCompile(`(?m)^\s*(?:-\s+)?["']?kind["']?\s*:\s*["']?Application(?:Set)?["']?\s*(?:#.*|,\s*)?$`)

// MayMakeApplications reports whether a file has Applications or ApplicationSets, also as a chart's
// template, or is a chart with a dependency that makes them of values.
func MayMakeApplications(f *snapshot.File) bool {
	return MakesByDependency(f) || f != nil && manifest.IsFile(f.Path) && bytes.Contains(f.Data, []byte("argoproj.io/")) && applicationKind.Match(f.Data)
}

// appsChart matches Argo CD's own chart for that in a Chart.yaml.
var appsChart = regexp.MustCompile(`(?m)^\s*(?:-\s+)?name\s*:\s*["']?argocd-apps["']?\s*$`)

// MakesByDependency reports whether a file is a chart with such a dependency.
func MakesByDependency(f *snapshot.File) bool {
	return f != nil && path.Base(f.Path) == "Chart.yaml" && appsChart.Match(f.Data)
}

// MakesApplications reports whether what a source deploys from a repository has Applications or
// ApplicationSets: a kustomization, a chart, or plain manifests.
func MakesApplications(snap *snapshot.Snapshot, s Source) bool {
	return makesApplications(snap, path.Clean(s.Path), s.Directory.Recurse, map[string]bool{})
}

func makesApplications(snap *snapshot.Snapshot, at string, recurse bool, seen map[string]bool) bool {
	if seen[at] {
		return false
	}
	seen[at] = true
	if f := KustomizationOf(snap, at); f != nil {
		return slices.ContainsFunc(Resources(f), func(below string) bool { return makesApplications(snap, below, recurse, seen) })
	}
	if snap.File(path.Join(at, "Chart.yaml")) != nil {
		if MakesByDependency(snap.File(path.Join(at, "Chart.yaml"))) {
			return true
		}
		at, recurse = path.Join(at, "templates"), true
	}
	return MayMakeApplications(snap.File(at)) || slices.ContainsFunc(snap.FilesUnder(at), func(f *snapshot.File) bool {
		return MayMakeApplications(f) && (recurse || !strings.Contains(Relative(at, f.Path), "/"))
	})
}

// KustomizationOf returns the kustomization of a folder; nil for none.
func KustomizationOf(snap *snapshot.Snapshot, dir string) *snapshot.File {
	for _, name := range KustomizationFiles {
		if f := snap.File(path.Join(dir, name)); f != nil {
			return f
		}
	}
	return nil
}

// keysOf returns the keys of a kustomization; nil for another file.
func keysOf(f *snapshot.File) manifest.Tree {
	if !slices.Contains(KustomizationFiles, path.Base(f.Path)) {
		return nil
	}
	doc, err := yamldoc.ParseLenient(f.Path, f.Data, nil)
	if err != nil {
		return nil
	}
	t, _ := doc.Root.Any().(manifest.Tree)
	return t
}

// transformers are the keys of a kustomization that change the objects below it.
var transformers = []string{"patches", "patchesStrategicMerge", "patchesJson6902", "namePrefix", "nameSuffix", "replacements", "vars", "transformers", "components"}

// Transforms reports whether a file is a kustomization that changes the objects below it.
func Transforms(f *snapshot.File) bool {
	t := keysOf(f)
	return slices.ContainsFunc(transformers, func(key string) bool { return t[key] != nil })
}

// Resources returns the files and folders that a kustomization names; nil for another file.
func Resources(f *snapshot.File) (out []string) {
	t := keysOf(f)
	for _, key := range []string{"resources", "bases", "components"} {
		for _, r := range manifest.Strings(t[key]) {
			out = append(out, path.Join(path.Dir(f.Path), r))
		}
	}
	return out
}

// TemplateOf returns the folder of the chart that a file is a template of; empty for another file.
func TemplateOf(snap *snapshot.Snapshot, f *snapshot.File) string {
	for dir := path.Dir(f.Path); dir != path.Dir(dir); dir = path.Dir(dir) {
		if path.Base(dir) == "templates" && snap.File(path.Join(path.Dir(dir), "Chart.yaml")) != nil && bytes.Contains(f.Data, []byte("{{")) {
			return path.Dir(dir)
		}
	}
	return ""
}

// AddressOf returns the URL and the revision by which Applications and ApplicationSets name their
// own repository: the one whose paths it has most often, or the only one. Empty if it has none.
func AddressOf(snap *snapshot.Snapshot, applications []any) (url, revision string, isOnly bool) {
	here, urls, revisions := map[string]int{}, map[string]string{}, map[string]map[string]int{}
	var count func(v any)
	count = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				count(x)
			}
		case manifest.Tree:
			for key, x := range v {
				if sources, is := x.([]any); is && key == "sources" {
					x = withValueFiles(sources)
				}
				count(x)
			}
			address := Address(manifest.Text(v, "repoURL"))
			if address == "" || strings.Contains(address, "{{") || v["chart"] != nil || !hasPaths(snap, v) {
				return
			}
			if here[address]++; revisions[address] == nil {
				urls[address], revisions[address] = manifest.Text(v, "repoURL"), map[string]int{}
			}
			revisions[address][cmp.Or(manifest.Text(v, "targetRevision"), manifest.Text(v, "revision"))]++
		}
	}
	count(applications)
	most := func(of map[string]int) (out string) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if out == "" || of[key] > of[out] {
				out = key
			}
		}
		return out
	}
	address := most(here)
	return urls[address], most(revisions[address]), len(here) == 1
}

// withValueFiles returns sources with the value files that others name by a source's ref as its
// files.
func withValueFiles(sources []any) []any {
	out := slices.Clone(sources)
	for i, s := range out {
		ref := manifest.Text(s, "ref")
		if ref == "" {
			continue
		}
		var files []any
		for _, other := range sources {
			for _, name := range manifest.Strings(manifest.At(other, "helm", "valueFiles")) {
				if rest, is := strings.CutPrefix(name, "$"+ref+"/"); is {
					files = append(files, manifest.Tree{"path": rest})
				}
			}
		}
		named := manifest.Copy(s)
		named["files"], out[i] = files, named
	}
	return out
}

// hasPaths reports whether a repository has a path of a source or of a generator, as far as it is
// no template.
func hasPaths(snap *snapshot.Snapshot, of manifest.Tree) bool {
	paths := []string{manifest.Text(of, "path")}
	for _, key := range []string{"directories", "files"} {
		list, _ := of[key].([]any)
		for _, x := range list {
			paths = append(paths, manifest.Text(x, "path"))
		}
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		if i := strings.IndexAny(p, "*{?["); i >= 0 {
			p = path.Dir(p[:i] + "x")
		}
		p = path.Clean(p)
		return p != "." && (snap.File(p) != nil || len(snap.Under(p)) > 0)
	})
}

// FluxIn says what a repository has of Flux; empty for nothing.
func FluxIn(snap *snapshot.Snapshot) string {
	var files []string
	for _, f := range snap.FilesUnder("") {
		if HasFlux(f, "kustomize", "helm") {
			files = append(files, f.Path)
		}
	}
	if len(files) == 0 {
		return ""
	}
	have := "1 file has"
	if len(files) > 1 {
		have = fmt.Sprintf("%d files have", len(files))
	}
	return fmt.Sprintf("%s Kustomizations or HelmReleases of Flux, as %s", have, files[0])
}

// HasFlux reports whether a file may have an object of one of Flux's API groups, such as kustomize,
// or fluxcd for its operator's.
func HasFlux(f *snapshot.File, groups ...string) bool {
	return f != nil && manifest.IsFile(f.Path) && slices.ContainsFunc(fluxGroup.FindAllSubmatch(f.Data, -1), func(m [][]byte) bool { return slices.Contains(groups, string(m[1])) })
}

var fluxGroup = regexp.MustCompile(`(?m)^apiVersion:\s*["']?(\w+)\.(?:toolkit\.fluxcd|controlplane)\.io/`)

// MayBeOfFlux reports whether a file may have a Kustomization or a HelmRelease of Flux.
func MayBeOfFlux(f *snapshot.File) bool { return HasFlux(f, "kustomize", "helm") }

// HasKustomizations reports whether a file may have a Kustomization, or a folder such a file.
func HasKustomizations(snap *snapshot.Snapshot, at string) bool {
	has := func(f *snapshot.File) bool { return HasFlux(f, "kustomize") }
	return has(snap.File(path.Clean(at))) || slices.ContainsFunc(snap.FilesUnder(path.Clean(at)), has)
}
