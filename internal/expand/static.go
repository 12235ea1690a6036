package expand

import (
	"slices"
	"strings"
)

// Static are the objects that do for an engine without the plugin what its roots do with it: the Applications that are at the end
// of its ApplicationSets, or for Flux what its artifact holds, and what else stands beside the roots. Left out are ApplicationSets,
// and the Applications that bring nothing else. An error among the Problems means that something is missing.
func (h *Hub) Static(owner string) []*Object {
	var out []*Object
	brings := map[Key]bool{}
	h.Walk(false, func(o *Object) bool {
		if p := o.Parent; p != nil && o.ApplicationSet() && o.Engine == p.Engine {
			brings[p.Key()] = true
		}
		if o.Engine == owner && (o.Application() && o.Parent != nil || o.ofArtifact()) {
			out = append(out, o.unsteered())
		}
		return true
	})
	out = slices.DeleteFunc(out, func(o *Object) bool { return brings[o.Key()] })
	if owner == ownerHub {
		out = append(out, h.beside()...)
	}
	slices.SortStableFunc(out, func(a, b *Object) int { return compareKeys(a.Key(), b.Key()) })
	return out
}

// Pipeline are all objects of an engine on the way, as they are before any of it is left out or put into a list: its roots,
// ApplicationSets and Applications, what stands beside the roots, and for Flux what its artifact holds.
func (h *Hub) Pipeline(owner string) []*Object {
	var out []*Object
	h.Walk(false, func(o *Object) bool {
		if o.Engine == owner && (follows(o) && !h.handmade(o) || o.ofArtifact()) {
			out = append(out, o)
		}
		return true
	})
	if owner == ownerHub {
		out = append(out, h.beside()...)
	}
	slices.SortStableFunc(out, func(a, b *Object) int { return compareKeys(a.Key(), b.Key()) })
	return out
}

// handmade reports whether an object stands for what is applied by hand, and in no file.
func (h *Hub) handmade(o *Object) bool { return o.Parent == nil && fluxOwner(o) != nil && o.doc == nil }

// beside is what else the roots bring: projects, for one.
func (h *Hub) beside() []*Object {
	var out []*Object
	for _, o := range h.roots {
		if !o.Application() {
			out = append(out, o)
			continue
		}
		for _, p := range h.parts(o) {
			if p.chart == nil {
				objects, _ := h.objects(o, p)
				out = append(out, objects...)
			}
		}
	}
	return slices.DeleteFunc(out, follows)
}

// Lists are Static's Applications as ApplicationSets with a list for a generator: one for each that makes them now, which keeps
// its name, policy and steps. What else there is stays as it is.
func (h *Hub) Lists(owner string) []*Object {
	sets := map[Key][]*Object{}
	var out []*Object
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
			out[i] = &Object{Engine: o.Engine, Parent: o.Parent, Pos: o.Pos, Tree: listed(o, applications)}
		}
	}
	slices.SortStableFunc(out, func(a, b *Object) int { return compareKeys(a.Key(), b.Key()) })
	return out
}

// listed is an ApplicationSet that makes given Applications. A patch brings all but the project, which a patch cannot set.
func listed(o *Object, applications []*Object) Tree {
	tree, spec := copyOf(o.Tree), copyOf(o.Tree["spec"])
	elements := make([]any, len(applications))
	for i, a := range applications {
		metadata := copyOf(a.Tree["metadata"])
		delete(metadata, "namespace") // the ApplicationSet's own
		elements[i] = Tree{"metadata": metadata, "spec": a.Tree["spec"]}
	}
	spec["goTemplate"], spec["goTemplateOptions"] = true, []any{"missingkey=error"}
	spec["generators"] = []any{Tree{"list": Tree{"elements": elements}}}
	spec["template"] = Tree{
		"metadata": Tree{"name": "{{ .metadata.name }}"},
		"spec":     Tree{"project": "{{ .spec.project }}", "destination": Tree{}},
	}
	spec["templatePatch"] = strings.Join([]string{"metadata: {{ .metadata | toJson }}", "spec: {{ .spec | toJson }}", ""}, "\n")
	tree["spec"] = spec
	return tree
}
