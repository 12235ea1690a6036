package lint

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/team"
)

// teams reports errors in team files, including files that concern no cluster, and files in their
// folder that are not team files.
func (l *linter) teams() {
	table := l.st.Resolver().Teams()
	warn := func(file, subject, found, expected string, hints ...string) {
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.NoEffect, Severity: problem.Warning, Pos: problem.Pos{File: file}, Subject: subject, Found: found, Expected: expected, Hints: hints,
		})
	}
	for _, file := range l.st.Resolver().Snapshot.Under(team.Folder) {
		if _, ok := team.Name(file); !ok {
			warn(file, "file", "is in the folder of teams but is not a team file", "files named "+team.Folder+"/<team>.yaml")
		} else if table == nil {
			warn(file, "team file", "has no effect: the layout has no group "+team.Group, "groups: {teams: {catalog: charts/application-sets/catalogs/teams.yaml}}")
		}
	}
	if table == nil {
		return
	}
	tenants := map[string]bool{}
	for m := range l.st.Clusters() {
		tenants[m.Tenant] = tenants[m.Tenant] || !m.IsHub
	}
	for _, t := range table.Teams {
		if t.Tenant != "" && !tenants[t.Tenant] { // else they are the state's
			l.problems = append(l.problems, t.Problems...)
		}
		switch {
		case len(problem.Errors(t.Problems)) > 0 || table.Reaches(t):
		case !tenants[t.Tenant]:
			var known []string
			for name, isOfSpokes := range tenants {
				if isOfSpokes {
					known = append(known, name)
				}
			}
			slices.Sort(known)
			found := fmt.Sprintf("no member has the tenant %q", t.Tenant)
			if _, isOfHub := tenants[t.Tenant]; isOfHub {
				found = fmt.Sprintf("no member but hubs has the tenant %q, and no team is on a hub", t.Tenant)
			}
			warn(t.Pos.File, fmt.Sprintf("team %q", t.Name), found, "the tenant of a member", problem.Nearest(t.Tenant, known)...)
		default:
			warn(t.Pos.File, fmt.Sprintf("team %q", t.Name), "selects no member of its tenant", "a selector that matches labels of member files")
		}
	}
}

// apps reports problems of applications that are not in any cluster's state.
func (l *linter) apps() {
	if a := l.st.Resolver().Apps(); a != nil {
		l.problems = append(l.problems, a.Faults()...)
		l.problems = append(l.problems, a.Projects...)
	}
}
