package rings

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/roster"
)

// The service of an agent moves no ring. It follows its hub (rule 6): the grant of each group says
// which revision the agent has in a policy, and the service says how healthy the group is at it.

// agentOf is the member that a service of a state follows a hub for, "" for the hub's own service.
func agentOf(st *fleetstate.State) string { return st.Facts().GrantsOf() }

// takesPart reports whether a policy is about what a service of a state answers.
func takesPart(st *fleetstate.State, p *rollout.Policy) bool { return agentOf(st) == "" || p.Agents }

// followsRings reports whether a member's own engine follows the rings of a policy for a group.
func followsRings(p *rollout.Policy, m *fleet.Member, group string) bool {
	return p.Agents && m.Remote && m.Owner(group) == m.Name && p.Scope.CoversPart(group) && p.Covers(m.InRollout())
}

// announced are the revisions that the hub has announced for a policy, by group.
func announced(st *fleetstate.State, policy string) map[string]string {
	out := map[string]string{}
	grants, _ := st.Facts().Grants(agentOf(st))
	for _, g := range grants {
		if revision := rollout.ParseAnnouncement(g.Rings)[policy]; revision != "" && g.Held && !g.IsDeleted {
			out[g.Group] = revision
		}
	}
	return out
}

// isPending reports whether the hub announces that a policy's file has changed, and that the
// earlier one is still in force.
func isPending(st *fleetstate.State, policy, group string) bool {
	grants, _ := st.Facts().Grants(agentOf(st))
	return slices.ContainsFunc(grants, func(g facts.OwnershipGrant) bool {
		return g.Group == group && slices.Contains(strings.Fields(g.Rings), policy+rollout.Pending)
	})
}

// ofOthers are the groups that an agent's engine does not own.
func ofOthers(st *fleetstate.State) []string {
	return slices.DeleteFunc(slices.Clone(st.Groups()), func(group string) bool {
		holds, _ := st.Facts().Holds(agentOf(st), group) // they are watched where there is an agent
		return holds
	})
}

