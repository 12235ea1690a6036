package fleetstate

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/queryerr"
)

// FindMember finds a member by its name. An empty hub stands for the one hub that has such a
// member.
func (st *State) FindMember(hub, name string) (*fleet.Member, *queryerr.Error) {
	var found []*fleet.Member
	var names []string
	for _, h := range st.Fleet.Hubs() {
		if hub != "" && h != hub {
			continue
		}
		for _, m := range st.Fleet.Members(h) {
			names = append(names, m.Name)
			if m.Name == name {
				found = append(found, m)
			}
		}
	}
	switch {
	case hub != "" && names == nil:
		return nil, queryerr.BadRequest("hub %q has no member files%s", hub, queryerr.Hint(hub, st.Fleet.Hubs()))
	case len(found) == 0:
		return nil, queryerr.BadRequest("no member is called %q%s", name, queryerr.Hint(name, names))
	case len(found) > 1:
		return nil, queryerr.BadRequest("cluster %q is a member of hubs %s and %s: name the hub", name, found[0].Hub, found[1].Hub)
	}
	return found[0], nil
}

// Errors are the problems that concern a hub: its members' and those of the repository as a whole.
// An empty hub means all.
func (st *State) Errors(hub string) []problem.Problem {
	return slices.DeleteFunc(slices.Clone(st.Problems), func(p problem.Problem) bool { return hub != "" && p.Hub != "" && p.Hub != hub })
}

// ComponentsOf are the names of all components that a group's catalogs know for a member, sorted.
// They are nil when there is no such member or group. An empty hub is as for FindMember.
func (st *State) ComponentsOf(hub, name, group string) []string {
	m, failure := st.FindMember(hub, name)
	if failure != nil {
		return nil
	}
	g := st.ClusterOf(m).Groups[group]
	if g == nil {
		return nil
	}
	return g.Components()
}
