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
	for _, x := range st.peculiar {
		switch {
		case x.cluster.home != nil:
			out[ID{x.member.Hub, x.member.Name}] = x.cluster.home.snapshot
		case x.cluster.newcomer:
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
	for _, x := range st.peculiar {
		if hub != "" && hub != x.member.Hub {
			continue
		}
		if q, is := st.quarantined(x.cluster); is {
			out = append(out, q)
		}
	}
	return out
}

func (st *State) quarantined(c *cluster) (Quarantined, bool) {
	q := Quarantined{ID: ID{c.member.Hub, c.member.Name}, Standing: Refused, Problems: c.wrong()}
	switch {
	case len(q.Problems) == 0:
		return q, false
	case c.home != nil:
		q.Standing, q.Revision = Kept, c.home.snapshot.Revision
	case st.leftOut(query{owner: fleet.OwnerHub}, c):
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
		if c := before.clusterOf(old); c.home != nil || len(c.wrong()) == 0 {
			out = append(out, q.Problems...)
		}
	}
	return out
}

// wrong is why a member cannot be computed, sorted.
func (c *cluster) wrong() []problem.Problem {
	return problem.Sorted(slices.Concat(c.faults, c.problems))
}

// cannot are the problems that make every answer about a member impossible.
func (c *cluster) cannot() []problem.Problem {
	if c.home != nil {
		return nil
	}
	return slices.Concat(c.faults, c.broken)
}

// attempted is a member as the snapshot has it.
func (st *State) attempted(m *fleet.Member) *cluster { return st.clusterOf(m).attempted() }

// leftOut reports whether a member that cannot be computed is simply not in the answer: there is nothing to be lost. Its
// Applications, of which there are none, are a fact for the engine that they are of, which is Argo CD. Where nothing is
// known of them, or the asker is another engine, it counts that the member was in no answer before; which nobody can tell
// of those to the member's own engine.
func (st *State) leftOut(q query, c *cluster) bool {
	if c.home != nil || len(c.problems) == 0 || len(st.faults[c.member.Hub]) > 0 {
		return false
	}
	nothing := st.removes() && len(st.facts.ApplicationsOf(c.member.Name)) == 0
	if nothing && !q.planned {
		return true
	}
	return c.newcomer && q.owner != c.member.Name && (nothing || !st.removes())
}

// past finds what is known of members from before: from the previous State, or from Homes.
type past struct {
	st, before *State // before is the previous State, nil without one
	homes      map[ID]*ground
	never      map[ID]bool // those of which Homes say that they could never be computed
}

func newPast(st, previous *State, homes Homes) *past {
	p := &past{st: st, before: previous, homes: map[ID]*ground{}, never: map[ID]bool{}}
	grounds := map[*snapshot.Snapshot]*ground{}
	for id, s := range homes {
		if s == nil {
			p.never[id] = true
			continue
		}
		g, ok := grounds[s]
		if !ok {
			g, _ = newGround(st.now, s) // if it cannot be used, though it once could, there is none
			grounds[s] = g
		}
		p.homes[id] = g
	}
	return p
}

// previous is a member's cluster in the previous State, nil if there is none.
func (p *past) previous(id ID) *cluster {
	if p.before == nil {
		return nil
	}
	return p.before.cluster(id.Hub, id.Name)
}

// newcomer reports whether a member that cannot be computed has never been.
func (p *past) newcomer(id ID) bool {
	if c := p.previous(id); c != nil {
		return c.newcomer
	}
	return p.before != nil || p.never[id]
}

// member is a member's file as it was when the member could last be computed, nil if that is not known.
func (p *past) member(id ID) *fleet.Member {
	if c := p.previous(id); c != nil && (c.home != nil || len(c.wrong()) == 0) {
		return c.member
	}
	if g := p.homes[id]; g != nil {
		return g.Fleet.Member(id.Hub, id.Name)
	}
	return nil
}

// last is a member's cluster by the last files that it could be computed from and by the facts of now, nil if there are
// none. Problems are those that the facts bring to it.
func (p *past) last(id ID) (*cluster, *ground, []problem.Problem) {
	old, home := p.previous(id), p.homes[id]
	if old != nil {
		switch {
		case old.home != nil:
			home = old.home
		case len(old.wrong()) > 0:
			return nil, nil, nil
		default:
			home = p.before.now
		}
	}
	if home == nil || home.snapshot == p.st.now.snapshot {
		return nil, nil, nil
	}
	m := p.member(id)
	if m == nil {
		return nil, nil, nil
	}
	if f, registered := p.st.facts.Of(id.Name); old != nil && old.registered == registered && old.facts.Equal(f) {
		return old, home, nil
	}
	c := home.newCluster(m, nil, p.st.facts)
	if problems := slices.Concat(home.check(c), home.faults(m.Hub)); len(problems) > 0 {
		return nil, nil, problem.Cut(problems, problem.OfCluster)
	}
	return c, home, nil
}

// faults are the errors of the hub's own member file.
func (b *ground) faults(hub string) []problem.Problem {
	if self := b.Fleet.HubMember(hub); self != nil {
		return problem.Errors(self.Problems)
	}
	return nil
}

// hubFaults are the errors of hubs' own member files, by hub. All members of the hub take repositories and folders from
// it. A file that cannot be read does not say that it is the hub's: it is if it was, and may be if nothing is known of it.
func (p *past) hubFaults() map[string][]problem.Problem {
	out := map[string][]problem.Problem{}
	for _, hub := range p.st.Fleet.Hubs() {
		faults := p.st.now.faults(hub)
		for _, m := range p.st.Fleet.Faulty(hub) {
			if m.IsHub {
				continue
			}
			errs := problem.Errors(m.Problems)
			id := ID{m.Hub, m.Name}
			switch before := p.member(id); {
			case before != nil && before.IsHub,
				before == nil && m.Content() == nil && p.st.Fleet.HubMember(hub) == nil && !p.newcomer(id):
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
func (p *past) settle(attempt *cluster) *cluster {
	for _, fault := range p.st.faults[attempt.member.Hub] {
		if fault.Cluster != attempt.member.Name {
			attempt.faults = append(attempt.faults, attempt.own([]problem.Problem{fault})...)
		}
	}
	wrong := attempt.wrong()
	switch {
	case attempt.drains():
		return p.drained(attempt)
	case len(wrong) == 0:
		return attempt
	}
	id := ID{attempt.member.Hub, attempt.member.Name}
	last, home, _ := p.last(id)
	if last == nil {
		attempt.newcomer = p.newcomer(id)
		return attempt
	}
	c := *last
	c.attempt, c.home = attempt, home
	c.problems, c.faults = attempt.problems, attempt.faults
	c.quarantine = quarantineText(wrong[0])
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
	for _, x := range st.peculiar {
		if x.cluster.home != nil {
			for name := range x.cluster.groups {
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
			out[hub] = st.clusterOf(self).member
		}
	}
	for _, x := range st.peculiar {
		if c := x.cluster; c.home != nil && c.member.IsHub {
			out[x.member.Hub] = c.member
		}
	}
	return out
}

// cluster is a member's cluster by name, nil when there is no such member.
func (st *State) cluster(hub, name string) *cluster {
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
