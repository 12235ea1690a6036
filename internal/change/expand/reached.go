package expand

import (
	"path"
	"strings"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// maxNested limits how deep Reached follows Applications of Applications.
const maxNested = 5

// Reached returns the objects that a hub's roots lead to: the roots, and what their Applications
// deploy to the hub's engine. The result is incomplete without roots, or if an object is not
// followed: that object may make anything.
func (h *Hub) Reached() (out []*object.Object, complete bool) {
	complete = len(h.roots) > 0
	own := path.Join(Bootstrap, h.o.Hub)
	isRead := h.o.Snapshot.File(own+".yaml") == nil // the files of the hub's folder are the roots
	if isRead {
		kind, _ := source.Source{}.Kind(h.folders.Folder(h.o.Snapshot, own))
		// Argo CD makes other objects of a chart or a kustomization.
		complete = complete && kind == source.KindDirectory
	}
	// charts/hub brings the Application of the folder that brings charts/hub.
	seen := map[object.Key]bool{}
	var follow func(o *object.Object, depth int)
	follow = func(o *object.Object, depth int) {
		if o.Application() && seen[o.Key()] {
			return
		}
		seen[o.Key()] = true
		out = append(out, o)
		if !o.Application() && !o.ApplicationSet() && follows(o) {
			complete = false // an artifact for Flux holds everything
		}
		if !o.Application() || h.runsOn(o) != o.Engine {
			return
		}
		brings := h.deploysToEngine(o) || o.TargetNamespace() == ""
		for _, s := range o.Sources() {
			p, is := h.part(o, h.ownVersion(s))
			switch {
			case isRead && path.Clean(s.Path) == own, !brings && (!is || !p.lives()):
				continue
			case !is || depth == maxNested:
				complete = false
				continue
			}
			below, ok := h.objects(o, p)
			complete = complete && ok
			for _, x := range below {
				follow(x, depth+1)
			}
		}
	}
	for _, o := range h.roots {
		follow(o, 0)
	}
	return out, complete
}

// ownVersion replaces charts/hub of another version or place with this program's own: it most
// likely makes the same.
func (h *Hub) ownVersion(s source.Source) source.Source {
	if snap, missing := h.local(s); snap == nil && missing == "" && IsHubChart(s) {
		s.RepoURL, s.Chart, s.Path, s.Revision = charts.Registry, hubChart, "", charts.Version()
	}
	return s
}

const hubChart = "hub"

// IsHubChart reports whether a source is charts/hub.
func IsHubChart(s source.Source) bool {
	return s.Chart == hubChart || strings.HasSuffix(s.Path, "charts/"+hubChart)
}
