package fleetstate

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/team"
)

// A release's catalog is that of the revision which the versions file names: ApplicationSets send
// its entries as base (design 0002). Answers need nothing else. Explain and plan, which have no
// base, read it by Catalogs.

// WithCatalogs is the state with the catalogs of releases, which GroupAsReleased then uses.
// Responses stay as they are.
func (st *State) WithCatalogs(find catalog.FindReleaseCatalog) *State {
	out := *st
	out.releaseCatalogs = catalog.NewReleaseCatalogs(find)
	return &out
}

// MissingCatalogs are those that have been asked for and cannot be read, by hub and group.
func (st *State) MissingCatalogs() map[[2]string][]*catalog.ReleaseCatalog {
	return st.releaseCatalogs.Missing()
}

// catalogOf is the catalog of a cluster's release, nil for the layout's own.
func (st *State) catalogOf(c *Cluster, g *Group) *catalog.ReleaseCatalog {
	if !g.HasCatalog() || g.Name == team.Group || g.Name == team.Workloads { // whose entries the releases view hands out
		return nil
	}
	return st.releaseCatalogs.Of(c.Member.Hub, g.Name, g.Release.Source)
}

// ReleasedGroup is a group of a cluster with its release's catalog in the place of the layout's.
type ReleasedGroup struct {
	*Group   // by the layout's
	released *Group
	Catalog  *catalog.ReleaseCatalog // nil, or Missing, where they are the same
	any      bool                    // whether a catalog has it or not is not asked
}

// GroupAsReleased is a group of a cluster by its release's catalog, where WithCatalogs finds one.
func (st *State) GroupAsReleased(c *Cluster, g *Group) ReleasedGroup {
	if st.ResolverOf(c).IsDeployedByFlux(c, g.Name) { // which has no ApplicationSets, and is answered by the layout's
		return ReleasedGroup{Group: g, released: g, any: true}
	}
	out := ReleasedGroup{g, g, st.catalogOf(c, g), st.releaseCatalogs == nil}
	if out.Catalog == nil || out.Catalog.Missing != "" {
		return out
	}
	with := *g
	with.Catalogs = slices.Clone(g.Catalogs)
	for i, l := range layoutCatalogs(with.Catalogs) {
		if l.Path == out.Catalog.File {
			with.Catalogs[i] = out.Catalog.Layer
		}
	}
	out.released = &with
	return out
}

// Component is what a component is to be computed by: the layout's entry, where the release's
// catalog lacks it. Then it is not listed: no ApplicationSet of the release asks for it, unless one
// is left over from before.
func (a ReleasedGroup) Component(component string) (_ *Group, listed bool) {
	switch {
	case a.any || !a.HasCatalog() || a.released.InCatalog(component):
		return a.released, true
	case a.InCatalog(component):
		return a.Group, false
	}
	return a.released, false
}

// Components are the names of all that either catalog knows.
func (a ReleasedGroup) Components() []string {
	names := a.Group.Components()
	if a.released == a.Group {
		return names
	}
	all := map[string]bool{}
	for _, name := range slices.Concat(names, a.released.Components()) {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}
