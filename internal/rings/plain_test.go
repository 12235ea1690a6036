package rings

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
)

// What follows says the same as the package, remembers nothing, and shares nothing.

// plainHolds has the revision of each frozen cell, and why it is; nothing of groups or patterns.
type plainHolds map[cell]plainHold

type plainHold struct{ revision, reason string }

// next is what is frozen in a view: each covered cell stays as it was served in the one before.
func (h plainHolds) next(now, before *view, revisions map[string]*fleetstate.State, cells []cell) plainHolds {
	out, st := plainHolds{}, now.st
	freeze := func(at cell, reason string) {
		known, isFrozen := h[at]
		switch _, is := out[at]; {
		case is:
		case isFrozen:
			out[at] = plainHold{known.revision, reason}
		case before.st.Fleet.Member(before.hub, at.cluster) == nil:
			out[at] = plainHold{"absent", reason}
		default:
			out[at] = plainHold{before.revision(plainPlace(before, h, lifecycle.Item{Cluster: at.cluster, Group: at.group, Component: at.component})), reason}
		}
	}
	whole := func(at cell, isHeld bool) { // the member is held
		m := st.Fleet.Member(now.hub, at.cluster)
		switch {
		case m == nil || !isHeld || st.ClusterOf(m).LastKnownGood == nil:
		case m.Lifecycle == fleet.Draining && len(st.ClusterOf(m).Errors()) == 0:
			freeze(at, "draining")
		default:
			freeze(at, "broken")
		}
	}
	for _, at := range cells {
		whole(at, slices.ContainsFunc(now.rings, func(x ringView) bool { return x.policy.Scope.Covers(at.group, at.component) }))
	}
	for _, hold := range st.Fleet.Holds {
		for _, at := range cells {
			known, isFrozen := h[at]
			files := []*fleetstate.State{st}
			if isFrozen && revisions[known.revision] != nil {
				files = append(files, revisions[known.revision])
			}
			if slices.ContainsFunc(files, func(st *fleetstate.State) bool {
				m := st.Fleet.Member(before.hub, at.cluster)
				return m != nil && hold.Covers(m, at.group, at.component)
			}) {
				freeze(at, "manual")
			}
		}
	}
	for _, at := range cells {
		_, isFrozen := h[at]
		whole(at, isFrozen)
	}
	return out
}

// place is where a frozen cell comes from; false for one that no hold keeps, and -1 for none.
func (h plainHolds) place(v *view, i lifecycle.Item) (int, bool) {
	hold, is := h[cell{i.Cluster, i.Group, i.Component}]
	revision := hold.revision
	if !is || revision == "absent" {
		return -1, is
	}
	for n, st := range v.states() {
		then, now := st.Cluster(v.hub, i.Cluster), v.st.Cluster(v.hub, i.Cluster)
		if st.Revision == revision {
			return n, then == nil || now == nil || then.Member.Owner(i.Group) == now.Member.Owner(i.Group)
		}
	}
	panic("nobody has the frozen revision " + revision)
}

// plainPlace is where a parameter set comes from.
func plainPlace(v *view, holds plainHolds, i lifecycle.Item) int {
	if place, is := holds.place(v, i); is {
		return place
	}
	for n, x := range v.rings {
		if !x.policy.Scope.Covers(i.Group, i.Component) {
			continue
		}
		now := v.st.Fleet.Member(v.hub, i.Cluster)
		ring := plainRing(v, n, i.Cluster)
		if ring < 0 || now == nil && v.st.MovedCluster(v.hub, i.Cluster) != nil {
			continue
		}
		place := x.places[ring]
		if place <= 0 || now == nil {
			return max(place, 0)
		}
		held := v.held[place-1].state
		then := held.Fleet.Member(v.hub, i.Cluster)
		if then == nil {
			continue
		}
		if held.ClusterOf(then).Member.Owner(i.Group) != v.st.ClusterOf(now).Member.Owner(i.Group) {
			return 0
		}
		hasPolicy, isCovered := false, x.isBack[x.policy.Rings[ring].Name]
		for _, was := range held.Fleet.Rollouts {
			hasPolicy = hasPolicy || was.Name == x.policy.Name
			isCovered = isCovered || was.Scope.Covers(i.Group, i.Component) && was.Covers(now.InRollout())
		}
		if hasPolicy && !isCovered {
			return 0
		}
		return place
	}
	return 0
}

// plainRing is the index of a member's ring, -1 for one that the policy does not cover.
func plainRing(v *view, policy int, cluster string) int {
	m := v.st.Fleet.Member(v.hub, cluster)
	for i := 0; m == nil && i < len(v.held); i++ {
		m = v.held[i].state.Fleet.Member(v.hub, cluster)
	}
	if m == nil || !v.rings[policy].policy.Covers(m.InRollout()) {
		return -1
	}
	return v.rings[policy].policy.RingOf(m.InRollout())
}

