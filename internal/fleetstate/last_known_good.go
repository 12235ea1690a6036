package fleetstate

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
)

// LastKnownGood says of members that cannot be computed in which snapshot they last could; nil for
// one that could in none since the service knows it, and for a file of Fleet.Late. A component that
// alone is served from another snapshot has the member's name, a space and GROUP/COMPONENT. With
// the snapshot and the facts, they are all that a State depends on (G6).
type LastKnownGood map[ID]*snapshot.Snapshot

// LastKnownGood are what Restore makes the same State of.
func (st *State) LastKnownGood() LastKnownGood {
	out := LastKnownGood{}
	for file, hub := range st.Fleet.Late {
		out[ID{hub, file}] = nil
	}
	for _, x := range st.exceptions {
		switch {
		case x.cluster.LastKnownGood != nil:
			out[ID{x.member.Hub, x.member.Name}] = x.cluster.LastKnownGood.Snapshot
		case x.cluster.IsNewcomer:
			out[ID{x.member.Hub, x.member.Name}] = nil
		}
		for key, s := range x.cluster.spares {
			if out[componentID(x.cluster, key)] = nil; s.resolver != nil {
				out[componentID(x.cluster, key)] = s.resolver.Snapshot
			}
		}
	}
	return out
}

// HeldMembers returns the members of a hub that are served from their last known good snapshots.
func (st *State) HeldMembers(hub string) (out []*Cluster) {
	for _, x := range st.exceptions {
		if x.cluster.LastKnownGood != nil && x.member.Hub == hub {
			out = append(out, x.cluster)
		}
	}
	return out
}

// history finds what is known of members from before: from the previous State, or from Homes.
type history struct {
	st, before    *State // before is the previous State, nil without one
	lastKnownGood map[ID]*Resolver
	neverGood     map[ID]bool // those of which Homes say that they could never be computed
}

func newHistory(st, previous *State, homes LastKnownGood) *history {
	p := &history{st: st, before: previous, lastKnownGood: map[ID]*Resolver{}, neverGood: map[ID]bool{}}
	grounds := map[*snapshot.Snapshot]*Resolver{}
	for id, s := range homes {
		if s == nil {
			p.neverGood[id] = true
			continue
		}
		g, ok := grounds[s]
		if !ok {
			g, _ = newResolver(st.resolver, nil, s, nil) // if it cannot be used, though it once could, there is none
			grounds[s] = g
		}
		p.lastKnownGood[id] = g
	}
	return p
}

// previous is a member's cluster in the previous State, nil if there is none.
func (p *history) previous(id ID) *Cluster {
	if p.before == nil {
		return nil
	}
	return p.before.Cluster(id.Hub, id.Name)
}

// isNewcomer reports whether a member that cannot be computed has never been.
func (p *history) isNewcomer(id ID) bool {
	if c := p.previous(id); c != nil {
		return c.IsNewcomer
	}
	return p.before != nil || p.neverGood[id]
}

// member is a member's file as it was when the member could last be computed, nil if that is not
// known.
func (p *history) member(id ID) *fleet.Member {
	if c := p.previous(id); c != nil && (c.LastKnownGood != nil || len(c.Errors()) == 0) {
		return c.Member
	}
	if g := p.lastKnownGood[id]; g != nil {
		return g.Fleet.Member(id.Hub, id.Name)
	}
	return nil
}

// last is a member's cluster by the last files that it could be computed from and by the facts of
// now, nil if there are none. Problems are those that the facts bring to it.
func (p *history) last(id ID) (*Cluster, *Resolver, []problem.Problem) {
	old, home := p.previous(id), p.lastKnownGood[id]
	if old != nil {
		switch {
		case old.LastKnownGood != nil:
			home = old.LastKnownGood
		case len(old.Errors()) > 0:
			return nil, nil, nil
		default:
			home = p.before.resolver
		}
	}
	if home == nil || home.Snapshot == p.st.resolver.Snapshot {
		return nil, nil, nil
	}
	m := p.member(id)
	if m == nil {
		return nil, nil, nil
	}
	if f, registered := p.st.facts.Of(id.Name); old != nil && old.Registered == registered && old.Facts.Equal(f) {
		return old, home, nil
	}
	c := home.NewCluster(m, nil, p.st.facts)
	if problems := slices.Concat(home.Check(c), home.faults(m.Hub)); len(problems) > 0 {
		return nil, nil, problem.Cut(problems, problem.OfCluster)
	}
	c.spares = p.spares(c)
	return c, home, nil
}

// faults are the errors of the hub's own member file.
func (b *Resolver) faults(hub string) []problem.Problem {
	if self := b.Fleet.HubMember(hub); self != nil {
		return problem.Errors(self.Problems)
	}
	return nil
}

// hubFaults are the errors of hubs' own member files, by hub. All members of the hub take
// repositories and folders from it. A file that cannot be read does not say that it is the hub's:
// it is if it was, and may be if nothing is known of it.
func (p *history) hubFaults() map[string][]problem.Problem {
	out := map[string][]problem.Problem{}
	for _, hub := range p.st.Fleet.Hubs() {
		faults := p.st.resolver.faults(hub)
		for _, m := range p.st.Fleet.Faulty(hub) {
			if m.IsHub {
				continue
			}
			errs := problem.Errors(m.Problems)
			id := ID{m.Hub, m.Name}
			switch before := p.member(id); {
			case before != nil && before.IsHub,
				before == nil && m.Content() == nil && p.st.Fleet.HubMember(hub) == nil && !p.isNewcomer(id):
				faults = append(faults, errs...)
			}
		}
		if len(faults) > 0 {
			out[hub] = problem.Sorted(faults)
		}
	}
	return out
}

// settle is the cluster that a State answers from, when the member as the snapshot has it has been
// computed anew.
func (p *history) settle(attempt *Cluster) *Cluster {
	for _, fault := range p.st.hubProblems[attempt.Member.Hub] {
		if fault.Cluster != attempt.Member.Name {
			attempt.HubProblems = append(attempt.HubProblems, attempt.Attribute([]problem.Problem{fault})...)
		}
	}
	id := ID{attempt.Member.Hub, attempt.Member.Name}
	if before := p.member(id); before != nil && (attempt.Registered || !p.st.KnowsApplications() || len(p.st.facts.ApplicationsOf(id.Name)) > 0) {
		attempt.Problems = append(attempt.Problems, attempt.Attribute(provision.Change(before.Provision, attempt.Member.Provision))...)
	}
	wrong := attempt.Errors()
	switch {
	case len(wrong) == 0 && attempt.Member.Lifecycle == fleet.Draining:
		return p.drained(attempt)
	case len(wrong) == 0:
		attempt.spares = p.spares(attempt)
		return attempt
	}
	last, home, _ := p.last(id)
	if last == nil {
		attempt.IsNewcomer = p.isNewcomer(id)
		return attempt
	}
	c := *last
	c.desired, c.LastKnownGood, c.isHeld = attempt, home, false
	c.Problems, c.HubProblems = attempt.Problems, attempt.HubProblems
	c.Hold = HeldFor(wrong[0].Reason)
	return &c
}

// Reasons of holds, as parameter sets have them.
const (
	Broken   = "broken"
	Draining = "draining"
	Limits   = "limits"
	Removal  = "removal"
)

// HeldFor is the reason of the hold that an error makes.
func HeldFor(r problem.Reason) string {
	switch r {
	case problem.RemovalRefused:
		return Removal
	case problem.TenantBudget:
		return Limits
	}
	return Broken
}
