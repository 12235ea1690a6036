package fleetstate

import "github.com/argosy-hub/argosy/internal/fleet"

// A draining member keeps what runs and takes no changes: it stays on the last snapshot before it
// was draining, as a member that cannot be computed does (rule 7).

// drained is what a draining member is answered from: what it was answered from last. Of one of
// which nothing is known from before, or that had been retired, that is this snapshot, and stays
// so. If its home cannot be computed with the facts of now, these are what is wrong with it.
func (p *history) drained(attempt *Cluster) *Cluster {
	id := ID{attempt.Member.Hub, attempt.Member.Name}
	last, home, problems := p.last(id)
	if len(problems) > 0 {
		attempt.Problems = problems
		attempt.IsNewcomer = false
		return attempt
	}
	if last == nil || last.IsRetired() {
		last, home = attempt, p.st.resolver
	}
	c := *last
	c.desired, c.LastKnownGood, c.isHeld = attempt, home, false
	c.Problems, c.HubProblems, c.Hold = nil, nil, Draining
	return &c
}

// DrainingRevision is the revision whose sets a draining member keeps, empty for one that is not
// draining.
func (st *State) DrainingRevision(m *fleet.Member) string {
	if c := st.ClusterOf(m); c.LastKnownGood != nil && c.Desired().Member.Lifecycle == fleet.Draining {
		return c.LastKnownGood.Snapshot.Revision
	}
	return ""
}
