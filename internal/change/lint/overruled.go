package lint

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// overruled reports values of files that have no effect: the component's catalog entry sets them,
// too, and the layout lets the entry win (catalogValues: last).
func (l *linter) overruled(g *fleetstate.Group, component string, r fleetstate.Component) {
	if r.Values == nil || l.files[r.Values] || !l.st.Resolver().CatalogValuesWin(g.Name) {
		return
	}
	l.files[r.Values] = true
	isCatalog := func(o hierarchy.Origin) bool {
		return slices.ContainsFunc(g.Catalogs, func(c hierarchy.Layer) bool { return c.Path == o.Pos.File })
	}
	for _, leaf := range r.Values.Leaves(nil) {
		if !isCatalog(leaf.Origin) {
			continue
		}
		for _, o := range leaf.Replaced {
			if isCatalog(o) {
				continue
			}
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.NoEffect, Severity: problem.Warning, Pos: o.Pos,
				Subject: fmt.Sprintf("value %s of component %q", hierarchy.FormatPath(leaf.Path), component),
				Found:   "has no effect: the catalog sets it, and its values win", Expected: "a value that the catalog does not set, or catalogValues: first in the layout",
				Related: []problem.Pos{leaf.Pos},
			})
		}
	}
}
