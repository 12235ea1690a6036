package rings

import (
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/rollout"
)

// roster are the members of the hub in the rings of policies. Views share it while neither changes.
type roster struct {
	members  []*fleet.Member // in the order of their names
	policies []*rollout.Policy
	index    map[string]int // of members, by name
	rings    [][]int        // by policy and member; none for a member that it does not cover
	sizes    [][]int        // how many members rings have, by policy and ring
}

// none is the ring of a member that a policy does not cover, and the place of its parameter sets.
const none = -1

// rosterOf is that of members and policies, which is an earlier one's where they are the same.
func rosterOf(members []*fleet.Member, policies []*rollout.Policy, before *roster) *roster {
	if before != nil && slices.Equal(before.members, members) && slices.Equal(before.policies, policies) {
		return before
	}
	out := &roster{members: members, policies: policies, index: make(map[string]int, len(members))}
	for i, m := range members {
		out.index[m.Name] = i
	}
	for _, p := range policies {
		rings, sizes := make([]int, len(members)), make([]int, len(p.Rings))
		for i, m := range members {
			if rings[i] = ringIn(p, m); rings[i] != none {
				sizes[rings[i]]++
			}
		}
		out.rings, out.sizes = append(out.rings, rings), append(out.sizes, sizes)
	}
	return out
}

// servedMembers are the members of a hub, by the files that they are served from: one with an error
// stays in its ring.
func servedMembers(st *fleetstate.State, hub string) []*fleet.Member {
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

// servedMember is a member of a hub by the file that it is served from, nil if there is none.
func servedMember(st *fleetstate.State, hub, name string) *fleet.Member {
	if m := st.Fleet.Member(hub, name); m != nil {
		return served(st, m, st.ClusterOf(m))
	}
	return nil
}

// served is a member by the file that it is served from. One that drains is in the ring that the
// newest file says, and keeps what it has (log.Draining).
func served(st *fleetstate.State, m *fleet.Member, c *fleetstate.Cluster) *fleet.Member {
	if c.LastKnownGood != nil && st.DrainingRevision(m) == "" {
		return c.Member
	}
	return m
}

// ringIn is the index of a member's ring in a policy.
func ringIn(p *rollout.Policy, m *fleet.Member) int {
	if x := m.InRollout(); p.Covers(x) {
		return p.RingOf(x)
	}
	return none
}

// find is the index of a member by its name; false for one whose file is gone. It is looked for at
// an index first, as members come in order.
func (r *roster) find(name string, at int) (int, bool) {
	if at < len(r.members) && r.members[at].Name == name {
		return at, true
	}
	i, is := r.index[name]
	return i, is
}

// member is one by its name, nil for one whose file is gone.
func (r *roster) member(name string) *fleet.Member {
	if i, is := r.index[name]; is {
		return r.members[i]
	}
	return nil
}

// ringOf is the index of a member's ring.
func (v *view) ringOf(policy int, cluster string) int {
	if i, is := v.roster.index[cluster]; is {
		return v.roster.rings[policy][i]
	}
	for _, held := range v.held { // its file is gone
		if m := held.state.Fleet.Member(v.hub, cluster); m != nil {
			return ringIn(v.rings[policy].policy, m)
		}
	}
	return none
}

// place is where a parameter set comes from.
func (v *view) place(i lifecycle.Item) int { return v.picker()(&i) }

// picker returns place for sets that come in the order of clusters. Several goroutines must not use
// one.
func (v *view) picker() func(*lifecycle.Item) int {
	var places []int
	group, component, known, next := "", "", false, 0
	return func(i *lifecycle.Item) int {
		if !known || i.Group != group || i.Component != component {
			group, component, known, places = i.Group, i.Component, true, v.placesOf(i.Group, i.Component)
		}
		at, isMember := v.roster.find(i.Cluster, next)
		if !isMember {
			return v.placeOfGone(i)
		}
		next = at + 1
		return places[at]
	}
}

// placesOf are the places of all members for a component: the first policy counts that covers both.
func (v *view) placesOf(group, component string) []int {
	key := placeKey{group: group}
	for n, x := range v.rings {
		if x.policy.Scope.Covers(group, component) {
			key.policies += strconv.Itoa(n) + " "
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.places[key] == nil {
		places := make([]int, len(v.roster.members))
		for i := range places {
			for n, x := range v.rings {
				if !x.policy.Scope.Covers(group, component) {
					continue
				}
				if place := v.placeOf(n, i, group); place != none {
					places[i] = place
					break
				}
			}
		}
		v.places[key] = places
	}
	return v.places[key]
}

// placesFor are the places of all clusters for a query, where they do not depend on the component
// and all revisions have the same members; else nil.
func (v *view) placesFor(q query.Query, group string) []int {
	if !v.hasSameMembers || q.View == query.Components && q.Component == "" && slices.ContainsFunc(v.rings, func(x ringView) bool {
		return x.policy.Scope.CoversPart(group) && !x.policy.Scope.Covers(group, "")
	}) {
		return nil
	}
	component := q.Component
	if q.View == query.Members {
		component = fleetstate.Registration
	}
	return v.placesOf(group, component)
}

// placeOf is the place of a member's ring in a policy, none for a member that it does not cover.
// Who owns a group is decided by the newest state alone, by what it serves of a member that drains
// or is quarantined, so that all engines agree (M1).
func (v *view) placeOf(policy, member int, group string) int {
	ring, name := v.roster.rings[policy][member], v.roster.members[member].Name
	if ring == none {
		return none
	}
	place := v.placeIn(policy, ring, name, group)
	if place <= 0 {
		return place
	}
	now, then := v.st.ClustersOf(v.hub)[member], clusterAt(v.held[place-1].state, v.hub, member, name)
	switch {
	case then == nil:
		return none
	case then != now && then.Member.Owner(group) != now.Member.Owner(group):
		return 0
	}
	return place
}

// placeOfGone is where a set comes from of a member whose file is gone. One that has moved to
// another hub leaves this one at once (D4).
func (v *view) placeOfGone(i *lifecycle.Item) int {
	if v.st.MovedCluster(v.hub, i.Cluster) != nil {
		return 0
	}
	for n, x := range v.rings {
		if !x.policy.Scope.Covers(i.Group, i.Component) {
			continue
		}
		if ring := v.ringOf(n, i.Cluster); ring != none {
			if place := v.placeIn(n, ring, i.Cluster, i.Group); place != none {
				return place
			}
		}
	}
	return 0
}

// placeIn is the place of a ring, or what a member has that drains or follows its hub; none where
// it is lost.
func (v *view) placeIn(policy, ring int, cluster, group string) int {
	x := v.rings[policy]
	if x.groups != nil {
		return x.groups[group]
	}
	if kept, drains := x.draining[cluster]; drains {
		return kept
	}
	return x.places[ring]
}

// clusterAt is a cluster of a state, nil if it has none of the name. It is looked for at an index
// first.
func clusterAt(st *fleetstate.State, hub string, i int, name string) *fleetstate.Cluster {
	if members := st.Fleet.Members(hub); i < len(members) && members[i].Name == name {
		return st.ClustersOf(hub)[i]
	}
	return st.Cluster(hub, name)
}
