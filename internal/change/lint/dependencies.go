package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet/catalog"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// dependencies reports the names in dependsOn that no catalog of the cluster has, and those that
// lead back to the component.
func (l *linter) dependencies(c *fleetstate.Cluster, group, component string, r fleetstate.Component) {
	if len(r.Entry.DependsOn) == 0 {
		return
	}
	if l.graph == nil || l.graph.cluster != c {
		l.graph = l.newGraph(c)
	}
	self := node{group, component}
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
		if at := l.graph.pos[last]; at != pos {
			found = fmt.Sprintf("%q leads back to it, by dependsOn of component %q at %s: neither would ever be deployed", text, last.component, at)
		}
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.InvalidValue, Severity: problem.Error, Pos: pos, Subject: subject, Found: found, Expected: "an order",
		})
	}
}

// componentNames returns the names of a cluster's components, sorted.
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

// graph holds the dependencies between the components of a cluster. It reads each entry once.
type graph struct {
	cluster *fleetstate.Cluster
	groups  []string
	needs   map[node][]node
	pos     map[node]problem.Pos // of dependsOn
	last    map[node]node        // a component of the same cycle that depends on it
	cycles  *catalog.CycleFinder[node]
}

func (l *linter) newGraph(c *fleetstate.Cluster) *graph {
	g := &graph{cluster: c, groups: slices.Sorted(maps.Keys(c.Groups)), needs: map[node][]node{}, pos: map[node]problem.Pos{}, last: map[node]node{}}
	g.cycles = catalog.NewCycleFinder(func(n node) []node {
		r, _ := l.st.Resolver().MergeEntry(c.Groups[n.group].Catalogs, n.component)
		if r.Entry == nil {
			return nil
		}
		var needs []node
		for _, text := range r.Entry.DependsOn {
			needs = append(needs, g.named(lifecycle.ParseDependency(text))...)
		}
		g.needs[n], g.pos[n] = needs, r.EntryTree.At([]string{catalog.KeyDependsOn}).Pos()
		return needs
	})
	return g
}

// named returns the components that a dependency names.
func (g *graph) named(d lifecycle.Dependency) []node {
	var out []node
	for _, name := range g.groups {
		if d.Is(name, d.Component) && g.cluster.Groups[name].Has(d.Component) {
			out = append(out, node{name, d.Component})
		}
	}
	return out
}

// leadsBack reports whether one of the named components leads to a component. It returns the last
// component on the way.
func (g *graph) leadsBack(named []node, to node) (last node, leads bool) {
	group := g.cycles.Group(to) // reads what it needs
	if slices.Contains(named, to) {
		return to, true
	}
	for _, n := range named {
		switch {
		case g.cycles.Group(n)[0] != group[0]:
		case g.doesNeed(n, to):
			return n, true
		default:
			if _, known := g.last[to]; !known {
				g.last[to] = group[slices.IndexFunc(group, func(n node) bool { return g.doesNeed(n, to) })]
			}
			return g.last[to], true
		}
	}
	return node{}, false
}

func (g *graph) doesNeed(n, other node) bool { return slices.Contains(g.needs[n], other) }
