package tenancy

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// Forms are lists of keys of a catalog entry that may not fit the entry of a query, fewest first.
var Forms = [][]string{
	{catalog.KeyKind, catalog.KeySubstitute, "name", "path"},
	{catalog.KeyKind, catalog.KeySubstitute, catalog.KeyChart},
	{catalog.KeyKind, catalog.KeySubstitute, catalog.KeyChart, catalog.KeyCompanions, catalog.KeyDependsOn, catalog.KeyNamespace, catalog.KeyReleaseName},
}

// Memory caches what is computed from a file.
type Memory interface {
	// Without returns a catalog with a component's entry without some keys.
	Without(entry *yamldoc.Node, component string, keys []string) *yamldoc.Node
	// Forbidden returns the values of a file that a schema does not allow; subject names the file's
	// component in the problems.
	Forbidden(schema *Schema, root *yamldoc.Node, subject string) []problem.Problem
}

// WithoutKeys returns catalogs whose tenants' levels do not set some keys of a component, or of its
// chart. No level's null removes the entry either.
func WithoutKeys(m Memory, layout *fleet.Layout, catalogs catalog.Layers, component string, keys []string) catalog.Layers {
	out := slices.Clone(catalogs)
	for i, l := range out {
		if e := catalog.Entries(l.Root).Get(component); e != nil && layout.OfTenant(l.Level) {
			out[i].Root = m.Without(e, component, keys)
		}
	}
	return out
}

// PlatformLayers returns the layers that no tenant writes.
func PlatformLayers(layout *fleet.Layout, layers []hierarchy.Layer) []hierarchy.Layer {
	return slices.DeleteFunc(slices.Clone(layers), func(l hierarchy.Layer) bool { return layout.OfTenant(l.Level) })
}
