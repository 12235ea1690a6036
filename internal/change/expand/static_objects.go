package expand

import (
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/flux"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Static returns the objects by which an engine without the plugin runs the same workloads. They
// are the Applications at the end of its ApplicationSets, or Flux's objects of its artifact, and
// the other objects of the roots. ApplicationSets, and Applications that only deploy them, are left
// out. An error among the Problems means that something is missing.
func (h *Hub) Static(owner string) []*object.Object {
	var out []*object.Object
	brings := map[object.Key]bool{}
	h.Walk(false, func(o *object.Object) bool {
		if p := o.Parent; p != nil && o.ApplicationSet() && o.Engine == p.Engine {
			brings[p.Key()] = true
		}
		isOwn := o.Application() && (o.Parent != nil || h.o.HasNoFleet && !isFolderRoot(o)) || flux.OfArtifact(o)
		if isOwn && (o.Engine == owner || h.o.HasNoFleet) || h.o.HasNoFleet && o.Flux != nil && !isFolderRoot(o) {
			out = append(out, o.Unsteered().WithoutDigest())
		}
		return true
	})
	out = slices.DeleteFunc(out, func(o *object.Object) bool { return brings[o.Key()] || h.isBootstrap(o) })
	if owner == ownerHub && !h.o.HasNoFleet {
		out = append(out, h.rootObjects()...)
	}
	slices.SortStableFunc(out, func(a, b *object.Object) int { return object.CompareKeys(a.Key(), b.Key()) })
	return out
}

// isBootstrap reports whether an Application exists to bring ApplicationSets, even if it brings
// none: a release without a deployed component, or the Application of the roots' folder.
func (h *Hub) isBootstrap(o *object.Object) bool {
	if !o.Application() {
		return false
	}
	isRelease := o.Entry.Release != "" && o.Entry.Group != "" && o.Entry.Component == ""
	return isRelease || slices.ContainsFunc(o.Sources(), func(s source.Source) bool {
		_, ours := h.urls[source.Address(s.RepoURL)]
		return ours && path.Clean(s.Path) == path.Join(Bootstrap, h.o.Hub)
	})
}

// Pipeline returns all objects of an engine's pipeline, unchanged but for digests: its roots,
// ApplicationSets and Applications, the other objects of the roots, and Flux's objects of its
// artifact.
func (h *Hub) Pipeline(owner string) []*object.Object {
	var out []*object.Object
	h.Walk(false, func(o *object.Object) bool {
		if (o.Engine == owner || h.o.HasNoFleet) && (follows(o) && !h.isPlaceholder(o) && !isFolderRoot(o) || flux.OfArtifact(o)) {
			out = append(out, o.WithoutDigest())
		}
		return true
	})
	if owner == ownerHub {
		out = append(out, h.rootObjects()...)
	}
	slices.SortStableFunc(out, func(a, b *object.Object) int { return object.CompareKeys(a.Key(), b.Key()) })
	return out
}

// isPlaceholder reports whether an object stands for one that a user applies and no file holds.
func (h *Hub) isPlaceholder(o *object.Object) bool {
	return o.Parent == nil && flux.ArtifactOwner(o) != nil && o.Document == nil
}

// rootObjects returns the other objects of the roots, such as projects.
func (h *Hub) rootObjects() []*object.Object {
	var out []*object.Object
	for _, o := range h.roots {
		if !o.Application() {
			out = append(out, o)
			continue
		}
		for _, p := range h.parts(o) {
			if p.chart != nil && ownChart(p.source) == nil {
				continue
			}
			objects, _ := h.objects(o, p)
			for _, x := range objects {
				// The rest of our own chart is the service.
				if p.chart == nil || x.Kind() == "AppProject" {
					out = append(out, x)
				}
			}
		}
	}
	return slices.DeleteFunc(out, follows)
}

// Lists is Static with ApplicationSets that have a list generator instead of Applications. Each has
// the name, policy and steps of the ApplicationSet that makes its Applications.
func (h *Hub) Lists(owner string) []*object.Object {
	sets := map[object.Key][]*object.Object{}
	var out []*object.Object
	for _, o := range h.Static(owner) {
		if !o.Application() || !o.Parent.IsSet() {
			out = append(out, o)
			continue
		}
		k := o.Parent.Key()
		if sets[k] == nil {
			out = append(out, o.Parent)
		}
		sets[k] = append(sets[k], o)
	}
	for i, o := range out {
		if applications := sets[o.Key()]; o.ApplicationSet() {
			out[i] = &object.Object{Engine: o.Engine, Parent: o.Parent, Pos: o.Pos, Tree: listed(o, applications)}
		}
	}
	slices.SortStableFunc(out, func(a, b *object.Object) int { return object.CompareKeys(a.Key(), b.Key()) })
	return out
}

// listed returns an ApplicationSet that makes the given Applications. Its patch sets all fields but
// the project, which a patch cannot set.
func listed(o *object.Object, applications []*object.Object) manifest.Tree {
	tree, spec := manifest.Copy(o.Tree), manifest.Copy(o.Tree["spec"])
	elements := make([]any, len(applications))
	for i, a := range applications {
		metadata := manifest.Copy(a.Tree["metadata"])
		delete(metadata, "namespace") // the ApplicationSet's own
		elements[i] = manifest.Tree{"metadata": metadata, "spec": a.Tree["spec"]}
	}
	spec["goTemplate"], spec["goTemplateOptions"] = true, []any{"missingkey=error"}
	spec["generators"] = []any{manifest.Tree{"list": manifest.Tree{"elements": elements}}}
	spec["template"] = manifest.Tree{
		"metadata": manifest.Tree{"name": "{{ .metadata.name }}"},
		"spec":     manifest.Tree{"project": "{{ .spec.project }}", "destination": manifest.Tree{}},
	}
	spec["templatePatch"] = strings.Join([]string{"metadata: {{ .metadata | toJson }}", "spec: {{ .spec | toJson }}", ""}, "\n")
	tree["spec"] = spec
	return tree
}
