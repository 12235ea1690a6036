// Package released puts the catalog of a release in the place of the layout's.
//
// A release's catalog is that of the revision which the versions file names: ApplicationSets send
// its entries as base (design 0002). Responses need nothing else. Explain and plan, which have no
// base, read it by the state's ReleaseCatalogs.
package released

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Group is a group of a cluster with its release's catalog in the place of the layout's.
type Group struct {
	*fleetstate.Group // by the layout's
	released          *fleetstate.Group
	Catalog           *catalog.ReleaseCatalog // nil, or Missing, where they are the same
	any               bool                    // whether a catalog has it or not is not asked
	// IsUnknown tells that the release's catalog is in a chart that neither the repository nor this
	// program has: what only that catalog says of a component is not known.
	IsUnknown bool
}

// GroupOf is a group of a cluster by its release's catalog, where the state finds one.
func GroupOf(st *fleetstate.State, c *fleetstate.Cluster, g *fleetstate.Group) Group {
	if st.ResolverOf(c).IsDeployedByFlux(c, g.Name) { // which has no ApplicationSets, and is answered by the layout's
		return Group{Group: g, released: g, any: true}
	}
	catalogs := st.ReleaseCatalogs()
	out := Group{Group: g, released: g, any: catalogs == nil}
	if g.Name == team.Group || g.Name == team.Workloads || g.Name == provision.Group { // whose entries the releases view hands out
		return out
	}
	out.Catalog = catalogs.Of(c.Member.Hub, g.Name, g.Release.Source)
	if out.Catalog == nil || out.Catalog.Missing != "" {
		out.IsUnknown = !st.ResolverOf(c).KnowsCatalogs(c, g)
		return out
	}
	with := *g
	with.Catalogs = slices.Clone(g.Catalogs)
	isListed := false
	for i, l := range with.Catalogs.OfLayout() {
		if l.Path == out.Catalog.File {
			with.Catalogs[i], isListed = out.Catalog.Layer, true
		}
	}
	if !isListed {
		with.Catalogs = append(catalog.Layers{out.Catalog.Layer}, with.Catalogs...)
	}
	out.released = &with
	return out
}

// Base is the entry of a component that the release's ApplicationSets send. It is nil where the
// release's catalog is the layout's, or lacks the component.
func (a Group) Base(component string) *yamldoc.Node {
	if !a.IsOther() {
		return nil
	}
	return catalog.Entries(a.Catalog.Layer.Root).Get(component)
}

// Lacks reports whether it is unknown whether a cluster gets a component, or as what: only the
// release's catalog, which is unknown, would say where its chart is.
func (a Group) Lacks(r fleetstate.Component) bool {
	return a.IsUnknown && (r.Entry == nil || r.Entry.Chart.RepoURL == "")
}

// IsOther reports whether the release's catalog is not the layout's.
func (a Group) IsOther() bool { return a.released != a.Group }

// Component is what a component is to be computed by: the layout's entry, where the release's
// catalog lacks it. Then it is not listed: no ApplicationSet of the release asks for it, unless one
// is left over from before.
func (a Group) Component(component string) (_ *fleetstate.Group, listed bool) {
	switch {
	case a.any, a.IsUnknown, !a.IsOther() && !a.HasCatalog(), a.released.InCatalog(component):
		return a.released, true
	case a.InCatalog(component):
		return a.Group, false
	}
	return a.released, false
}

// Components are the names of all that either catalog knows.
func (a Group) Components() []string {
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
