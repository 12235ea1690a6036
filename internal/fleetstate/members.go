package fleetstate

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/problem"
)

// Errors are the problems that concern a hub: its members' and those of the repository as a whole.
// An empty hub means all.
func (st *State) Errors(hub string) []problem.Problem {
	return slices.DeleteFunc(slices.Clone(st.Problems), func(p problem.Problem) bool { return hub != "" && p.Hub != "" && p.Hub != hub })
}

// ComponentsOf are the names of all components that a group's catalogs know for a member, sorted.
// They are nil when there is no such member or group. An empty hub is as for Fleet.FindMember.
func (st *State) ComponentsOf(hub, name, group string) []string {
	m, failure := st.Fleet.FindMember(hub, name)
	if failure != nil {
		return nil
	}
	g := st.ClusterOf(m).Groups[group]
	if g == nil {
		return nil
	}
	return g.Components()
}
