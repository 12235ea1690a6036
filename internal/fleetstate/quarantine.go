package fleetstate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// ID names a member: what its file's path says, whatever is in it.
type ID struct{ Hub, Name string }

// Standing is what becomes of a member that cannot be computed.
type Standing string

const (
	// Kept means that its last good sets are answered.
	Kept Standing = "kept"
	// LeftOut means that it has never run anything: it is in no answer.
	LeftOut Standing = "left-out"
	// Refused means that nothing good is known of it, and it may run something: answers that it is
	// part of are refused.
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

// First is the first of the problems that says where it is: counts of those that are not listed
// come before it.
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

// QuarantineOf is a cluster's quarantine; false for a cluster that can be computed.
func (st *State) QuarantineOf(c *Cluster) (Quarantined, bool) {
	q := Quarantined{ID: ID{c.Member.Hub, c.Member.Name}, Standing: Refused, Problems: c.Errors()}
	switch {
	case len(q.Problems) == 0:
		return q, false
	case c.LastKnownGood != nil:
		q.Standing, q.Revision = Kept, c.LastKnownGood.Snapshot.Revision
	case st.IsLeftOut(c, fleet.OwnerHub, false):
		q.Standing = LeftOut
	}
	return q, true
}

// Lost are the problems of those members of a hub that an earlier state answers for and this one
// does not, because of the facts: a snapshot alone leaves them at home. An empty hub means all.
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

// Errors is why a member cannot be computed, sorted.
func (c *Cluster) Errors() []problem.Problem {
	return problem.Sorted(slices.Concat(c.HubProblems, c.Problems))
}

// BlockingProblems are the problems that make every answer about a member impossible.
func (c *Cluster) BlockingProblems() []problem.Problem {
	if c.LastKnownGood != nil {
		return nil
	}
	return slices.Concat(c.HubProblems, c.Broken)
}

// IsLeftOut reports whether a member that cannot be computed is simply not in the responses to an
// owner: nothing can be lost. Argo CD's Applications, of which there are none, say so to Argo CD.
// Where the facts do not know Applications, or another engine asks (planned), the member must have
// been in no response before; nobody knows that of the responses to the member's own engine.
func (st *State) IsLeftOut(c *Cluster, owner string, planned bool) bool {
	if c.LastKnownGood != nil || len(c.Problems) == 0 || len(st.hubProblems[c.Member.Hub]) > 0 {
		return false
	}
	nothing := st.KnowsApplications() && len(st.facts.ApplicationsOf(c.Member.Name)) == 0
	if nothing && !planned {
		return true
	}
	return c.IsNewcomer && owner != c.Member.Name && (nothing || !st.KnowsApplications())
}

// exception is a member that is not simply what the snapshot has of it.
type exception struct {
	member  *fleet.Member
	cluster *Cluster
}

// isException reports whether a cluster has anything that the few are looked for by: problems, or a
// home.
func (c *Cluster) isException() bool {
	return c.LastKnownGood != nil || c.desired != nil || c.IsNewcomer || len(c.faulty) > 0 || len(c.Problems) > 0 || len(c.HubProblems) > 0
}

// findExceptions looks at computed clusters, and at those that were exceptions before.
func (st *State) findExceptions(previous *State, computed []anew) {
	if previous != nil {
		for _, x := range previous.exceptions {
			if c := st.ClusterOf(x.member); c == x.cluster || c != nil && c == x.cluster.desired && c.isException() {
				st.exceptions = append(st.exceptions, exception{x.member, c})
			}
		}
	}
	for _, d := range computed {
		if c := st.clusters[d.member.Hub][d.at]; c.isException() {
			st.exceptions = append(st.exceptions, exception{d.member, c})
		}
	}
	slices.SortFunc(st.exceptions, func(a, b exception) int {
		return cmp.Or(strings.Compare(a.member.Hub, b.member.Hub), strings.Compare(a.member.Name, b.member.Name))
	})
}

// IsUnresolved reports that a hub's member cannot be computed and has no last known good snapshot.
func (st *State) IsUnresolved(name string) bool { return st.unresolved[name] }

// Errors are the problems that concern a hub: its members' and those of the repository as a whole.
// An empty hub means all.
func (st *State) Errors(hub string) []problem.Problem {
	return slices.DeleteFunc(slices.Clone(st.Problems), func(p problem.Problem) bool { return hub != "" && p.Hub != "" && p.Hub != hub })
}

// ComponentsOf are the names of a group's components for a member, sorted; nil for none.
func (st *State) ComponentsOf(hub, name, group string) []string {
	if m, failure := st.Fleet.FindMember(hub, name); failure == nil && st.ClusterOf(m).Groups[group] != nil {
		return st.ClusterOf(m).Groups[group].Components()
	}
	return nil
}
