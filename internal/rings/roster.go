package rings

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
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

// none is the ring of a member that a policy does not cover.
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

// ringIn is the index of a member's ring in a policy.
func ringIn(p *rollout.Policy, m *fleet.Member) int {
	if x := m.InRollout(); p.Covers(x) {
		return p.RingOf(x)
	}
	return none
}

// change is what tells a view from one before it: whether picks for clusters are of the same
// revisions as there.
type change struct {
	roster *roster
	until  []int // by member: the next one that is picked otherwise, from this one on
}

// changeSince compares a view with one before it; nil where all may differ.
func (v *view) changeSince(before *view) *change {
	if before == nil || before.roster != v.roster || v.isIrregular() || before.isIrregular() {
		return nil
	}
	differs := make([]bool, len(v.roster.members))
	for n, x := range v.rings {
		hasMoved := make([]bool, len(x.places))
		for i, place := range x.places {
			hasMoved[i] = v.revision(place) != before.revision(before.rings[n].places[i])
		}
		for i, ring := range v.roster.rings[n] {
			differs[i] = differs[i] || ring != none && hasMoved[ring]
		}
	}
	was := map[string]*fleetstate.State{before.st.Revision: before.st}
	for _, held := range before.held {
		was[held.state.Revision] = held.state
	}
	note := func(now, then *fleetstate.State) { // who owns a group may differ
		if now == then {
			return
		}
		clusters := then.ClustersOf(v.hub)
		for i, c := range now.ClustersOf(v.hub) {
			differs[i] = differs[i] || clusters[i] != c
		}
	}
	note(v.st, before.st)
	for _, held := range v.held {
		if then := was[held.state.Revision]; then != nil {
			note(held.state, then)
		}
	}
	out := &change{roster: v.roster, until: make([]int, len(differs))}
	next := len(differs)
	for i := len(differs) - 1; i >= 0; i-- {
		if differs[i] {
			next = i
		}
		out.until[i] = next
	}
	return out
}

// isIrregular reports whether picks depend on more than the rings of members that all revisions
// have.
func (v *view) isIrregular() bool {
	for _, x := range v.rings {
		if x.lacks != "" || x.groups != nil || len(x.draining) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(v.held, func(held *revision) bool {
		return !slices.EqualFunc(held.state.Fleet.Members(v.hub), v.roster.members, func(a, b *fleet.Member) bool { return a == b || a.Name == b.Name })
	})
}

// isSame reports whether no pick for the clusters from first to last differs.
func (c *change) isSame(first, last string) bool {
	if c == nil {
		return false
	}
	from, hasFirst := c.roster.index[first]
	to, hasLast := c.roster.index[last]
	return hasFirst && hasLast && c.until[from] > to
}
