package lifecycle

import (
	"cmp"
	"fmt"
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
	// Identity is a component's namespace and Helm release, such as "dns/external-dns": with
	// another one, other objects replace what runs. It is empty where it is not known.
	Identity string
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
		out = append(out, Holding{Cluster: m.Name, Group: fleetstate.FleetGroup, Component: fleetstate.Agent})
	}
	if !m.IsHub {
		out = append(out, Holding{Cluster: m.Name, Group: fleetstate.FleetGroup, Component: fleetstate.Registration, Source: m.Tenant})
	}
	resolver := st.ResolverOf(c)
	for _, g := range c.Groups {
		g = g.WithoutOwnChart()
		for _, component := range resolver.WithBrought(c, g) {
			if h, is := holding(resolver, c, g, component); is {
				out = append(out, h)
			}
		}
	}
	slices.SortFunc(out, Holding.Compare)
	return out, true
}

// holding returns what a member has of a component, and false if the state does not give it the
// component.
func holding(resolver *fleetstate.Resolver, c *fleetstate.Cluster, g *fleetstate.Group, component string) (Holding, bool) {
	r, problems := resolver.MergeEntry(g.Catalogs, component)
	switch isBrought := c.Brings(g.Name, component) == placement.Brought; {
	case len(problems) > 0:
	case r.Known && c.Enables(g.Name, component, r):
		source := r.EntryTree.At([]string{catalog.KeyEnabled}).Pos().File
		return Holding{c.Member.Name, g.Name, component, source, resolver.Identity(c, g, component, r)}, true
	case !r.Known && isBrought:
		return Holding{Cluster: c.Member.Name, Group: g.Name, Component: component, Source: c.Member.Pos.File}, true
	}
	return Holding{}, false
}

// Has reports whether a state gives a member a component. It returns true if the member cannot be
// computed.
func Has(st *fleetstate.State, hub string, i Item) bool {
	c := st.Cluster(hub, i.Cluster)
	switch {
	case c == nil || c.IsRetired():
		return false
	case c.LastKnownGood == nil && len(c.Errors()) > 0 || i.Component == fleetstate.Registration || i.Component == fleetstate.Agent:
		return true
	case c.Groups[i.Group] == nil:
		return false
	}
	_, is := holding(st.ResolverOf(c), c, c.Groups[i.Group].WithoutOwnChart(), i.Component)
	return is
}

// Compare orders holdings by cluster, group and component.
func (h Holding) Compare(other Holding) int {
	return cmp.Or(
		strings.Compare(h.Cluster, other.Cluster), strings.Compare(h.Group, other.Group), strings.Compare(h.Component, other.Component))
}

// IsReplacedBy reports whether another identity replaces what runs of a holding.
func (h Holding) IsReplacedBy(now Holding) bool {
	namespace, release, known := strings.Cut(h.Identity, "/")
	toNamespace, toRelease, alsoKnown := strings.Cut(now.Identity, "/")
	differ := func(a, b string) bool { return a != b && a != fleetstate.UnknownName && b != fleetstate.UnknownName }
	return known && alsoKnown && (differ(namespace, toNamespace) || differ(release, toRelease))
}

// Replacement returns the removal of what runs of a holding, which has another identity in a state.
func Replacement(st *fleetstate.State, hub string, was, is Holding) Removal {
	out := Removal{
		Cluster: was.Cluster, Group: was.Group, Component: was.Component, Reason: Replaced, Deletion: fleet.Cascade,
		Detail: fmt.Sprintf("its namespace and release become %s; they are %s", is.Identity, was.Identity),
	}
	if c := st.Cluster(hub, was.Cluster); c != nil && c.Groups[was.Group] != nil {
		if r, problems := st.ResolverOf(c).MergeEntry(c.Groups[was.Group].Catalogs, was.Component); len(problems) == 0 && r.Known {
			for _, key := range []string{catalog.KeyNamespace, catalog.KeyReleaseName} {
				if node := r.EntryTree.At([]string{key}); node != nil && out.Pos.IsZero() {
					out.Pos = node.Pos()
				}
			}
		}
	}
	return out
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
