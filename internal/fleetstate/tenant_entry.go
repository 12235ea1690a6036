package fleetstate

import (
	"iter"

	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/placement"
)

// What a tenant's level says may not fit the entry that a query sends (`base`): chart.path beside
// chart.name, or no label that a template of the entry needs. Where the layout names no catalog, no
// build can know. Such a part is left out for the tenant's member alone, whose set says so. The
// query goes on for all others, and nothing is removed.

// withoutTenant is a cluster's group without a part of what its tenant's levels say.
type withoutTenant struct {
	cluster *Cluster
	group   *Group
	// file is the tenant's that is left out, where a problem does not say it.
	file string
}

// withoutTenant are ways to leave out a part of what a tenant's levels say: of a component's form,
// of the cluster's labels and annotations as the query's entry sees them, and of both.
func (b *Resolver) withoutTenant(c *Cluster, g *Group, component string) iter.Seq[withoutTenant] {
	return func(yield func(withoutTenant) bool) {
		for _, form := range tenancy.Forms {
			if !yield(withoutTenant{c, b.withoutForm(g, component, form), ""}) {
				return
			}
		}
		labelled, file := b.withoutTenantLabels(c)
		if file == "" || !yield(withoutTenant{labelled, g, file}) {
			return
		}
		for _, form := range tenancy.Forms {
			if !yield(withoutTenant{labelled, b.withoutForm(g, component, form), file}) {
				return
			}
		}
	}
}

// withoutTenantLabels is a cluster of which the entry of a query sees the labels and annotations
// without those that the tenant's levels declare. The file declares some; it is empty where none
// does.
func (b *Resolver) withoutTenantLabels(c *Cluster) (_ *Cluster, file string) {
	g := c.Groups[FleetGroup]
	if g == nil || c.Member.IsHub {
		return c, ""
	}
	layers := c.Registration.Layers()
	for _, l := range layers {
		if secret := l.Root.Get("externalSecret"); b.Fleet.Layout.OfTenant(l.Level) && (secret.Get("labels") != nil || secret.Get("annotations") != nil) {
			file = l.Path
		}
	}
	if file == "" {
		return c, ""
	}
	out := *c
	secret := hierarchy.Merge(tenancy.PlatformLayers(b.Fleet.Layout, layers), b.names.Rules(b.Fleet.Layout.Merge, FleetGroup, Registration)).At([]string{"externalSecret"})
	declaredLabels, _ := labels.FromNode(labels.Label, secret.Get("labels"))
	declaredAnnotations, _ := labels.FromNode(labels.Annotation, secret.Get("annotations"))
	l, a, _ := placement.Labels(b.Fleet, c.Member, c.Facts, declaredLabels, declaredAnnotations)
	out.entryFacts = c.templateFacts.WithLabels(l.All, a.All)
	return &out, file
}

// withoutForm is a group whose tenant's levels say nothing of some keys of a component, or of its
// chart. No level's null removes the entry either.
func (b *Resolver) withoutForm(g *Group, component string, keys []string) *Group {
	out := *g
	out.Catalogs = tenancy.WithoutKeys(b.queried, b.Fleet.Layout, g.Catalogs, component, keys)
	return &out
}
