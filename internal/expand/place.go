package expand

import (
	"path"
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/flux"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// At is where a path of the object stands, as far as it is written there; for what a chart makes, its template.
func (o *Object) At(path ...string) problem.Pos {
	if o == nil {
		return problem.Pos{}
	}
	if o.doc == nil {
		return o.Pos
	}
	pos, n := o.Pos, o.doc.Root
	for _, key := range path {
		i, err := strconv.Atoi(key)
		switch {
		case n.Get(key) != nil:
			pos, n = n.KeyPos(key), n.Get(key)
		case n.Kind == yamldoc.List && err == nil && i < len(n.Items):
			n = n.Items[i]
			pos = n.Pos()
		default:
			return pos
		}
	}
	return pos
}

// entry is what a parameter set is of: a component of a cluster's catalog, or a release.
type entry struct {
	cluster, group, component string
	release                   string
}

func entryOf(values map[string]any) entry {
	return entry{text(values, "name"), text(values, "group"), text(values, "component"), text(values, "release", "type")}
}

// chartPos is where an Application's chart is named, with its version: in the catalog's entry or the versions file that its
// parameter set comes from, else in the text of the Application or of the template that makes it.
func (h *Hub) chartPos(o *Object, s source) problem.Pos {
	var pos problem.Pos
	switch e := o.of; {
	case e.component != "":
		pos = flux.EntryPos(h.o.State, h.o.Hub, e.cluster, e.group, e.component, "chart", "version")
	case e.release != "":
		pos = h.releasePos(e)
	}
	version := append(slices.Clone(s.at), "targetRevision")
	switch {
	case !pos.IsZero():
		return pos
	case o.Parent.IsSet():
		return o.Parent.At(append([]string{"spec", "template"}, version...)...)
	}
	return o.At(version...)
}

// releasePos is where a release's version stands, or the release; of members, that of the charts which register them.
func (h *Hub) releasePos(e entry) problem.Pos {
	list := h.o.State.Fleet.Versions.Of(e.group)
	if e.group == "" {
		list = *h.o.State.Fleet.FleetSecrets
	}
	for _, r := range list.Releases {
		if r.Type != e.release {
			continue
		}
		for _, key := range []string{"version", "chartRepoRevision"} {
			if pos, ok := r.Places[key]; ok {
				return pos
			}
		}
		return r.Pos
	}
	return problem.Pos{}
}

// Written reports whether the object stands in a file as it is.
func (o *Object) Written() bool { return o != nil && o.doc != nil }

// Change is a file that is not the same in two revisions.
type Change struct{ Before, After *snapshot.File }

// Rendered are the files of this repository that an Application's charts consist of, and that have changed; those of
// the values first. Charts from elsewhere have none but files of values.
func Rendered(before, after *Hub, b, a *Object) []Change {
	files := func(h *Hub, o *Object) map[string]*snapshot.File {
		out := map[string]*snapshot.File{}
		if h == nil || o == nil {
			return out
		}
		for _, p := range h.parts(o) {
			for _, of := range p.folders() {
				for _, f := range of.files {
					out[f.Path] = f
				}
			}
			if p.chart != nil {
				for _, f := range p.chart.own {
					out[f.Path] = f
				}
			}
		}
		return out
	}
	old, updated := files(before, b), files(after, a)
	paths := map[string]bool{}
	for p := range old {
		paths[p] = true
	}
	for p := range updated {
		paths[p] = true
	}
	var out []Change
	for p := range paths {
		x, y := old[p], updated[p]
		if x == nil || y == nil || x.Digest != y.Digest {
			out = append(out, Change{x, y})
		}
	}
	slices.SortFunc(out, func(x, y Change) int { return compareChanges(x.Path(), y.Path()) })
	return out
}

// Path is the file's.
func (c Change) Path() string {
	if c.After != nil {
		return c.After.Path
	}
	return c.Before.Path
}

// compareChanges sorts values before templates.
func compareChanges(a, b string) int {
	rank := func(p string) int {
		if path.Ext(p) == ".yaml" && path.Base(path.Dir(p)) != "templates" {
			return 0
		}
		return 1
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
