package lint

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Ignore returns problems without the warnings and notes of the paths that the layout lists
// (lint.ignore). Errors stay, because the service acts on them. A pattern that matches no file is
// itself a warning.
func Ignore(st *fleetstate.State, problems []problem.Problem) []problem.Problem {
	globs := st.Fleet.Layout.LintIgnore
	if len(globs) == 0 {
		return problems
	}
	out := slices.DeleteFunc(slices.Clone(problems), func(p problem.Problem) bool {
		return p.Severity != problem.Error && isIgnored(st.Fleet.Layout, p.Pos.File)
	})
	for _, g := range globs {
		if !slices.ContainsFunc(st.Resolver().Snapshot.Paths(), g.Match) {
			out = append(out, problem.Problem{
				Reason: problem.NoEffect, Severity: problem.Warning, Pos: g.Pos, Subject: fmt.Sprintf("path %q of lint.ignore", g),
				Found: "is not a file's", Expected: "a path of this repository, with * for text within a part and ** for any parts",
			})
		}
	}
	return out
}

// isIgnored reports whether the layout lists a path.
func isIgnored(l *fleet.Layout, path string) bool {
	return slices.ContainsFunc(l.LintIgnore, func(g fleet.IgnoredPath) bool { return g.Match(path) })
}
