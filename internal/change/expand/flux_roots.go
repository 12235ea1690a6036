package expand

import (
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/flux"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// FluxAlone is the hub's name for a repository without a fleet that has only objects of Flux.
const FluxAlone = "flux"

// fluxRoots returns the root Kustomizations of the clusters that run Flux. A folder with
// Kustomizations that no root leads to has not been bootstrapped: it gets the root that `flux
// bootstrap` would write. So does one with HelmReleases in a repository without Kustomizations.
// Each cluster has the name of its root's folder.
func (h *Hub) fluxRoots() (out []*object.Object) {
	var folders, others, releases []string
	var all []*object.Object
	for _, f := range h.o.Snapshot.FilesUnder("") {
		if !source.HasFlux(f, "kustomize", "source", "helm", "fluxcd") || !h.isNamed(f.Path) || source.TemplateOf(h.o.Snapshot, f) != "" {
			continue
		}
		if _, err := manifest.Objects(f); err != nil {
			h.reportUnread(problem.From(err, problem.InvalidYAML, problem.Pos{File: f.Path})[0])
			continue
		}
		objects, _ := h.writtenObjects(f, nil, "")
		all = append(all, objects...)
		for _, o := range objects {
			synced, at, url, revision := flux.Synced(o)
			switch dir := flux.RootFolder(o); {
			case synced != nil && !slices.Contains(folders, at) && len(h.o.Snapshot.Under(at)) > 0:
				h.urls[source.Address(url)] = revision
				folders, out = append(folders, at), append(out, h.linkFlux(synced)[0])
			case dir != "":
				folders = append(folders, dir)
				if h.linkFlux(flux.WithSource(o, objects, dir, folderURL)); o.Flux != nil { // not suspended
					h.urls[source.Address(o.Flux.Source.RepoURL)] = o.Flux.Source.Revision
				}
				out = append(out, o)
			case flux.IsKustomization(o) && path.Dir(f.Path) != ".":
				others = append(others, path.Dir(f.Path))
			case o.Kind() == "HelmRelease":
				releases = append(releases, path.Dir(f.Path))
			}
		}
	}
	if url, revision := flux.Address(all, h.o.Snapshot); url != "" && len(folders) == 0 {
		h.urls[source.Address(url)] = revision
	}
	isBelow := func(dir string, roots ...string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return strings.HasPrefix(dir, root+"/") })
	}
	if len(folders)+len(others)+len(h.o.Roots) == 0 {
		others = releases
	}
	others = slices.DeleteFunc(others, func(dir string) bool { return isBelow(dir+"/", folders...) || slices.Contains(folders, ".") })
	slices.Sort(others)
	others = slices.Compact(others)
	others = slices.DeleteFunc(slices.Clone(others), func(dir string) bool { return isBelow(dir, others...) })
	var bootstrapped []*object.Object
	for _, dir := range others {
		bootstrapped = append(bootstrapped, h.linkFlux(flux.Bootstrap(folderURL, dir))[0])
	}
	applied := map[string]bool{} // by the root of another folder
	for _, root := range slices.Concat(out, bootstrapped) {
		h.markApplied(root, applied)
	}
	return append(out, slices.DeleteFunc(bootstrapped, func(o *object.Object) bool { return applied[o.Engine] })...)
}

// markApplied marks the repository's folders that a root leads to, except its own. It follows
// suspended objects, too: their folders are not roots.
func (h *Hub) markApplied(root *object.Object, applied map[string]bool) {
	silent := &Hub{o: h.o, urls: h.urls, reported: map[string]bool{}, roots: []*object.Object{root}, resumes: true}
	silent.Walk(false, func(o *object.Object) bool {
		for _, dir := range silent.foldersOf(o) {
			applied[dir] = applied[dir] || dir != root.Engine
		}
		return true
	})
}
