package fleetstate

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
)

// kindFaults are what is wrong with a component's kind on a cluster. The catalog alone says of
// which kind a component is: its ApplicationSet is made for that.
func (b *Resolver) kindFaults(c *Cluster, g *Group, component string, e *catalog.Entry, tree *hierarchy.Tree) []problem.Problem {
	fault := func(key, found, expected string, reason problem.Reason) []problem.Problem {
		return c.Attribute([]problem.Problem{{
			Reason: reason, Severity: problem.Error, Pos: tree.At([]string{key}).Pos(),
			Subject: fmt.Sprintf("key %q of component %q of group %q", key, component, g.Name), Found: found, Expected: expected,
		}})
	}
	if first := tree.Layers(); len(first) > 0 && first[0].Level == catalog.Level {
		said := "" // in the catalog
		if n := first[0].Root.Get(catalog.KeyKind); n != nil && n.Text == catalog.KindManifests {
			said = catalog.KindManifests
		}
		if said != e.Kind {
			return fault(catalog.KeyKind, fmt.Sprintf("is not that of the catalog, %s", catalog.KindName(said)), "kind where the catalog of the release has the component, and nowhere else", problem.InvalidValue)
		}
	}
	if e.Substitute && !b.IsDeployedByFlux(c, g.Name) {
		return fault(catalog.KeySubstitute, "is true, and Argo CD has no variables", "an engine flux, or folders that need none", problem.UnsupportedEngine)
	}
	return nil
}

// IsDeployedByFlux reports whether Flux deploys a group to a cluster: the member's own, or that of
// its hub.
func (b *Resolver) IsDeployedByFlux(c *Cluster, group string) bool {
	if c.Member.Owner(group) != fleet.OwnerHub {
		return c.Member.Engine == fleet.EngineFlux
	}
	self := b.Fleet.HubMember(c.Member.Hub)
	return self != nil && self.Engine == fleet.EngineFlux
}

// valueless reports values of a component that takes none.
func (c *Cluster) valueless(component string, layers []hierarchy.Layer) []problem.Problem {
	for _, l := range layers {
		if l.Root.IsMap() && len(l.Root.Fields) > 0 {
			return c.Attribute([]problem.Problem{{
				Reason: problem.InvalidValue, Severity: problem.Error, Pos: l.Root.Pos(), Subject: fmt.Sprintf("component %q", component),
				Found: "has values, and is of kind manifests", Expected: "no values: manifests are applied as they are",
				Hints: []string{"chart.path is a template: a folder for each environment, for one"},
			}})
		}
	}
	return nil
}
