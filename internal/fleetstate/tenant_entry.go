package fleetstate

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// What a tenant's level says of a component may not fit the entry that a query sends (`base`), such
// as chart.path beside chart.name. Where the layout names no catalog, no build can know. Such a
// part is left out for the tenant's member alone, whose set says so. The query goes on for all
// others, and nothing is removed.

// tenantForms are the keys that are left out, fewest first.
var tenantForms = [][]string{
	{catalog.KeyKind, catalog.KeySubstitute, "name", "path"},
	{catalog.KeyKind, catalog.KeySubstitute, catalog.KeyChart},
}

// withoutForm is a group whose tenant's levels say nothing of some keys of a component, or of its
// chart. No level's null removes the entry either.
func (b *Resolver) withoutForm(g *Group, component string, keys []string) *Group {
	out := *g
	out.Catalogs = slices.Clone(g.Catalogs)
	for i, l := range out.Catalogs {
		e := catalog.Entries(l.Root).Get(component)
		if e != nil && b.Fleet.Layout.OfTenant(l.Level) {
			out.Catalogs[i].Root = b.queried.Without(e, component, keys)
		}
	}
	return &out
}

// platformLayers are those that no tenant writes.
func (b *Resolver) platformLayers(layers []hierarchy.Layer) []hierarchy.Layer {
	return slices.DeleteFunc(slices.Clone(layers), func(l hierarchy.Layer) bool { return b.Fleet.Layout.OfTenant(l.Level) })
}

// IsOfPlatform reports whether a cluster's component is in a catalog that no tenant writes.
func (st *State) IsOfPlatform(c *Cluster, group, component string) bool {
	g := c.Groups[group]
	return g != nil && slices.ContainsFunc(st.ResolverOf(c).platformLayers(g.Catalogs), func(l hierarchy.Layer) bool {
		return catalog.Entries(l.Root).Get(component) != nil
	})
}
