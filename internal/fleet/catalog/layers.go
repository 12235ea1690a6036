package catalog

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Layers are the catalogs of a group, least specific first.
type Layers []hierarchy.Layer

// OfLayout returns the first layers: the layout's catalogs, or a query's base.
func (l Layers) OfLayout() Layers {
	n := slices.IndexFunc(l, func(c hierarchy.Layer) bool { return c.Level != Level })
	if n < 0 {
		n = len(l)
	}
	return l[:n]
}

// Has reports whether a catalog has a component.
func (l Layers) Has(component string) bool {
	return slices.ContainsFunc(l, func(c hierarchy.Layer) bool { return Entries(c.Root).Get(component) != nil })
}

// Components returns the names of all components in the catalogs, sorted.
func (l Layers) Components() []string {
	var names []string
	for _, c := range l {
		for _, f := range Entries(c.Root).Fields() {
			names = append(names, f.Key)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
