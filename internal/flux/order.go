package flux

import (
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/problem"
)

// order is which of an engine's components wait for which.
type order struct {
	all     map[[2]string]paramset.ComponentSet // by cluster and name
	isLoop  map[[2]string]bool                  // those that wait for themselves, over others
	visited map[[2]string]int                   // when, from 1
	done    map[[2]string]bool
	open    [][2]string
}

func newOrder(all []paramset.ComponentSet) *order {
	o := &order{all: map[[2]string]paramset.ComponentSet{}, isLoop: map[[2]string]bool{}, visited: map[[2]string]int{}, done: map[[2]string]bool{}}
	for _, c := range all {
		o.all[keyOf(c)] = c
	}
	for key, c := range o.all {
		if o.visited[key] == 0 {
			o.visit(c)
		}
	}
	return o
}

func keyOf(c paramset.ComponentSet) [2]string { return [2]string{c.Name, c.Component} }

// visit finds loops in one walk (Tarjan's strongly connected components). It returns the first of
// those under way that a component leads to.
func (o *order) visit(c paramset.ComponentSet) int {
	key, at := keyOf(c), len(o.open)
	o.visited[key] = len(o.visited) + 1
	low := o.visited[key]
	o.open = append(o.open, key)
	for _, other := range o.dependsOn(c) {
		to := keyOf(other)
		switch {
		case to == key:
			o.isLoop[key] = true
		case o.visited[to] == 0:
			low = min(low, o.visit(other))
		case !o.done[to]:
			low = min(low, o.visited[to])
		}
	}
	if low == o.visited[key] {
		for _, one := range o.open[at:] {
			o.done[one] = true
			o.isLoop[one] = o.isLoop[one] || len(o.open)-at > 1
		}
		o.open = o.open[:at]
	}
	return low
}

// dependsOn are the components that a component waits for: those of its own kind that run on its
// cluster. Flux knows no other order; what waits for the other kind fails, and is tried again.
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
	if c.Kind == "" { // Flux orders objects of one kind
		for _, name := range slices.Sorted(maps.Keys(c.Companions)) {
			out = append(out, object{"name": companionName(c, name)})
		}
	}
	if out == nil {
		return
	}
	spec["dependsOn"] = out
	if r.order != nil && r.order.isLoop[keyOf(c)] {
		r.fault(c, problem.InvalidValue, fmt.Sprintf("dependsOn of component %q", c.Component), "leads back to itself: neither would ever be deployed", "an order", "dependsOn")
	}
}
