package lint

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/problem"
)

// dependencies are the names of dependsOn that no catalog of the cluster has.
func (l *linter) dependencies(c *fleetstate.Cluster, component string, r fleetstate.Component) {
	for _, name := range r.Entry.DependsOn {
		known := map[string]bool{}
		var names []string
		for _, g := range c.Groups {
			for _, other := range g.Components() {
				known[other] = true
				names = append(names, other)
			}
		}
		if known[name] {
			continue
		}
		slices.Sort(names)
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.NoEffect, Severity: problem.Warning, Pos: r.EntryTree.At([]string{catalog.KeyDependsOn}).Pos(),
			Subject: fmt.Sprintf("dependsOn of component %q", component), Found: fmt.Sprintf("names %q, which no catalog has", name),
			Expected: "components of the same cluster, by their names alone", Hints: problem.Nearest(name, names),
		})
	}
}
