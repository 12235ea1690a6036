// Package roster knows the members of a hub in the rings of its rollout policies.
//
//	Of(members, policies, before) -> Roster
//	Served(state, hub) -> the members, by the files that they are served from
//	Join(held, now, hub, unfit) -> the files of a held state with those of members that have joined
//
// A member whose newest file has an error, or that is of a held tenant, is in the ring of the file
// that it is served from (rule 5 of package fleetstate).
package roster

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// None is the ring of a member that a policy does not cover.
const None = -1

// Roster are the members of a hub in the rings of policies. It never changes.
type Roster struct {
	Members  []*fleet.Member // in the order of their names
	policies []*rollout.Policy
	index    map[string]int // of members, by name
	rings    [][]int        // by policy and member
	sizes    [][]int        // by policy and ring
}

// Of is the roster of members and policies, which is an earlier one where they are the same; before
// may be nil.
func Of(members []*fleet.Member, policies []*rollout.Policy, before *Roster) *Roster {
	if before != nil && slices.Equal(before.Members, members) && slices.Equal(before.policies, policies) {
		return before
	}
	out := &Roster{Members: members, policies: policies, index: make(map[string]int, len(members))}
	for i, m := range members {
		out.index[m.Name] = i
	}
	for _, p := range policies {
		rings, sizes := make([]int, len(members)), make([]int, len(p.Rings))
		for i, m := range members {
			if rings[i] = RingIn(p, m); rings[i] != None {
				sizes[rings[i]]++
			}
		}
		out.rings, out.sizes = append(out.rings, rings), append(out.sizes, sizes)
	}
	return out
}

// Ring is the index of a member's ring in a policy, by the indexes of both; None where the policy
// does not cover it.
func (r *Roster) Ring(policy, member int) int { return r.rings[policy][member] }

// Size is how many members a ring has.
func (r *Roster) Size(policy, ring int) int { return r.sizes[policy][ring] }

// Index is that of a member by its name; false for one whose file is gone.
func (r *Roster) Index(name string) (int, bool) {
	i, is := r.index[name]
	return i, is
}

// Find is Index, which looks at an index first, as members mostly come in order.
func (r *Roster) Find(name string, at int) (int, bool) {
	if at < len(r.Members) && r.Members[at].Name == name {
		return at, true
	}
	return r.Index(name)
}

// Components are the components of a group in a policy's scope that any of some states has on a
// ring's members.
func (r *Roster) Components(policy, ring int, hub, group string, states ...*fleetstate.State) []string {
	names := map[string]bool{}
	for i, m := range r.Members {
		if r.Ring(policy, i) != ring {
			continue
		}
		for _, st := range states {
			for _, name := range st.ComponentsOf(hub, m.Name, group) {
				names[name] = names[name] || r.policies[policy].Scope.Covers(group, name)
			}
		}
	}
	maps.DeleteFunc(names, func(_ string, isCovered bool) bool { return !isCovered })
	return slices.Sorted(maps.Keys(names))
}

// RingIn is the index of a member's ring in a policy; None where the policy does not cover it.
func RingIn(p *rollout.Policy, m *fleet.Member) int {
	if x := m.InRollout(); p.Covers(x) {
		return p.RingOf(x)
	}
	return None
}

// Served are the members of a hub, by the files that they are served from.
func Served(st *fleetstate.State, hub string) []*fleet.Member {
	members := st.Fleet.Members(hub)
	isClone := false
	for i, c := range st.ClustersOf(hub) {
		if m := served(st, members[i], c); m != members[i] {
			if !isClone {
				members, isClone = slices.Clone(members), true
			}
			members[i] = m
		}
	}
	return members
}

// ServedMember is a member of a hub by the file that it is served from, nil if there is none.
func ServedMember(st *fleetstate.State, hub, name string) *fleet.Member {
	if m := st.Fleet.Member(hub, name); m != nil {
		return served(st, m, st.ClusterOf(m))
	}
	return nil
}

// served is a member by the file that it is served from. One that drains is in the ring that the
// newest file says, and keeps what it has.
func served(st *fleetstate.State, m *fleet.Member, c *fleetstate.Cluster) *fleet.Member {
	if c.LastKnownGood != nil && st.DrainingRevision(m) == "" {
		return c.Member
	}
	return m
}
