package tenancy

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// IsOfPlatform reports whether a component is in a catalog that no tenant writes.
func IsOfPlatform(layout *fleet.Layout, catalogs catalog.Layers, component string) bool {
	return slices.ContainsFunc(catalogs, func(l hierarchy.Layer) bool {
		return !layout.OfTenant(l.Level) && catalog.Entries(l.Root).Get(component) != nil
	})
}

// OwnComponents returns the components of a group that are only in a tenant's catalogs.
func OwnComponents(layout *fleet.Layout, catalogs catalog.Layers, all []string) (own []string) {
	ofLayout := catalogs.OfLayout()
	for _, component := range all {
		if !ofLayout.Has(component) && !IsOfPlatform(layout, catalogs, component) {
			own = append(own, component)
		}
	}
	return own
}

// PlatformNames returns the components in catalogs that no tenant writes.
func PlatformNames(layout *fleet.Layout, catalogs catalog.Layers) []string {
	return slices.DeleteFunc(slices.Clone(catalogs), func(l hierarchy.Layer) bool { return layout.OfTenant(l.Level) }).Components()
}

// given returns the names that only a tenant's catalogs give to a component's Application, and to
// Flux's objects for its companions, with their places.
func (n Names) given(component string) map[string]problem.Pos {
	var out map[string]problem.Pos
	add := func(name string, at problem.Pos) {
		if out == nil {
			out = map[string]problem.Pos{}
		}
		out[name] = at
	}
	for _, l := range n.Catalogs {
		entries := catalog.Entries(l.Root)
		entry := entries.Get(component)
		if entry == nil || !n.Fleet.Layout.OfTenant(l.Level) {
			continue
		}
		if !IsOfPlatform(n.Fleet.Layout, n.Catalogs, component) {
			add(component, entries.KeyPos(component))
		}
		if companions := entry.Get(catalog.KeyCompanions); companions.IsMap() && n.IsFlux {
			for _, f := range companions.Fields() {
				if !n.isCompanion(component, f.Key) {
					add(component+"-"+f.Key, companions.KeyPos(f.Key))
				}
			}
		}
	}
	return out
}

// isCompanion reports whether a catalog that no tenant writes gives a component a companion.
func (n Names) isCompanion(component, companion string) bool {
	return slices.ContainsFunc(n.Catalogs, func(l hierarchy.Layer) bool {
		return !n.Fleet.Layout.OfTenant(l.Level) && catalog.Entries(l.Root).Get(component).Get(catalog.KeyCompanions).Get(companion) != nil
	})
}
