package expand

import (
	"fmt"
	"path"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/flux"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// follows reports whether expansion follows an object.
func follows(o *object.Object) bool {
	return o.ApplicationSet() || o.Deploys() || flux.ArtifactOwner(o) != nil
}

// objects returns the objects that a part makes. Without ok it failed, which is reported. The
// objects share their trees with the objects of earlier calls.
func (h *Hub) objects(o *object.Object, p part) (out []*object.Object, ok bool) {
	switch {
	case p.err != nil:
		h.reportUnmade(o, p.source, p.err)
		return nil, false
	case p.chart == nil && p.built == nil:
		out, ok = h.manifestsIn(p.folder, o, p.source.Directory)
		return h.linkFlux(h.setNamespaces(o, out)), ok
	}
	manifests, err := h.manifests(p)
	if err != nil {
		h.reportUnrendered(o, p, err)
		return nil, false
	}
	engine, pos := h.runsOn(o), o.Pos
	for _, m := range manifests {
		if p.folder != nil {
			pos = problem.Pos{File: path.Join(p.folder.Dir, m.Template)}
		}
		list, several := manifest.Items(m.Tree)
		if !several {
			out = append(out, &object.Object{Engine: engine, Tree: m.Tree, Parent: o, Pos: pos, Sum: m.Digest})
		}
		for _, tree := range list {
			out = append(out, &object.Object{Engine: engine, Tree: tree, Parent: o, Pos: pos})
		}
	}
	return h.linkFlux(h.setNamespaces(o, out)), true
}

// setNamespaces puts objects without a namespace into the Application's, as Argo CD does. It covers
// only followed kinds, because expansion does not know which other kinds have namespaces.
func (h *Hub) setNamespaces(o *object.Object, objects []*object.Object) []*object.Object {
	namespace := manifest.Text(o.Tree, "spec", "destination", "namespace")
	for i, x := range objects {
		annotations, _ := manifest.At(x.Tree, "metadata", "annotations").(manifest.Tree)
		for key, value := range annotations {
			if _, isText := value.(string); !isText && o.Application() {
				h.reportAt(o, x.Pos, problem.Error, fmt.Sprintf("annotation %s of %s is not text, which Argo CD does not take", key, x.Key()))
			}
		}
		if namespace == "" || !x.ApplicationSet() && !x.Application() || manifest.Text(x.Tree, "metadata", "namespace") != "" {
			continue
		}
		tree, metadata := manifest.Copy(x.Tree), manifest.Copy(x.Tree["metadata"])
		metadata["namespace"], tree["metadata"] = namespace, metadata
		settled := *x
		settled.Tree, settled.Sum = tree, nil
		objects[i] = &settled
	}
	return objects
}

// linkFlux sets what Flux's objects deploy.
func (h *Hub) linkFlux(objects []*object.Object) []*object.Object {
	warn := func(o *object.Object, found string) {
		if h.o.HasNoFleet { // a fleet's ResourceSets get its parameter sets, which are followed
			h.reportOf(o, problem.Warning, found)
		}
	}
	return flux.Linker{Renders: h.Renders(), Resumes: h.resumes, Artifact: h.artifacts, IsOwn: h.isOwn, Warn: warn}.Link(objects)
}
