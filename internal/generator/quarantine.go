package generator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// ID names a member: what its file's path says, whatever is in it.
type ID struct{ Hub, Name string }

// Homes say of members that cannot be computed in which snapshot they last could; nil for one that could in none since the
// service knows it. With the snapshot and the facts, they are all that a State depends on (G6).
type Homes map[ID]*snapshot.Snapshot

// Homes are what Restore makes the same State of.
func (st *State) Homes() Homes {
	out := Homes{}
	for _, x := range st.exceptions {
		switch {
		case x.cluster.LastKnownGood != nil:
			out[ID{x.member.Hub, x.member.Name}] = x.cluster.LastKnownGood.Snapshot
		case x.cluster.IsNewcomer:
			out[ID{x.member.Hub, x.member.Name}] = nil
		}
	}
	return out
}

// Standing is what becomes of a member that cannot be computed.
type Standing string

const (
	// Kept means that its last good sets are answered.
	Kept Standing = "kept"
	// LeftOut means that it has never run anything: it is in no answer.
	LeftOut Standing = "left-out"
	// Refused means that nothing good is known of it, and it may run something: answers that it is part of are refused.
	Refused Standing = "refused"
)

// Quarantined is a member that cannot be computed (rule G2).
type Quarantined struct {
	ID
	Standing Standing
	// Revision is what its sets are computed from; empty unless they are kept.
	Revision string
	// Problems are why, sorted; there is at least one.
	Problems []problem.Problem
}

// First is the first of the problems that says where it is: counts of those that are not listed come before it.
func (q Quarantined) First() problem.Problem {
	return q.Problems[max(0, slices.IndexFunc(q.Problems, func(p problem.Problem) bool { return p.Pos.Line > 0 }))]
}

// Quarantined are a hub's members that cannot be computed, by hub and name. An empty hub means all.
func (st *State) Quarantined(hub string) []Quarantined {
	var out []Quarantined
	for _, x := range st.exceptions {
		if hub != "" && hub != x.member.Hub {
			continue
		}
		if q, is := st.QuarantineOf(x.cluster); is {
			out = append(out, q)
		}
	}
	return out
}

func (st *State) QuarantineOf(c *Cluster) (Quarantined, bool) {
	q := Quarantined{ID: ID{c.Member.Hub, c.Member.Name}, Standing: Refused, Problems: c.Errors()}
	switch {
	case len(q.Problems) == 0:
		return q, false
	case c.LastKnownGood != nil:
		q.Standing, q.Revision = Kept, c.LastKnownGood.Snapshot.Revision
	case st.isLeftOut(query{owner: fleet.OwnerHub}, c):
		q.Standing = LeftOut
	}
	return q, true
}

// Lost are the problems of those members of a hub that an earlier state answers for and this one does not, because of
// the facts: a snapshot alone leaves them at home. An empty hub means all.
func (st *State) Lost(before *State, hub string) []problem.Problem {
	var out []problem.Problem
	for _, q := range st.Quarantined(hub) {
		old := before.Fleet.Member(q.Hub, q.Name)
		if q.Standing == Kept || old == nil {
			continue
		}
		if c := before.ClusterOf(old); c.LastKnownGood != nil || len(c.Errors()) == 0 {
			out = append(out, q.Problems...)
		}
	}
	return out
}

// wrong is why a member cannot be computed, sorted.
func (c *Cluster) Errors() []problem.Problem {
	return problem.Sorted(slices.Concat(c.HubProblems, c.Problems))
}

// cannot are the problems that make every answer about a member impossible.
func (c *Cluster) BlockingProblems() []problem.Problem {
	if c.LastKnownGood != nil {
		return nil
	}
	return slices.Concat(c.HubProblems, c.Broken)
}

// leftOut reports whether a member that cannot be computed is simply not in the answer: there is nothing to be lost. Its
// Applications, of which there are none, are a fact for the engine that they are of, which is Argo CD. Where nothing is
// known of them, or the asker is another engine, it counts that the member was in no answer before; which nobody can tell
// of those to the member's own engine.
func (st *State) isLeftOut(q query, c *Cluster) bool {
	if c.LastKnownGood != nil || len(c.Problems) == 0 || len(st.hubProblems[c.Member.Hub]) > 0 {
		return false
	}
	nothing := st.KnowsApplications() && len(st.facts.ApplicationsOf(c.Member.Name)) == 0
	if nothing && !q.planned {
		return true
	}
	return c.IsNewcomer && q.owner != c.Member.Name && (nothing || !st.KnowsApplications())
}

// past finds what is known of members from before: from the previous State, or from Homes.
type history struct {
	st, before    *State // before is the previous State, nil without one
	lastKnownGood map[ID]*Resolver
	neverGood     map[ID]bool // those of which Homes say that they could never be computed
}

