package rings

import (
	"context"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/roster"
)

// healths are what is known of the members of policies, healthy as long as nothing else is known. A
// member whose file is gone is none: it leaves its ring with what the ring takes next.
type healths struct {
	v     *view
	of    [][]rollout.MemberHealth // by policy and member of the roster; empty for one without
	named map[memberGroup]bool     // the groups of members of which grants are answered
}

func newHealths(v *view) *healths {
	h := &healths{v: v, named: map[memberGroup]bool{}}
	for range v.rings {
		h.of = append(h.of, make([]rollout.MemberHealth, len(v.roster.Members)))
	}
	return h
}

// at is what is known of a member of the roster in a policy.
func (h *healths) at(policy, member int) *rollout.MemberHealth {
	m := &h.of[policy][member]
	if m.Member == "" {
		m.Member, m.Status = h.v.roster.Members[member].Name, rollout.Healthy
	}
	return m
}

// health is that of the rings of each policy: by what the composed responses or artifact name.
func (r *Rings) health(ctx context.Context, v *view) []map[string]rollout.RingHealth {
	out := make([]map[string]rollout.RingHealth, len(v.rings))
	if !r.knowsHealth(v.st) {
		return out
	}
	members := newHealths(v)
	unknown := make([]bool, len(v.rings))
	if r.isFlux(v.st) {
		if !r.fluxHealth(v, func(item lifecycle.Item, is facts.Application, status rollout.Status, why string) {
			if n := v.policyOf(item); n >= 0 {
				if i, isMember := v.roster.Index(item.Cluster); isMember {
					members.at(n, i).NoteBreak(is.Broken)
					members.at(n, i).Take(status, why)
				}
			}
		}) {
			return out
		}
	} else {
		unknown = r.applicationsHealth(v, members)
	}
	if v.hasAgents() {
		members.noteSilent(r.o.GrantHealth(ctx))
	}
	for n, x := range v.rings {
		if unknown[n] {
			continue
		}
		byRing := make([][]rollout.MemberHealth, len(x.policy.Rings))
		for i := range members.of[n] {
			m := &members.of[n][i]
			if m.Member == "" {
				continue
			}
			if why := r.o.Silent(m.Member); why != "" { // the engine repeats what it saw last
				m.Take(rollout.Unknown, "its API server does not respond: "+why)
			}
			ring := v.roster.Ring(n, i)
			byRing[ring] = append(byRing[ring], *m)
		}
		out[n] = map[string]rollout.RingHealth{}
		for i, ring := range x.policy.Rings {
			if len(byRing[i]) > 0 || v.roster.Size(n, i) == 0 || r.isIdle(v, n, i) {
				out[n][ring.Name] = rollout.RingHealth{Revision: v.revision(x.places[i]), Members: byRing[i]}
			}
		}
	}
	return out
}