// plainSets are the parameter sets of a query: each is picked from what its revision answers.
func plainSets(v *view, holds plainHolds, q query.Query) ([]response.ParameterSet, error) {
	var out []response.ParameterSet
	for n, st := range v.states() {
		if n > 0 && v.held[n-1].isAbsent {
			continue
		}
		all, err := response.Respond(st, q)
		if n > 0 && isUnknown(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all.ParameterSets(func(s response.ParameterSet) {
			if plainPlace(v, holds, s.Item()) == n {
				out = append(out, s)
			}
		})
	}
	slices.SortStableFunc(out, func(a, b response.ParameterSet) int {
		return cmp.Or(strings.Compare(a.Item().Cluster, b.Item().Cluster), strings.Compare(a.Item().Component, b.Item().Component))
	})
	return out, nil
}

// plainText is a response with these sets.
func plainText(v *view, holds plainHolds, sets []response.ParameterSet) string {
	var texts []string
	for _, s := range sets {
		text := s.Save().Text
		if _, is := holds.place(v, s.Item()); is {
			reason := holds[cell{s.Item().Cluster, s.Item().Group, s.Item().Component}].reason
			text = strings.Replace(text, `,"digest":"`, `,"hold":"`+reason+`","digest":"`, 1)
		}
		texts = append(texts, text)
	}
	return `{"output":{"parameters":[` + strings.Join(texts, ",") + "]}}\n"
}

// plainHealth is the health of all rings, by policy and ring; nothing where a query has no
// response.
func plainHealth(v *view, holds plainHolds, queries map[string][]query.Query) []map[string]rollout.RingHealth {
	out := make([]map[string]rollout.RingHealth, len(v.rings))
	members := make([]map[string]*rollout.MemberHealth, len(v.rings))
	for n := range members {
		members[n] = map[string]*rollout.MemberHealth{}
	}
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		for _, q := range queries[name] {
			sets, err := plainSets(v, holds, q)
			if isUnknown(err) || q.View != query.Components && q.View != query.Members {
				continue
			}
			if err != nil {
				return out
			}
			for _, s := range sets {
				item := s.Item()
				if v.st.Fleet.Member(v.hub, item.Cluster) == nil {
					continue
				}
				n := slices.IndexFunc(v.rings, func(x ringView) bool { return x.policy.Scope.Covers(item.Group, item.Component) })
				for n >= 0 && n < len(v.rings) && (!v.rings[n].policy.Scope.Covers(item.Group, item.Component) || plainRing(v, n, item.Cluster) < 0) {
					n++
				}
				if n < 0 || n == len(v.rings) {
					continue
				}
				if members[n][item.Cluster] == nil {
					members[n][item.Cluster] = &rollout.MemberHealth{Member: item.Cluster, Status: rollout.Healthy}
				}
				a, there := v.st.Facts().Application(item.Name)
				if item.Component == fleetstate.Registration && there && a.Digest == "" {
					continue
				}
				members[n][item.Cluster].NoteBreak(a.Broken)
				members[n][item.Cluster].Take(judge(a, there, item.Name, s.Digest()))
			}
		}
	}
	for n, x := range v.rings {
		out[n] = map[string]rollout.RingHealth{}
		for i, ring := range x.policy.Rings {
			is := rollout.RingHealth{Revision: v.revision(x.places[i])}
			for _, name := range slices.Sorted(maps.Keys(members[n])) {
				if plainRing(v, n, name) == i {
					is.Members = append(is.Members, *members[n][name])
				}
			}
			hasMembers := slices.ContainsFunc(v.st.Fleet.Members(v.hub), func(m *fleet.Member) bool { return plainRing(v, n, m.Name) == i })
			if len(is.Members) > 0 || !hasMembers || plainIsIdle(v, holds, n, i) {
				out[n][ring.Name] = is
			}
		}
	}
	return out
}

// plainIsIdle reports whether nothing in a policy's scope is answered for the members of a ring.
func plainIsIdle(v *view, holds plainHolds, policy, ring int) bool {
	for _, group := range v.st.Groups() {
		for _, q := range []query.Query{{View: query.Components, Hub: v.hub, Group: group}, {View: query.Members, Hub: v.hub}} {
			sets, err := plainSets(v, holds, q)
			if err != nil && !isUnknown(err) {
				return false
			}
			for _, s := range sets {
				if item := s.Item(); v.rings[policy].policy.Scope.Covers(item.Group, item.Component) && plainRing(v, policy, item.Cluster) == ring {
					return false
				}
			}
		}
	}
	return true
}
