package generator

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/problem"
)

// LostFolders reports groups of which a previous state had files and this one has none, although their releases are
// still declared: a folder deleted by mistake would switch off every component of the group. A repository that never
// had such files is fine, so this is no finding of Lint; whoever replaces one state by another asks.
func (st *State) LostFolders(previous *State) []problem.Problem {
	before, now := previous.populated(), st.populated()
	var out []problem.Problem
	for _, group := range st.Fleet.Versions.Groups() {
		if root := before[group]; root != "" && now[group] == "" {
			out = append(out, problem.Problem{
				Reason: problem.MissingFolder, Severity: problem.Error, Pos: problem.Pos{File: root}, Subject: fmt.Sprintf("group %q", group),
				Found:    "no file is left in the folders of its levels",
				Expected: "some, because " + st.Fleet.Layout.ApplicationSets + " has releases of the group",
			})
		}
	}
	return out
}

// populated are the groups that have files, each with the first root folder (in order) that holds some.
func (st *State) populated() map[string]string {
	out := map[string]string{}
	for _, c := range st.clusters {
		for name, g := range c.groups {
			if (out[name] == "" || g.root < out[name]) && st.now.snapshot.HasDir(g.root) {
				out[name] = g.root
			}
		}
	}
	return out
}
