package expand

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
)

// pulls returns the object by which a hub's Flux pulls its artifact. No file of the fleet holds it:
// a user applies charts/agent-flux, which makes it.
func (h *Hub) pulls() *object.Object {
	return &object.Object{Engine: ownerHub, Pos: h.o.State.HubMember(h.o.Hub).KeyPos("remote_engine"), Tree: manifest.Tree{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
		"metadata": manifest.Tree{"name": "argosy", "namespace": "flux-system"},
		"spec":     manifest.Tree{"url": "oci://generator-plugin/flux/" + h.o.Hub + "/" + ownerHub},
	}}
}

// artifact returns the objects that an engine's Flux pulls, linked to what they deploy.
func (h *Hub) artifact(o *object.Object, id fleetstate.ID) []*object.Object {
	return h.linkFlux(h.artifacts(o, id))
}

// artifacts is artifact without the links.
func (h *Hub) artifacts(o *object.Object, id fleetstate.ID) []*object.Object {
	owned, err := flux.OwnedBy(h.o.State, id.Hub, id.Name)
	if err != nil {
		h.reportFailure(o, err)
		return nil
	}
	files, problems := flux.Render(owned)
	for _, p := range problem.Errors(problems) {
		h.report(p)
	}
	var out []*object.Object
	for _, f := range files {
		if f.Name == "kustomization.yaml" {
			continue
		}
		docs, err := manifest.Documents(snapshot.NewFile(f.Name, f.Data, int64(len(f.Data))))
		if err != nil {
			h.reportOf(o, problem.Error, oneLine(err))
			continue
		}
		for _, doc := range docs {
			if tree, ok := doc.Root.Any().(manifest.Tree); ok {
				out = append(out, &object.Object{Engine: o.Engine, Tree: manifest.Plain(tree), Parent: o, Pos: problem.Pos{File: o.Pos.File}})
			}
		}
	}
	return out
}
