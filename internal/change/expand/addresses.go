package expand

import (
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Addresses returns the addresses of the remote repositories and value files that the hub's
// Applications name: a change of the fleet may keep reading them.
func (h *Hub) Addresses() map[string]bool {
	out := map[string]bool{}
	h.Walk(false, func(o *object.Object) bool {
		if !o.Deploys() {
			return true
		}
		for _, p := range h.parts(o) {
			if p.built != nil {
				kustomized, _ := h.o.Tools.Kustomizations.Charts(h.kustomization(p.source, p.folder)) // parts reports errors
				for _, x := range kustomized {
					out[x.Reference.RepoURL] = true
				}
			}
			if p.chart == nil || p.err != nil {
				continue
			}
			charts, _ := source.Dependencies(p.chart.Files) // rendering reports errors
			if p.reference != nil {
				charts = append(charts, *p.reference)
			}
			for _, r := range charts {
				out[r.RepoURL] = true
			}
			if p.place != nil {
				out[p.place.RepoURL] = true
			}
			for _, v := range p.chart.Values {
				if v.At != nil {
					out[v.At.RepoURL] = true
				} else if v.URL != "" {
					out[v.URL] = true
				}
			}
		}
		return true
	})
	return out
}
