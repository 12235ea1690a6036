package fleetstate

import (
	"iter"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/placement"
)

// What a tenant's level says may not fit the entry that a query sends (`base`): chart.path beside
// chart.name, or no label that a template of the entry needs. Where the layout names no catalog, no
// build can know. Such a part is left out for the tenant's member alone, whose set says so. The
// query goes on for all others, and nothing is removed.

// withoutTenant are a cluster and its group without a part of what the tenant's levels say: of a
// component's form, of the cluster's labels and annotations as the query's entry sees them, and of
// both.
func (b *Resolver) withoutTenant(c *Cluster, g *Group, component string) iter.Seq2[*Cluster, *Group] {
	return func(yield func(*Cluster, *Group) bool) {
		for _, form := range tenancy.Forms {
			if !yield(c, b.withoutForm(g, component, form)) {
				return
			}
		}
		labelled := b.withoutTenantLabels(c)
		if labelled == c || !yield(labelled, g) {
			return
		}
		for _, form := range tenancy.Forms {
			if !yield(labelled, b.withoutForm(g, component, form)) {
				return
			}
		}
	}
}

// withoutTenantLabels returns the cluster with the labels and annotations that a query's entry
// sees, without the tenant's own. It returns c itself if the tenant declares none.
func (b *Resolver) withoutTenantLabels(c *Cluster) *Cluster {
	if c.Groups[FleetGroup] == nil || c.Member.IsHub {
		return c
	}
	layers := c.Registration.Layers()
	if !slices.ContainsFunc(layers, func(l hierarchy.Layer) bool {
		secret := l.Root.Get("externalSecret")
		return b.Fleet.Layout.OfTenant(l.Level) && (secret.Get("labels") != nil || secret.Get("annotations") != nil)
	}) {
		return c
	}
	out := *c
	secret := hierarchy.Merge(tenancy.PlatformLayers(b.Fleet.Layout, layers), b.names.Rules(b.Fleet.Layout.Merge, FleetGroup, Registration)).At([]string{"externalSecret"})
	declaredLabels, _ := labels.FromNode(labels.Label, secret.Get("labels"))
	declaredAnnotations, _ := labels.FromNode(labels.Annotation, secret.Get("annotations"))
	l, a, _ := placement.Labels(b.Fleet, c.Member, c.Facts, declaredLabels, declaredAnnotations)
	out.entryFacts = c.templateFacts.WithLabels(l.All, a.All)
	return &out
}

// withoutForm is a group whose tenant's levels say nothing of some keys of a component, or of its
// chart. No level's null removes the entry either.
func (b *Resolver) withoutForm(g *Group, component string, keys []string) *Group {
	out := *g
	out.Catalogs = tenancy.WithoutKeys(b.queried, b.Fleet.Layout, g.Catalogs, component, keys)
	return &out
}
