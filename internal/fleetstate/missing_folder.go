package fleetstate

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/problem"
)

// LostFolders reports groups of which a previous state had files and this one has none, although
// their releases are still declared: a folder deleted by mistake would switch off every component
// of the group. A repository that never had such files is fine, so this is no finding of Lint;
// the caller that replaces one state by another asks.
func (st *State) LostFolders(previous *State) []problem.Problem {
	var out []problem.Problem
	for _, group := range st.Fleet.Versions.Groups() {
		if st.populated(group) != "" {
			continue
		}
		if root := previous.populated(group); root != "" {
			out = append(out, problem.Problem{
				Reason: problem.MissingFolder, Severity: problem.Error, Pos: problem.Pos{File: root}, Subject: fmt.Sprintf("group %q", group),
				Found:    "no file is left in the folders of its levels",
				Expected: "some, because " + st.Fleet.Layout.ApplicationSets + " has releases of the group",
			})
		}
	}
	return out
}

// populated is a root folder of a group that holds files, empty if none does.
func (st *State) populated(group string) string {
	empty := map[string]bool{} // by root
	for _, c := range st.Clusters() {
		g := c.Groups[group]
		if g == nil || empty[g.Root] {
			continue
		}
		if st.resolver.Snapshot.HasDir(g.Root) {
			return g.Root
		}
		empty[g.Root] = true
	}
	return ""
}
