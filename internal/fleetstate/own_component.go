package fleetstate

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/team"
	"github.com/argosy-hub/argosy/internal/tenancy"
)

// A tenant's own component is one that only its tenant's catalogs have. Its parameter sets share a
// response with those of other tenants, so their number and their names are bounded (W1, W2).

// IsOfPlatform reports whether a cluster's component is in a catalog that no tenant writes.
func (st *State) IsOfPlatform(c *Cluster, group, component string) bool {
	g := c.Groups[group]
	return g != nil && st.ResolverOf(c).isOfPlatform(g, component)
}

func (b *Resolver) isOfPlatform(g *Group, component string) bool {
	return slices.ContainsFunc(g.Catalogs, func(l hierarchy.Layer) bool {
		return !b.Fleet.Layout.OfTenant(l.Level) && catalog.Entries(l.Root).Get(component) != nil
	})
}

// ownComponents are those of all of a group's that are in a tenant's catalogs alone. Team files are
// the platform's.
func (b *Resolver) ownComponents(c *Cluster, g *Group, all []string) (own []string) {
	if c.Member.IsHub || g.Name == team.Group {
		return nil
	}
	ofLayout := g.Catalogs.OfLayout()
	for _, component := range all {
		if !ofLayout.Has(component) && !b.isOfPlatform(g, component) {
			own = append(own, component)
		}
	}
	return own
}

// chargeOwn charges a tenant's own components.
func (b *Resolver) chargeOwn(c *Cluster, g *Group, all []string) ([]string, error) {
	own := b.ownComponents(c, g, all)
	if len(own) == 0 {
		return nil, nil
	}
	at := g.Catalogs[slices.IndexFunc(g.Catalogs, func(l hierarchy.Layer) bool { return catalog.Entries(l.Root).Get(own[0]) != nil })].Path
	return own, c.account.Charge(problem.Pos{File: at}, budget.Cost{budget.Own: len(own)})
}

// forbiddenName is the problem of a tenant's own component with a name that another member may
// have.
func (b *Resolver) forbiddenName(c *Cluster, g *Group, component string) []problem.Problem {
	at := c.Member.Pos
	for _, l := range g.Catalogs {
		if entries := catalog.Entries(l.Root); entries.Get(component) != nil {
			at = entries.KeyPos(component)
		}
	}
	if p := tenancy.ForbiddenName(b.Fleet, c.Member, g.Name, component, at); p != nil {
		return c.Attribute([]problem.Problem{*p})
	}
	return nil
}

// changedNames goes through the members whose own components may read, or have read, as those of
// members that came or went.
func (st *State) changedNames(previous *State, due func(*fleet.Member)) {
	for hub := range st.clusters {
		for _, m := range tenancy.ConcernedByNames(hub, previous.Fleet, st.Fleet) {
			due(m)
		}
	}
	for _, m := range st.Fleet.ChangedTwins(previous.Fleet) {
		due(m)
	}
}
