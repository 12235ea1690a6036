package fleetstate

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// A tenant's own component is one that only its tenant's catalogs have. Its parameter sets share a
// response with those of other tenants, so their number and their names are bounded (W1, W2).

// IsOfPlatform reports whether a cluster's component is in a catalog that no tenant writes.
func (st *State) IsOfPlatform(c *Cluster, group, component string) bool {
	g := c.Groups[group]
	return g != nil && tenancy.IsOfPlatform(st.ResolverOf(c).Fleet.Layout, g.Catalogs, component)
}

// IsTenantsName reports whether a tenant alone gives a name to a component's Application, or with
// Flux to a companion's HelmRelease.
func (st *State) IsTenantsName(c *Cluster, group, component, name string) bool {
	g := c.Groups[group]
	return g != nil && st.ResolverOf(c).tenantNames(c, g).Gives(component, name)
}

// chargeOwn charges a tenant's own components.
func (b *Resolver) chargeOwn(c *Cluster, g *Group, all []string) error {
	if c.Member.IsHub {
		return nil
	}
	own := tenancy.OwnComponents(b.Fleet.Layout, g.Catalogs, all)
	if len(own) == 0 {
		return nil
	}
	at := g.Catalogs[slices.IndexFunc(g.Catalogs, func(l hierarchy.Layer) bool { return catalog.Entries(l.Root).Get(own[0]) != nil })].Path
	return c.account.Charge(problem.Pos{File: at}, budget.Cost{budget.Own: len(own)})
}

// tenantNames judges the names that a tenant gives to a cluster's components of a group.
func (b *Resolver) tenantNames(c *Cluster, g *Group) tenancy.Names {
	return tenancy.Names{
		Fleet: b.Fleet, Member: c.Member, Group: g.Name, Catalogs: g.Catalogs, IsFlux: b.IsDeployedByFlux(c, g.Name),
		Reserved: []string{Registration, Agent, ClusterInfo},
		Platform: func() (out []string) {
			for _, other := range c.Groups {
				out = append(out, tenancy.PlatformNames(b.Fleet.Layout, other.Catalogs)...)
			}
			return out
		},
	}
}

// changedNames goes through the members whose own components may read, or have read, as those of
// members that came or went.
func (st *State) changedNames(previous *State, due func(*fleet.Member)) {
	for hub := range st.clusters {
		hasCut := func(m *fleet.Member) bool { c := st.ClusterOf(m); return c != nil && c.Desired().hasCutName }
		for _, m := range tenancy.ConcernedByNames(hub, previous.Fleet, st.Fleet, hasCut) {
			due(m)
		}
	}
	for _, m := range tenancy.ChangedTwins(previous.Fleet, st.Fleet) {
		due(m)
	}
}
