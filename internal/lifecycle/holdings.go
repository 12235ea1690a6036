package lifecycle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/placement"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Holding is something that the repository gives a member, whichever engine deploys it: its
// registration, its agent, or a component.
type Holding struct {
	Cluster, Group, Component string
	// Source is the file that switches a component on; of a registration, the member's tenant.
	Source string
}

// Holdings returns what a state gives a member, sorted by group and component. It returns false for
// a member that cannot be computed: nothing is known of it. What a release's chart says does not
// count: another version of it, which is not known here, takes nothing away.
func Holdings(st *fleetstate.State, c *fleetstate.Cluster) (out []Holding, known bool) {
	m := c.Member
	switch {
	case c.IsRetired():
		return nil, true
	case c.LastKnownGood == nil && len(c.Errors()) > 0:
		return nil, false
	}
	if m.Remote {
		out = append(out, Holding{m.Name, fleetstate.FleetGroup, fleetstate.Agent, ""})
	}
	if !m.IsHub {
		out = append(out, Holding{m.Name, fleetstate.FleetGroup, fleetstate.Registration, m.Tenant})
	}
	resolver := st.ResolverOf(c)
	for _, g := range c.Groups {
		g = g.WithoutOwnChart()
		for _, component := range resolver.WithBrought(c, g) {
			r, problems := resolver.MergeEntry(g.Catalogs, component)
			switch isBrought := c.Brings(g.Name, component) == placement.Brought; {
			case len(problems) > 0:
			case r.Known && c.Enables(g.Name, component, r):
				source := r.EntryTree.At([]string{catalog.KeyEnabled}).Pos().File
				out = append(out, Holding{m.Name, g.Name, component, source})
			case !r.Known && isBrought:
				out = append(out, Holding{m.Name, g.Name, component, m.Pos.File})
			}
		}
	}
	slices.SortFunc(out, Holding.Compare)
	return out, true
}

// Compare orders holdings by cluster, group and component.
func (h Holding) Compare(other Holding) int {
	return cmp.Or(
		strings.Compare(h.Cluster, other.Cluster), strings.Compare(h.Group, other.Group), strings.Compare(h.Component, other.Component))
}

// RemovalOfHolding returns why a state no longer gives a member of a hub a holding.
func RemovalOfHolding(st *fleetstate.State, hub string, h Holding) Removal {
	q := query.Query{View: query.Components, Hub: hub, Group: h.Group}
	component := h.Component
	if h.Group == fleetstate.FleetGroup {
		switch h.Component {
		case fleetstate.Registration:
			q, component = query.Query{View: query.Members, Hub: hub}, ""
		case fleetstate.Agent:
			q, component = query.Query{View: query.Agents, Hub: hub}, ""
		}
	}
	out := Removal{Reason: Lost, Deletion: fleet.Orphan, Detail: "its group is not in the layout any more"}
	if d, err := RemovalsOf(st, q); err == nil {
		out = d.Of(h.Cluster, component)
	}
	out.Cluster, out.Group, out.Component = h.Cluster, h.Group, h.Component
	return out
}