func newHistory(st, previous *State, homes Homes) *history {
	p := &history{st: st, before: previous, lastKnownGood: map[ID]*Resolver{}, neverGood: map[ID]bool{}}
	grounds := map[*snapshot.Snapshot]*Resolver{}
	for id, s := range homes {
		if s == nil {
			p.neverGood[id] = true
			continue
		}
		g, ok := grounds[s]
		if !ok {
			g, _ = newResolver(st.resolver, s) // if it cannot be used, though it once could, there is none
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

// newcomer reports whether a member that cannot be computed has never been.
func (p *history) isNewcomer(id ID) bool {
	if c := p.previous(id); c != nil {
		return c.IsNewcomer
	}
	return p.before != nil || p.neverGood[id]
}

// member is a member's file as it was when the member could last be computed, nil if that is not known.
func (p *history) member(id ID) *fleet.Member {
	if c := p.previous(id); c != nil && (c.LastKnownGood != nil || len(c.Errors()) == 0) {
		return c.Member
	}
	if g := p.lastKnownGood[id]; g != nil {
		return g.Fleet.Member(id.Hub, id.Name)
	}
	return nil
}

// last is a member's cluster by the last files that it could be computed from and by the facts of now, nil if there are
// none. Problems are those that the facts bring to it.
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
	if problems := slices.Concat(home.check(c), home.faults(m.Hub)); len(problems) > 0 {
		return nil, nil, problem.Cut(problems, problem.OfCluster)
	}
	return c, home, nil
}

// faults are the errors of the hub's own member file.
func (b *Resolver) faults(hub string) []problem.Problem {
	if self := b.Fleet.HubMember(hub); self != nil {
		return problem.Errors(self.Problems)
	}
	return nil
}

// hubFaults are the errors of hubs' own member files, by hub. All members of the hub take repositories and folders from
// it. A file that cannot be read does not say that it is the hub's: it is if it was, and may be if nothing is known of it.
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

// settle is the cluster that a State answers from, when the member as the snapshot has it has been computed anew.
func (p *history) settle(attempt *Cluster) *Cluster {
	for _, fault := range p.st.hubProblems[attempt.Member.Hub] {
		if fault.Cluster != attempt.Member.Name {
			attempt.HubProblems = append(attempt.HubProblems, attempt.Attribute([]problem.Problem{fault})...)
		}
	}
	wrong := attempt.Errors()
	switch {
	case attempt.isDraining():
		return p.drained(attempt)
	case len(wrong) == 0:
		return attempt
	}
	id := ID{attempt.Member.Hub, attempt.Member.Name}
	last, home, _ := p.last(id)
	if last == nil {
		attempt.IsNewcomer = p.isNewcomer(id)
		return attempt
	}
	c := *last
	c.desired, c.LastKnownGood = attempt, home
	c.Problems, c.HubProblems = attempt.Problems, attempt.HubProblems
	c.Quarantine = quarantineText(wrong[0])
	return &c
}

// quarantineText is the text of a quarantine in parameter sets: without lines, which move while the cause is the same (G5).
func quarantineText(p problem.Problem) string {
	if p.Pos.File == "" {
		return string(p.Reason)
	}
	return fmt.Sprintf("%s: %s", p.Reason, p.Pos.File)
}

// allGroups are the groups of the layout and those that only members at home have, sorted: the layout may have changed.
func (st *State) allGroups() []string {
	names := map[string]bool{}
	for _, name := range st.Fleet.Layout.GroupNames() {
		names[name] = true
	}
	for _, x := range st.exceptions {
		if x.cluster.LastKnownGood != nil {
			for name := range x.cluster.Groups {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// ownMembers are the hubs' own members, by hub, as answers see them.
func (st *State) ownMembers() map[string]*fleet.Member {
	out := map[string]*fleet.Member{}
	for _, hub := range st.Fleet.Hubs() {
		if self := st.Fleet.HubMember(hub); self != nil {
			out[hub] = st.ClusterOf(self).Member
		}
	}
	for _, x := range st.exceptions {
		if c := x.cluster; c.LastKnownGood != nil && c.Member.IsHub {
			out[x.member.Hub] = c.Member
		}
	}
	return out
}

// cluster is a member's cluster by name, nil when there is no such member.
func (st *State) Cluster(hub, name string) *Cluster {
	i, found := st.Fleet.Place(hub, name)
	if !found {
		return nil
	}
	return st.clusters[hub][i]
}

// sameFaults reports whether two lists of problems read the same.
func sameFaults(a, b []problem.Problem) bool {
	return slices.EqualFunc(a, b, func(p, q problem.Problem) bool {
		return p.Reason == q.Reason && p.Error() == q.Error() && strings.Join(p.Hints, "\n") == strings.Join(q.Hints, "\n")
	})
}
