package rings

import (
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/roster"
)

// none is the place of what no policy covers.
const none = -1

// ringOf is the index of a member's ring.
func (v *view) ringOf(policy int, cluster string) int {
	if i, is := v.roster.Index(cluster); is {
		return v.roster.Ring(policy, i)
	}
	for _, held := range v.held { // its file is gone
		if m := held.state.Fleet.Member(v.hub, cluster); m != nil {
			return roster.RingIn(v.rings[policy].policy, m)
		}
	}
	return roster.None
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
		at, isMember := v.roster.Find(i.Cluster, next)
		if !isMember {
			return v.placeOfGone(i)
		}
		next = at + 1
		return places[at]
	}
}

// placesOf are the places of all members for a component: that of a hold, else of the first policy
// that covers both.
func (v *view) placesOf(group, component string) []int {
	key := placeKey{group: group}
	if v.frozen.split[group] {
		key.component = component
	}
	for n, x := range v.rings {
		if x.policy.Scope.Covers(group, component) {
			key.policies += strconv.Itoa(n) + " "
			for place, former := range x.former {
				for i, was := range former {
					if was.Scope.Covers(group, component) {
						key.policies += strconv.Itoa(place) + "." + strconv.Itoa(i) + ","
					}
				}
			}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.places[key] == nil {
		places := make([]int, len(v.roster.Members))
		for i := range places {
			for n, x := range v.rings {
				if !x.policy.Scope.Covers(group, component) {
					continue
				}
				if place := v.placeOf(n, i, group); place != none {
					if places[i] = place; place > 0 && x.isNewTo(place, v.roster.Ring(n, i), v.roster.Members[i], group, component) {
						places[i] = 0
					}
					break
				}
			}
		}
		for i, m := range v.roster.Members {
			if place, is := v.placeOfFrozen(m.Name, group, component); is {
				places[i] = place
			}
		}
		v.places[key] = places
	}
	return v.places[key]
}

// splits reports whether components of a group may have places of their own.
func (v *view) splits(group string) bool {
	splits := func(p *rollout.Policy) bool { return p.Scope.CoversPart(group) && !p.Scope.Covers(group, "") }
	return v.frozen.split[group] || slices.ContainsFunc(v.rings, func(x ringView) bool {
		return splits(x.policy) || slices.ContainsFunc(slices.Concat(x.former...), splits)
	})
}

// placesFor are the places of all clusters for a query, where they do not depend on the component
// and all revisions have the same members; else nil.
func (v *view) placesFor(q query.Query, group string) []int {
	if !v.hasSameMembers || q.View == query.Components && q.Component == "" && v.splits(group) {
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
	ring, name := v.roster.Ring(policy, member), v.roster.Members[member].Name
	if ring == roster.None {
		return none
	}
	place := v.placeIn(policy, ring, group)
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

// isNewTo reports whether no policy was about a component of a member yet at a place: it followed
// the newest commit then, and goes on until the ring takes a revision whose policy has it. A ring
// that went back may have had such a revision before.
func (x ringView) isNewTo(place, ring int, m *fleet.Member, group, component string) bool {
	former, name := x.former[place-1], x.policy.Rings[ring].Name
	if x.groups != nil {
		name = group
	}
	return former != nil && !x.isBack[name] && !slices.ContainsFunc(former, func(was *rollout.Policy) bool {
		return (x.groups == nil || was.Agents) && was.Scope.Covers(group, component) && was.Covers(m.InRollout())
	})
}

// placeOfGone is where a set comes from of a member whose file is gone. One that has moved to
// another hub leaves this one at once (D4).
func (v *view) placeOfGone(i *lifecycle.Item) int {
	if place, is := v.placeOfFrozen(i.Cluster, i.Group, i.Component); is {
		return place
	}
	if v.st.MovedCluster(v.hub, i.Cluster) != nil {
		return 0
	}
	for n, x := range v.rings {
		if !x.policy.Scope.Covers(i.Group, i.Component) {
			continue
		}
		if ring := v.ringOf(n, i.Cluster); ring != roster.None {
			if place := v.placeIn(n, ring, i.Group); place != none {
				return place
			}
		}
	}
	return 0
}

// placeIn is the place of a ring, or what a member has that follows its hub; none where it is lost.
func (v *view) placeIn(policy, ring int, group string) int {
	x := v.rings[policy]
	if x.groups != nil {
		return x.groups[group]
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
