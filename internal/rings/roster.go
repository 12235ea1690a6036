package rings

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
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

// change is what tells a view from one before it.
type change struct {
	roster *roster
	// revisions are picked for members in both views, by member; empty where they may differ.
	revisions []string
}

// changeSince compares a view with one before it; nil where all may differ.
func (v *view) changeSince(before *view) *change {
	if before == nil || before.roster != v.roster || v.isIrregular() || before.isIrregular() {
		return nil
	}
	out := &change{v.roster, make([]string, len(v.roster.members))}
	for i := range out.revisions {
		out.revisions[i] = v.samePick(before, i)
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
			if clusters[i] != c {
				out.revisions[i] = ""
			}
		}
	}
	note(v.st, before.st)
	for _, held := range v.held {
		if then := was[held.state.Revision]; then != nil {
			note(held.state, then)
		}
	}
	return out
}

// samePick is the revision that all policies have for a member, in both views; empty where they
// have several, or cover it not.
func (v *view) samePick(before *view, member int) string {
	out := ""
	for n, x := range v.rings {
		ring := v.roster.rings[n][member]
		if ring == none {
			return ""
		}
		revision := v.revision(x.places[ring])
		if revision != before.revision(before.rings[n].places[ring]) || out != "" && out != revision {
			return ""
		}
		out = revision
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

// stays names the revision that is picked for each cluster now as before, empty where it may be
// another one; nil where nothing is known.
func (c *change) stays(clusters []*fleetstate.Cluster) []string {
	if c == nil || len(clusters) == 0 {
		return nil
	}
	first := c.roster.index[clusters[0].Member.Name]
	out := make([]string, len(clusters))
	for k, cluster := range clusters {
		i, is := first+k, true
		if i >= len(c.roster.members) || c.roster.members[i] != cluster.Member {
			i, is = c.roster.index[cluster.Member.Name]
		}
		if is {
			out[k] = c.revisions[i]
		}
	}
	return out
}

// coversAll reports whether policies cover all that a query asks for.
func (v *view) coversAll(q query.Query, group string) bool {
	return slices.ContainsFunc(v.rings, func(x ringView) bool { return x.policy.Scope.Covers(group, q.Component) })
}
