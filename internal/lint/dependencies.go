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
	subject, pos := fmt.Sprintf("dependsOn of component %q", component), r.EntryTree.At([]string{catalog.KeyDependsOn}).Pos()
	for _, text := range r.Entry.DependsOn {
		d := lifecycle.ParseDependency(text)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(c.Groups)), func(name string) bool { return d.Is(name, d.Component) && c.Groups[name].Has(d.Component) }) {
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.NoEffect, Severity: problem.Warning, Pos: pos,
				Subject: subject, Found: fmt.Sprintf("names %q, which no catalog has", text),
				Expected: "components of the same cluster, as component or group/component", Hints: problem.Nearest(text, componentNames(c, d.Group != "")),
			})
			continue
		}
		way := l.wayBack(c, d, group, component, map[string]bool{})
		if way == nil {
			continue
		}
		found := fmt.Sprintf("%q leads back to it: neither would ever be deployed", text)
		if at := way[len(way)-1]; at.pos != pos {
			found = fmt.Sprintf("%q leads back to it, by dependsOn of component %q at %s: neither would ever be deployed", text, at.component, at.pos)
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

// step is a component on the way from a dependency, and where its own dependencies are.
type step struct {
	component string
	pos       problem.Pos
}

// wayBack returns the components by which a dependency leads to a component, nil if it does not.
func (l *linter) wayBack(c *fleetstate.Cluster, d lifecycle.Dependency, group, component string, seen map[string]bool) []step {
	if d.Is(group, component) {
		return []step{{component, l.entryOf(c, group, component).EntryTree.At([]string{catalog.KeyDependsOn}).Pos()}}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		g := c.Groups[name]
		if !d.Is(name, d.Component) || !g.Has(d.Component) || seen[name+"/"+d.Component] {
			continue
		}
		seen[name+"/"+d.Component] = true
		r := l.entryOf(c, name, d.Component)
		if r.Entry == nil {
			continue
		}
		for _, text := range r.Entry.DependsOn {
			next := lifecycle.ParseDependency(text)
			here := step{d.Component, r.EntryTree.At([]string{catalog.KeyDependsOn}).Pos()}
			if next.Is(group, component) {
				return []step{here}
			}
			if way := l.wayBack(c, next, group, component, seen); way != nil {
				return append([]step{here}, way...)
			}
		}
	}
	return nil
}

// entryOf is a component's merged entry.
func (l *linter) entryOf(c *fleetstate.Cluster, group, component string) fleetstate.Component {
	r, _ := l.st.Resolver().MergeEntry(c.Groups[group].Catalogs, component)
	return r
}