// isIdle reports whether nothing in a policy's scope is answered for any member of a ring, so that
// there is nothing to wait for. Whole groups are asked for: an ApplicationSet may come later than
// what it asks for.
func (r *Rings) isIdle(v *view, policy, ring int) bool {
	if r.isFlux(v.st) { // the artifact has everything, but for what is being removed
		return !r.hasReleases(v, policy, ring)
	}
	v.mu.Lock()
	known, isKnown := v.idle[[2]int{policy, ring}]
	v.mu.Unlock()
	if isKnown {
		return known
	}
	answers := false
	scope := v.rings[policy].policy.Scope
	for _, group := range v.st.Groups() {
		if !scope.CoversPart(group) {
			continue
		}
		var queries []query.Query
		for _, component := range v.roster.Components(policy, ring, v.hub, group, v.states()...) { // all at once may be too many
			queries = append(queries, query.Query{View: query.Components, Hub: r.o.Hub, Group: group, Component: component})
		}
		if group == fleetstate.FleetGroup {
			queries = append(queries, query.Query{View: query.Members, Hub: r.o.Hub})
		}
		for _, q := range queries {
			all, err := r.Respond(context.Background(), v.st, q)
			if isUnknown(err) {
				continue // as for an ApplicationSet
			}
			if err != nil {
				return false
			}
			all.ParameterSets(func(s response.ParameterSet) {
				item := s.Item()
				answers = answers || scope.Covers(item.Group, item.Component) && v.ringOf(policy, item.Cluster) == ring
			})
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.idle[[2]int{policy, ring}] = !answers
	return !answers
}

// applicationsHealth takes in the Applications of all queries. It returns by policy whether a query
// in its scope has no response: nothing is known of what that names.
func (r *Rings) applicationsHealth(v *view, members *healths) (unknown []bool) {
	before := r.sections
	if before.roster != v.roster || !before.facts.SharesApplications(v.st.Facts()) {
		before.of = nil
	}
	r.sections = sections{roster: v.roster, facts: v.st.Facts()}
	unknown = make([]bool, len(v.rings))
	for _, q := range r.asked(query.Components, query.Members, query.Grants) {
		if v.st.OwnerName(q.Hub, q.Owner) != fleet.OwnerHub {
			continue
		}
		desired, err := r.Respond(context.Background(), v.st, q)
		if isUnknown(err) {
			continue
		}
		if err != nil {
			for n, x := range v.rings {
				switch q.View {
				case query.Grants:
					unknown[n] = unknown[n] || x.policy.Agents
				case query.Members:
					unknown[n] = unknown[n] || x.policy.Scope.CoversPart(fleetstate.FleetGroup)
				default:
					unknown[n] = unknown[n] || x.concerns(q, q.Group)
				}
			}
			continue
		}
		if q.View == query.Grants {
			desired.ParameterSets(members.noteGrant)
			continue
		}
		for s := range desired.Sections() {
			known := before.next(s)
			if known == nil {
				known = v.sectionOf(s)
			}
			r.sections.of = append(r.sections.of, known)
			known.tell(members)
		}
	}
	return unknown
}

// sections are what is known of the sections of all responses, in order, with a roster and facts.
type sections struct {
	roster *roster.Roster
	facts  facts.Set
	of     []*section
}

// next is what is known of the section that comes next, if it is the same; nil if it is not.
func (s *sections) next(is response.Section) *section {
	if len(s.of) == 0 {
		return nil
	}
	was := s.of[0]
	s.of = s.of[1:]
	if was.is.HasSetsOf(is) {
		return was
	}
	return nil
}

// section is what is known of the Applications of a section of a response. It depends on the
// section, the roster and the facts alone.
type section struct {
	is response.Section
	// healthy are the members in each policy, by their indexes in the roster, of which all is well.
	healthy [][]int
	others  []finding
}

// finding is what is known of one Application.
type finding struct {
	policy int
	member int // of the roster
	broken int64
	status rollout.Status
	why    string
}

func (v *view) sectionOf(s response.Section) *section {
	out := &section{is: s, healthy: make([][]int, len(v.rings))}
	s.ParameterSets(func(s response.ParameterSet) {
		item := s.Item()
		i, isMember := v.roster.Index(item.Cluster)
		if !isMember {
			return
		}
		n := v.policyOf(item)
		if n < 0 {
			return
		}
		a, there := v.st.Facts().Application(item.Name)
		if isOldRegistration(item, a, there) {
			return
		}
		status, why := judge(a, there, item.Name, s.Digest())
		switch last := len(out.healthy[n]) - 1; {
		case status != rollout.Healthy || a.Broken > 0:
			out.others = append(out.others, finding{n, i, a.Broken, status, why})
		case last < 0 || out.healthy[n][last] != i:
			out.healthy[n] = append(out.healthy[n], i)
		}
	})
	return out
}

// isOldRegistration reports whether an Application registers a member and has no digest, as its
// ApplicationSet is of an earlier version: nothing is known of it, and it holds up nothing else.
func isOldRegistration(item lifecycle.Item, a facts.Application, there bool) bool {
	return there && a.Digest == "" && item.Group == fleetstate.FleetGroup && item.Component == fleetstate.Registration
}

// tell has members take in what is known of a section.
func (s *section) tell(members *healths) {
	for n, healthy := range s.healthy {
		for _, i := range healthy {
			members.at(n, i)
		}
	}
	for _, f := range s.others {
		m := members.at(f.policy, f.member)
		m.NoteBreak(f.broken)
		m.Take(f.status, f.why)
	}
}

// policyOf is the index of the policy that covers what an object is about, none without one.
// Several policies may cover a component, each for other tenants.
func (v *view) policyOf(item lifecycle.Item) int {
	for n, x := range v.rings {
		if x.policy.Scope.Covers(item.Group, item.Component) && v.ringOf(n, item.Cluster) != roster.None {
			return n
		}
	}
	return none
}

// judge says what is known of an engine's object at the digest that it is answered (G8).
func judge(is facts.Application, there bool, name, digest string) (rollout.Status, string) {
	switch {
	case !there:
		return rollout.Progressing, name + " is not there yet"
	case is.Digest == "":
		return rollout.Unknown, name + " carries no digest"
	case is.Digest != digest:
		return rollout.Unknown, name + " has not taken what it is answered"
	case is.Healthy:
		return rollout.Healthy, ""
	case is.Degraded:
		return rollout.Degraded, name + " is degraded"
	}
	return rollout.Progressing, name + " is not synced and healthy since it was written"
}
