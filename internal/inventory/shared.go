package inventory

import (
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/released"
)

// Shared are the Applications of a cluster that two states of one hub share, with View, Group,
// Owner and Unlisted alone, in any order. They are the same in both. It computes no values. It is
// false for a cluster that differs, and for one whose Applications have to be computed to be
// counted: with problems, releases, or a catalog of another revision.
func Shared(before, after Inventory, cluster string) ([]Application, bool) {
	switch {
	case before.st == nil || after.st == nil, before.st.HubMember(before.Hub) != after.st.HubMember(after.Hub),
		(before.st.ReleaseCatalogs() == nil) != (after.st.ReleaseCatalogs() == nil):
		return nil, false
	}
	c := after.st.Cluster(after.Hub, cluster)
	switch {
	case c == nil || c != before.st.Cluster(before.Hub, cluster):
		return nil, false
	case len(c.Problems)+len(c.HubProblems) > 0 || c.LastKnownGood != nil || c.Member.Lifecycle == fleet.Retired:
		return nil, false
	case len(before.releases[cluster])+len(after.releases[cluster]) > 0:
		return nil, false
	}
	var out []Application
	if !c.Member.IsHub {
		out = append(out, Application{View: query.Members, Group: fleetstate.FleetGroup, Owner: fleet.OwnerHub})
	}
	if !c.Registered {
		return out, true
	}
	if c.Member.Remote {
		out = append(out, Application{View: query.Agents, Owner: fleet.OwnerHub})
	}
	for _, g := range c.Groups {
		group := released.GroupOf(after.st, c, g)
		if group.IsOther() || released.GroupOf(before.st, c, g).IsOther() {
			return nil, false
		}
		for _, component := range group.Components() {
			g, listed := group.Component(component)
			if r, _ := after.st.Resolver().ResolveEntry(c, g, component, nil); r.Enabled {
				out = append(out, Application{View: query.Components, Group: g.Name, Owner: c.Member.Owner(g.Name), Unlisted: !listed})
			}
		}
	}
	return out, true
}