// follow has an agent's groups take what the hub has announced, and reports whether one has. What a
// replica has written is taken in before that (rule 4).
func (r *Rings) follow(ctx context.Context, st *fleetstate.State, policy *rollout.Policy, c *change) bool {
	says := announced(st, policy.Name)
	for group, revision := range says {
		r.fetch(ctx, st, revision, r.followedState(policy.Name, group))
	}
	r.mu.Lock()
	p, before := r.logOf(policy.Name)
	if p == nil || p.isStale || p.isEnded {
		r.mu.Unlock()
		return false
	}
	next := rollout.Follow(before, says, ofOthers(st), func(revision string) bool { return r.revisions[revision] != nil }, r.o.Now())
	if next.InForce == nil && !isWithoutFile(policy) {
		next = next.Begins(policy, st.Revision)
	}
	needs := p.needs
	p.needs = next.Revisions() // other states may be served while the log is written
	r.mu.Unlock()
	if next = r.put(next, c); p.record != nil {
		next = next.Keep(r.kept)
	}
	if next.Equal(before) {
		r.locked(func() { p.needs = needs })
		return false
	}
	if p.record != nil {
		if err := r.write(ctx, policy.Name, p.record, next); err != nil {
			r.noteFailedWrite(p, policy.Name, err)
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteChange(policy.Name, p, next, c)
	p.log, p.isLost, p.problem, p.needs = next, false, "", nil
	r.o.Logger.Info("groups take the revisions of their ring on the hub", "rollout", policy.Name, "revisions", fmt.Sprint(says))
	return true
}

// fetchInterval is how long a revision that could not be read is not asked for again.
const fetchInterval = 30 * time.Second

// followedState is the state that a group is answered from; nil if it is not at hand.
func (r *Rings) followedState(policy, group string) *fleetstate.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, log := r.logOf(policy)
	if known := r.revisions[log.Followed(group)]; known != nil {
		return known.state
	}
	return nil
}

// fetch reads the files of a revision that the hub has announced, and the agent has never seen as
// its newest: a poll may skip a commit. It follows the state that the group has, if that is known:
// members that it breaks, or that drain in it, keep what they have.
func (r *Rings) fetch(ctx context.Context, st *fleetstate.State, name string, before *fleetstate.State) {
	r.mu.Lock()
	known := r.revisions[name] != nil || r.o.Now().Sub(r.tried[name]) < fetchInterval
	if !known {
		maps.DeleteFunc(r.tried, func(_ string, at time.Time) bool { return r.o.Now().Sub(at) >= fetchInterval })
		r.tried[name] = r.o.Now()
	}
	r.mu.Unlock()
	if known || r.o.Fetch == nil {
		return
	}
	files, err := r.o.Fetch(ctx, name)
	if err == nil && files.Revision != name {
		err = fmt.Errorf("the source has revision %s for it", files.Revision)
	}
	var now *fleetstate.State
	switch {
	case err != nil:
	case before == nil:
		now, err = fleetstate.Restore(st, files, st.Facts(), nil)
	default:
		now, err = fleetstate.Build(before, files, st.Facts())
	}
	if err != nil {
		r.o.Logger.Warn("a revision that the hub has announced cannot be read; the groups keep what they have", "revision", name, "error", err)
		return
	}
	r.restored(name, now)
}

// followed are the places of an agent's groups in a policy. A group is lost of which nobody knows
// what it has: also one that has come back, until it has followed its hub.
func (r *Rings) followed(v *view, policy *rollout.Policy, known *policyState) map[string]int {
	out, agent, others := map[string]int{}, roster.ServedMember(v.st, v.hub, agentOf(v.st)), ofOthers(v.st)
	for _, group := range v.st.Groups() {
		out[group] = lost
		if agent != nil && followsRings(policy, agent, group) && known.log.Rings[group].Released && !slices.Contains(others, group) {
			continue
		}
		switch revision := known.log.Followed(group); {
		case revision != "":
			out[group] = r.place(v, revision)
		case slices.Contains(others, group) || !policy.Scope.CoversPart(group):
			out[group] = 0 // the hub announces nothing for it, and it holds up no other group
		}
	}
	return out
}

// groupHealth is what is known of a group of an agent.
type groupHealth struct {
	// announced is what the group has taken, and atIt how healthy it is at that; empty and nil
	// while it has not taken what is announced.
	announced  string
	atIt       *rollout.MemberHealth
	components map[string]*componentHealth
}

// componentHealth is what is known of a component of an agent.
type componentHealth struct {
	rollout.MemberHealth
	isMissing       bool
	version, digest string // of what it is answered
}

// statusWords are Argo CD's words for statuses.
var statusWords = map[rollout.Status]string{
	rollout.Healthy: "Healthy", rollout.Progressing: "Progressing", rollout.Unknown: "Unknown", rollout.Degraded: "Degraded",
}

// take takes in what is known of an object of a component.
func (g *groupHealth) take(component string, is facts.Application, status rollout.Status, why string) {
	c := g.components[component]
	if c == nil {
		c = &componentHealth{MemberHealth: rollout.MemberHealth{Status: rollout.Healthy}}
		g.components[component] = c
	}
	c.Take(status, why)
	c.isMissing = c.isMissing || is.Name == ""
}

// note takes in what is known of a group as a whole.
func (g *groupHealth) note(status rollout.Status, why string) {
	if g.atIt != nil {
		g.atIt.Take(status, why)
	}
}

// serve takes in what a component is answered.
func (g *groupHealth) serve(s response.ParameterSet) {
	if c := g.components[s.Item().Component]; c != nil {
		c.version, c.digest = s.Recipe()
	}
}

// report is what the hub gets.
func (g *groupHealth) report() (out facts.GroupReport) {
	if g.atIt != nil {
		word := statusWords[g.atIt.Status]
		if g.atIt.Status == rollout.Unknown {
			word = statusWords[rollout.Progressing]
		}
		out.Rings = word + " " + g.announced
	}
	var all []facts.ComponentReport
	for name, c := range g.components {
		is := facts.ComponentReport{Component: name, Health: statusWords[c.Status], Version: c.version, Digest: c.digest}
		if c.isMissing && c.Status == rollout.Progressing {
			is.Health = "Missing"
		}
		all = append(all, is)
	}
	out.Components = facts.FormatReport(all)
	return out
}

// reports are what the service of an agent says of its groups: what the engine runs of each
// component, and how healthy a group is at what is announced. It says nothing of the latter while
// the group has not taken it.
func (r *Rings) reports(v *view) map[string]facts.GroupReport {
	grants, _ := v.st.Facts().Grants(agentOf(v.st))
	groups := map[string]*groupHealth{}
	for _, g := range grants {
		groups[g.Group] = &groupHealth{components: map[string]*componentHealth{}}
		if r.hasTaken(v, g) {
			groups[g.Group].announced, groups[g.Group].atIt = g.Rings, &rollout.MemberHealth{Status: rollout.Healthy}
		}
	}
	if len(groups) == 0 || !r.knowsHealth(v.st) {
		return nil
	}
	take := func(item lifecycle.Item, is facts.Application, status rollout.Status, why string) {
		g := groups[item.Group]
		if g == nil {
			return
		}
		if v.covers(item.Group, item.Component) {
			g.note(status, why)
		}
		if item.Component != "" {
			g.take(item.Component, is, status, why)
		}
	}
	if !r.isFlux(v.st) {
		r.agentHealth(v, groups, take)
	} else {
		if !r.fluxHealth(v, take) {
			return nil
		}
		r.fluxVersions(v, groups)
	}
	out := map[string]facts.GroupReport{}
	for name, g := range groups {
		out[name] = g.report()
	}
	return out
}

// agentHealth takes in the Applications of an agent's groups. The ApplicationSets of a group may
// come later than its grant: until they ask for it, nothing of it runs.
func (r *Rings) agentHealth(v *view, groups map[string]*groupHealth, take func(lifecycle.Item, facts.Application, rollout.Status, string)) {
	asked := map[string]bool{}
	for _, q := range r.asked(query.Components) {
		g := groups[q.Group]
		if v.st.OwnerName(q.Hub, q.Owner) != agentOf(v.st) || g == nil {
			continue
		}
		desired, err := r.Respond(context.Background(), v.st, q)
		if isUnknown(err) {
			continue
		}
		asked[q.Group] = true
		if err != nil {
			g.note(rollout.Unknown, err.Error())
			continue
		}
		desired.ParameterSets(func(s response.ParameterSet) {
			item := s.Item()
			a, there := v.st.Facts().Application(item.Name)
			status, why := judge(a, there, item.Name, s.Digest())
			take(item, a, status, why)
			g.serve(s)
		})
	}
	for group, g := range groups {
		if asked[group] || g.atIt == nil {
			continue
		}
		all, err := r.Respond(context.Background(), v.st, r.allOf(v, group))
		if err == nil && all.Sets() > 0 {
			g.note(rollout.Progressing, "no ApplicationSet asks for group "+group)
		}
	}
}

// fluxVersions takes in the versions that Flux gets. Nothing is reported on the components of a
// group without a response.
func (r *Rings) fluxVersions(v *view, groups map[string]*groupHealth) {
	for group, g := range groups {
		all, err := r.Respond(context.Background(), v.st, r.allOf(v, group))
		if err != nil {
			clear(g.components)
			continue
		}
		all.ParameterSets(g.serve)
	}
}

// allOf is the query for all components of an agent's group.
func (r *Rings) allOf(v *view, group string) query.Query {
	return query.Query{View: query.Components, Hub: r.o.Hub, Group: group, Owner: agentOf(v.st)}
}

// hasTaken reports whether a group is answered from all revisions that its grant announces.
func (r *Rings) hasTaken(v *view, g facts.OwnershipGrant) bool {
	says := rollout.ParseAnnouncement(g.Rings)
	for policy, revision := range says {
		n := slices.IndexFunc(v.rings, func(x ringView) bool { return x.policy.Name == policy })
		if n < 0 || v.rings[n].lacks != "" {
			return false
		}
		place, known := v.rings[n].groups[g.Group]
		if !known || place == lost || v.revision(place) != revision {
			return false
		}
	}
	return len(says) > 0
}

// covers reports whether any policy that takes part is about a component.
func (v *view) covers(group, component string) bool {
	return slices.ContainsFunc(v.rings, func(x ringView) bool { return x.policy.Scope.Covers(group, component) })
}

// announce gives the grants of agents the revisions of their rings (view grants).
func (v *view) announce(desired *response.Response) *response.Response {
	return desired.Compose(func(s response.ParameterSet) (response.ParameterSet, bool) {
		item, says, pending := s.Item(), rollout.Announcement{}, ""
		if i, isMember := v.roster.Index(item.Cluster); isMember {
			for n, x := range v.rings {
				if followsRings(x.policy, v.roster.Members[i], item.Group) {
					says[x.policy.Name] = v.revision(x.places[v.roster.Ring(n, i)])
					if x.isPending {
						pending += " " + x.policy.Name + rollout.Pending
					}
				}
			}
		}
		if len(says) == 0 {
			return s, true
		}
		out, err := s.WithRings(says.String() + pending)
		return out, err == nil
	})
}

// noteGrant takes in what an agent says of a group, by the Application that delivers the grant.
func (h *healths) noteGrant(s response.ParameterSet) {
	item := s.Item()
	i, isMember := h.v.roster.Index(item.Cluster)
	if !isMember {
		return
	}
	h.named[memberGroup{item.Cluster, item.Group}] = true
	for n, x := range h.v.rings {
		if followsRings(x.policy, h.v.roster.Members[i], item.Group) {
			a, there := h.v.st.Facts().Application(item.Name)
			status, why := judge(a, there, item.Name, s.Digest())
			switch unhealthy := a.Unhealthy(); {
			case a.Unheard != "": // Argo CD repeats what the service wrote last
				status, why = rollout.Unknown, item.Name+": "+a.Unheard
			case status != rollout.Healthy && unhealthy != "":
				why += " (" + unhealthy + ")"
			}
			health := h.at(n, i)
			health.NoteBreak(a.Broken)
			health.Take(status, why)
		}
	}
}

// memberGroup is a group of a member.
type memberGroup struct{ cluster, group string }

// hasAgents reports whether agents take part in any policy.
func (v *view) hasAgents() bool {
	return slices.ContainsFunc(v.rings, func(x ringView) bool { return x.policy.Agents })
}

// noteSilent takes in the agents of which nothing is known: nobody has their grants, or the health
// of grants is no evidence.
func (h *healths) noteSilent(noEvidence string) {
	for n, x := range h.v.rings {
		for i, m := range h.v.roster.Members {
			for _, group := range h.v.st.Groups() {
				if !followsRings(x.policy, m, group) {
					continue
				}
				if !h.named[memberGroup{m.Name, group}] {
					h.at(n, i).Take(rollout.Unknown, "the ownership grant of group "+group+" is not answered yet")
				}
				if noEvidence != "" {
					h.at(n, i).Take(rollout.Unknown, noEvidence)
				}
			}
		}
	}
}
