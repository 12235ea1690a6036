package flux

import (
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
)

// order says which of an engine's components wait for which.
type order struct {
	all    map[[2]string]paramset.ComponentSet // by cluster and name
	cycles *catalog.CycleFinder[[2]string]
}

func newOrder(all []paramset.ComponentSet) *order {
	o := &order{all: map[[2]string]paramset.ComponentSet{}}
	for _, c := range all {
		o.all[keyOf(c)] = c
	}
	o.cycles = catalog.NewCycleFinder(func(key [2]string) (out [][2]string) {
		for _, other := range o.dependsOn(o.all[key]) {
			out = append(out, keyOf(other))
		}
		return out
	})
	return o
}

func keyOf(c paramset.ComponentSet) [2]string { return [2]string{c.Name, c.Component} }

// dependsOn returns the components that a component waits for, of its own kind and on its cluster.
// Flux knows no other order; a component that waits for the other kind fails and is retried.
func (o *order) dependsOn(c paramset.ComponentSet) []paramset.ComponentSet {
	if o == nil {
		return nil
	}
	var out []paramset.ComponentSet
	seen := map[string]bool{}
	for _, text := range c.DependsOn {
		d := lifecycle.ParseDependency(text)
		other, runs := o.all[[2]string{c.Name, d.Component}]
		if runs && d.Is(other.Group, other.Component) && other.Kind == c.Kind && !seen[d.Component] {
			seen[d.Component] = true
			out = append(out, other)
		}
	}
	return out
}

// dependsOn writes the order of a component into its spec.
func (r *renderer) dependsOn(c paramset.ComponentSet, spec object) {
	var out []any
	for _, other := range r.order.dependsOn(c) {
		out = append(out, object{"name": other.ApplicationName})
	}
	if c.Kind == "" { // Flux orders only objects of one kind
		for _, name := range slices.Sorted(maps.Keys(c.Companions)) {
			out = append(out, object{"name": companionName(c, name)})
		}
	}
	if out == nil {
		return
	}
	spec["dependsOn"] = out
	if r.order != nil && r.order.cycles.IsLoop(keyOf(c)) {
		r.fault(c, problem.InvalidValue, fmt.Sprintf("dependsOn of component %q", c.Component), "leads back to itself: neither would ever be deployed", "an order", "dependsOn")
	}
}
