package inventory

import (
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/released"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Shared visits the Applications of a cluster that two states of one hub share, with View, Group,
// Owner and Unlisted alone, in any order. They are the same in both. It computes no values. It is
// false if not all of them have been visited: of a cluster that differs, of one whose Applications
// have to be computed to be counted (with problems, releases, or a catalog of another revision),
// and after a visit that returns false.
func Shared(before, after Inventory, cluster string, visit func(Application) bool) bool {
	switch {
	case before.st == nil || after.st == nil, hubOf(before) != hubOf(after),
		(before.st.ReleaseCatalogs() == nil) != (after.st.ReleaseCatalogs() == nil):
		return false
	}
	c := after.st.Cluster(after.Hub, cluster)
	switch {
	case c == nil || c != before.st.Cluster(before.Hub, cluster):
		return false
	case len(c.Problems)+len(c.HubProblems) > 0 || c.LastKnownGood != nil || c.Member.Lifecycle == fleet.Retired:
		return false
	case len(before.releases[cluster])+len(after.releases[cluster]) > 0:
		return false
	}
	if !c.Member.IsHub && !visit(Application{View: query.Members, Group: fleetstate.FleetGroup, Owner: fleet.OwnerHub}) {
		return false
	}
	if !c.Registered {
		return true
	}
	if c.Member.Remote && !visit(Application{View: query.Agents, Owner: fleet.OwnerHub}) {
		return false
	}
	for _, g := range c.Groups {
		group := released.GroupOf(after.st, c, g)
		if group.IsUnknown || group.IsOther() || released.GroupOf(before.st, c, g).IsOther() {
			return false
		}
		for _, component := range group.Components() {
			g, listed := group.Component(component)
			r, _ := after.st.Resolver().ResolveEntry(c, g, component, nil)
			if r.Enabled && !visit(Application{View: query.Components, Group: g.Name, Owner: c.Member.Owner(g.Name), Unlisted: !listed}) {
				return false
			}
		}
	}
	return true
}

// hubOf is the hub's own cluster, whose annotations decide on what its members' registrations have.
func hubOf(inv Inventory) *fleetstate.Cluster {
	self := inv.st.HubMember(inv.Hub)
	if self == nil {
		return nil
	}
	return inv.st.ClusterOf(self)
}
