package access

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hold"
)

// Holds returns the holds that are about a cluster and a group of a scope. It withholds details
// that name other clusters, and the details of whole repositories from restricted scopes.
func Holds(st *fleetstate.State, scope Reader, all []hold.Hold) []hold.Hold {
	if scope.SeesEverything() {
		return all
	}
	var visible []*fleetstate.Cluster
	for _, c := range st.Clusters() {
		if Visible(scope, c) {
			visible = append(visible, c)
		}
	}
	texts := map[string]string{} // many holds have the same detail
	out := []hold.Hold{}
	for _, h := range all {
		if h.Group != "" && !scope.SeesGroup(h.Group) || !isAbout(st, scope, visible, h) {
			continue
		}
		text, known := texts[h.Detail]
		if !known {
			text = Text(st, scope, h.Detail)
			texts[h.Detail] = text
		}
		if h.Detail = text; h.Cluster == "" || h.Reason == hold.Mount {
			h.Detail, h.Position = Withheld, problem.Pos{}
		}
		out = append(out, h)
	}
	return out
}

// isAbout reports whether a hold is about a visible cluster. One of a whole group or component is
// if such a cluster has it.
func isAbout(st *fleetstate.State, scope Reader, visible []*fleetstate.Cluster, h hold.Hold) bool {
	if h.Cluster != "" {
		c := st.Cluster(h.Hub, h.Cluster)
		return c != nil && Visible(scope, c)
	}
	return slices.ContainsFunc(visible, func(c *fleetstate.Cluster) bool {
		m := c.Member
		if h.Hub != "" && h.Hub != m.Hub || h.Tenant != "" && h.Tenant != m.Tenant {
			return false
		}
		names := st.ComponentsOf(m.Hub, m.Name, h.Group)
		return h.Group == "" || len(names) > 0 && (h.Component == "" || slices.Contains(names, h.Component))
	})
}
