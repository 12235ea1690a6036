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

// FluxAlone is the name of a hub without a fleet where nothing is of Argo CD.
const FluxAlone = "flux"

// fluxRoots returns the Kustomizations that Flux's clusters begin with: those that apply their own
// folder, and one for each other folder whose Kustomizations none of them applies. A cluster is
// named like its folder.
func (h *Hub) fluxRoots() (out []*object.Object) {
	var others, begun []string
	var all []*object.Object
	for _, f := range h.o.Snapshot.FilesUnder("") {
		if !source.MayBeOfFlux(f) || !h.isNamed(f.Path) || source.TemplateOf(h.o.Snapshot, f) != "" {
			continue
		}
		if _, err := manifest.Objects(f); err != nil {
			h.reportUnread(problem.From(err, problem.InvalidYAML, problem.Pos{File: f.Path})[0])
			continue
		}
		objects, _ := h.writtenObjects(f, nil, "")
		all = append(all, objects...)
		for _, o := range objects {
			switch dir := flux.Begins(o); {
			case dir != "":
				begun = append(begun, dir)
				if h.linkFlux(flux.Begin(objects, o, dir, folderURL)); o.Flux != nil { // not suspended
					h.urls[source.Address(o.Flux.Source.RepoURL)] = o.Flux.Source.Revision
				}
				out = append(out, o)
			case flux.IsKustomization(o) && path.Dir(f.Path) != ".":
				others = append(others, path.Dir(f.Path))
			}
		}
	}
	if url, revision := flux.Address(all, h.o.Snapshot); url != "" && len(begun) == 0 {
		h.urls[source.Address(url)] = revision
	}
	isBelow := func(dir string, roots ...string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return strings.HasPrefix(dir, root+"/") })
	}
	others = slices.DeleteFunc(others, func(dir string) bool { return isBelow(dir+"/", begun...) })
	slices.Sort(others)
	others = slices.Compact(others)
	others = slices.DeleteFunc(slices.Clone(others), func(dir string) bool { return isBelow(dir, others...) })
	var standIns []*object.Object
	for _, dir := range others {
		standIns = append(standIns, h.linkFlux(flux.Bootstrap(folderURL, dir))[0])
	}
	applied := map[string]bool{} // by another one
	for _, o := range slices.Concat(out, standIns) {
		h.applies(o, applied)
	}
	return append(out, slices.DeleteFunc(standIns, func(o *object.Object) bool { return applied[o.Engine] })...)
}

// applies notes the folders of this repository that a Kustomization leads to, except its own; also
// by what is suspended now.
func (h *Hub) applies(o *object.Object, to map[string]bool) {
	silent := &Hub{o: h.o, urls: h.urls, reported: map[string]bool{}, roots: []*object.Object{o}, resumes: true}
	silent.Walk(false, func(x *object.Object) bool {
		for _, p := range silent.parts(x) {
			for _, f := range p.folders() {
				to[f.Dir] = to[f.Dir] || f.Dir != o.Engine
			}
		}
		return true
	})
}
