package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/problem"
)

// dependencies reports the names of dependsOn that no catalog of the cluster has, and those that
// lead back to the component (P3).
func (l *linter) dependencies(c *fleetstate.Cluster, group, component string, r fleetstate.Component) {
	if len(r.Entry.DependsOn) == 0 {
		return
	}
	if l.graph == nil || l.graph.cluster != c {
		l.graph = l.newGraph(c)
	}
	self := node{group, component}
	l.graph.visit(self)
	subject, pos := fmt.Sprintf("dependsOn of component %q", component), r.EntryTree.At([]string{catalog.KeyDependsOn}).Pos()
	for _, text := range r.Entry.DependsOn {
		d := lifecycle.ParseDependency(text)
		named := l.graph.named(d)
		if len(named) == 0 {
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.NoEffect, Severity: problem.Warning, Pos: pos,
				Subject: subject, Found: fmt.Sprintf("names %q, which no catalog has", text),
				Expected: "components of the same cluster, as component or group/component", Hints: problem.Nearest(text, componentNames(c, d.Group != "")),
			})
			continue
		}
		last, leads := l.graph.leadsBack(named, self)
		if !leads {
			continue
		}
		found := fmt.Sprintf("%q leads back to it: neither would ever be deployed", text)
		if at := l.graph.vertices[last].pos; at != pos {
			found = fmt.Sprintf("%q leads back to it, by dependsOn of component %q at %s: neither would ever be deployed", text, last.component, at)
		}
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.InvalidValue, Severity: problem.Error, Pos: pos, Subject: subject, Found: found, Expected: "an order",
		})
	}
}

// componentNames are those of a cluster, sorted.
func componentNames(c *fleetstate.Cluster, qualified bool) []string {
	var names []string
	for group, g := range c.Groups {
		for _, component := range g.Components() {
			if qualified {
				component = group + "/" + component
			}
			names = append(names, component)
		}
	}
	slices.Sort(names)
	return names
}

// node is a component of a cluster.
type node struct{ group, component string }

// vertex is what a component depends on.
type vertex struct {
	pos   problem.Pos // of its dependsOn
	needs map[node]bool
	order []node // needs as they are written

	// index and low are those of Tarjan's algorithm (R. Tarjan, Depth-first search and linear graph
	// algorithms, 1972): components that depend on each other have one low in the end.
	index, low int
	done       bool
	// before is one of those that depend on the component, and on which it depends.
	before *node
}

// graph is what the components of a cluster depend on. It reads each entry once, and all questions
// together take a time of the number of dependencies.
type graph struct {
	cluster  *fleetstate.Cluster
	entry    func(node) fleetstate.Component
	groups   []string
	vertices map[node]*vertex
	open     []node // visited and not done
}

func (l *linter) newGraph(c *fleetstate.Cluster) *graph {
	return &graph{
		cluster: c, groups: slices.Sorted(maps.Keys(c.Groups)), vertices: map[node]*vertex{},
		entry: func(n node) fleetstate.Component {
			r, _ := l.st.Resolver().MergeEntry(c.Groups[n.group].Catalogs, n.component)
			return r
		},
	}
}

// named are the components that a dependency names.
func (g *graph) named(d lifecycle.Dependency) []node {
	var out []node
	for _, name := range g.groups {
		if d.Is(name, d.Component) && g.cluster.Groups[name].Has(d.Component) {
			out = append(out, node{name, d.Component})
		}
	}
	return out
}

// leadsBack reports whether one of the named components leads to a visited one, and which component
// is the last on the way.
func (g *graph) leadsBack(named []node, to node) (last node, leads bool) {
	if slices.Contains(named, to) {
		return to, true
	}
	target := g.vertices[to]
	for _, n := range named {
		switch v := g.vertices[n]; {
		case v.low != target.low:
		case v.needs[to]:
			return n, true
		default:
			return *target.before, true
		}
	}
	return node{}, false
}

// visit finds out which components depend on each other, of all that a component leads to.
func (g *graph) visit(n node) *vertex {
	if v := g.vertices[n]; v != nil {
		return v
	}
	v := &vertex{index: len(g.vertices), low: len(g.vertices), needs: map[node]bool{}}
	g.vertices[n] = v
	g.open = append(g.open, n)
	if r := g.entry(n); r.Entry != nil {
		v.pos = r.EntryTree.At([]string{catalog.KeyDependsOn}).Pos()
		for _, text := range r.Entry.DependsOn {
			for _, next := range g.named(lifecycle.ParseDependency(text)) {
				if !v.needs[next] {
					v.needs[next] = true
					v.order = append(v.order, next)
				}
			}
		}
	}
	for _, next := range v.order {
		if to := g.visit(next); !to.done {
			v.low = min(v.low, to.low)
		}
	}
	if v.low == v.index {
		g.close(n)
	}
	return v
}

// close ends what is open down to a component: all of these depend on each other.
func (g *graph) close(first node) {
	at := len(g.open) - 1
	for g.open[at] != first {
		at--
	}
	together := g.open[at:]
	g.open = g.open[:at]
	for _, n := range together {
		v := g.vertices[n]
		v.low, v.done = g.vertices[first].index, true
	}
	for _, n := range together {
		v := g.vertices[n]
		for _, next := range v.order {
			if to := g.vertices[next]; to.low == v.low && to.before == nil {
				to.before = &n
			}
		}
	}
}
