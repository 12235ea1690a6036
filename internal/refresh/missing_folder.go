package refresh

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// missingFolders reports groups of which a previous state had files and this one has none, although
// their releases are still declared: a folder deleted by mistake would switch off every component
// of the group. A repository that never had such files is fine, so this is no finding of lint.
func missingFolders(previous, now *fleetstate.State) []problem.Problem {
	var out []problem.Problem
	for _, group := range now.Fleet.Versions.Groups() {
		if populated(now, group) != "" {
			continue
		}
		if root := populated(previous, group); root != "" {
			out = append(out, problem.Problem{
				Reason: problem.MissingFolder, Severity: problem.Error, Pos: problem.Pos{File: root}, Subject: fmt.Sprintf("group %q", group),
				Found:    "no file is left in the folders of its levels",
				Expected: "some, because " + now.Fleet.Layout.ApplicationSets + " has releases of the group",
			})
		}
	}
	return out
}

// populated is a root folder of a group that holds files, empty if none does.
func populated(st *fleetstate.State, group string) string {
	empty := map[string]bool{} // by root
	for _, c := range st.Clusters() {
		g := c.Groups[group]
		if g == nil || empty[g.Root] {
			continue
		}
		if st.Resolver().Snapshot.HasDir(g.Root) {
			return g.Root
		}
		empty[g.Root] = true
	}
	return ""
}
