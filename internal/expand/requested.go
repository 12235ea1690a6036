package expand

import (
	"strings"

	"github.com/argosy-hub/argosy/internal/expand/manifest"
	"github.com/argosy-hub/argosy/internal/expand/object"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/roots"
)

// Requests are the queries to the plugin that a hub's roots lead to.
type Requests struct {
	// unknown means that some object is not followed: it may query for anything.
	unknown bool
	groups  map[query.View]map[string]bool // anyGroup for one that only a generator knows
}

// anyGroup stands for every group: a parameter of another generator names it.
const anyGroup = ""

// Requests finds the ApplicationSets among the roots, and in what root Applications deploy to the
// hub's engine.
func (h *Hub) Requests() Requests {
	r := Requests{unknown: len(h.roots) == 0, groups: map[query.View]map[string]bool{}}
	seen := map[object.Key]bool{}
	for _, o := range h.roots {
		h.requests(&r, o, 0, seen)
	}
	return r
}

// maxNested is how many Applications of Applications Requests follows.
const maxNested = 5

func (h *Hub) requests(r *Requests, o *object.Object, depth int, seen map[object.Key]bool) {
	switch {
	case seen[o.Key()]:
		return // charts/hub brings the Application of the folder that brings charts/hub
	case o.ApplicationSet():
		if !r.add(manifest.At(o.Tree, "spec", "generators")) {
			r.unknown = true // its Applications may deploy ApplicationSets
		}
	case o.Application():
		if !h.deploysToEngine(o) {
			return
		}
		seen[o.Key()] = true
		parts, charts := h.parts(o), 0
		for _, c := range roots.ChartsOf(o.Tree) { // remote, and its values say what it makes
			if !c.Open() {
				charts++
			}
			for _, q := range c.Queries() {
				r.query(query.View(q.View), q.Group)
			}
		}
		r.unknown = r.unknown || len(parts)+charts < len(o.Sources()) || depth == maxNested
		for _, p := range parts {
			below, ok := h.objects(o, p)
			r.unknown = r.unknown || !ok
			for _, x := range below {
				if depth < maxNested {
					h.requests(r, x, depth+1, seen)
				}
			}
		}
	case follows(o):
		r.unknown = true // an artifact for Flux, which has all
	}
}

// query notes a query.
func (r *Requests) query(view query.View, group string) {
	if r.groups[view] == nil {
		r.groups[view] = map[string]bool{}
	}
	r.groups[view][group] = true
}

// add notes the queries of generators, and reports whether there are any.
func (r *Requests) add(generators any) (found bool) {
	all, _ := generators.([]any)
	for _, g := range all {
		if parameters := manifest.At(g, "plugin", "input", "parameters"); parameters != nil {
			view, group := query.View(manifest.Text(parameters, "view")), manifest.Text(parameters, "group")
			if strings.Contains(string(view), "{{") {
				r.unknown = true
			}
			if strings.Contains(group, "{{") {
				group = anyGroup
			}
			r.query(view, group)
			found = true
		}
		for _, combined := range []string{"matrix", "merge"} {
			found = r.add(manifest.At(g, combined, "generators")) || found
		}
	}
	return found
}

// Has reports whether a view is queried, for a group where the view has groups.
func (r Requests) Has(view query.View, group string) bool {
	switch {
	case r.unknown:
		return true
	case view == query.Components:
		// The ApplicationSets of a release query for the components.
		return r.groups[view][group] || r.groups[view][anyGroup] || r.Has(query.Releases, group)
	case view == query.Releases:
		return r.groups[view][group] || r.groups[view][anyGroup]
	}
	return len(r.groups[view]) > 0
}
