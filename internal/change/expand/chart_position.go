package expand

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
)

// chartPos returns the position of an Application's chart and version: in the catalog entry or
// versions file of its parameter set, else in the Application or the template that makes it.
func (h *Hub) chartPos(o *object.Object, s source.Source) problem.Pos {
	var pos problem.Pos
	switch e := o.Entry; {
	case e.Component != "":
		pos = flux.EntryPos(h.o.State, h.o.Hub, e.Cluster, e.Group, e.Component, "chart", "version")
	case e.Release != "":
		pos = h.releasePos(e)
	}
	version := append(slices.Clone(s.Field), "targetRevision")
	switch {
	case !pos.IsZero():
		return pos
	case o.Parent.IsSet():
		return o.Parent.At(append([]string{"spec", "template"}, version...)...)
	}
	return o.At(version...)
}

// releasePos returns the position of a release's version, or of the release. For members, it is the
// release of the registration charts.
func (h *Hub) releasePos(e object.Entry) problem.Pos {
	list := h.o.State.Fleet.Versions.Of(e.Group)
	if e.Group == "" {
		list = *h.o.State.Fleet.FleetSecrets
	}
	for _, r := range list.Releases {
		if r.Type != e.Release {
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
