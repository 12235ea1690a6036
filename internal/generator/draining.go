package generator

import "github.com/argosy-hub/argosy/internal/fleet"

// A draining member keeps what runs and takes no changes: it stays at home, as a member that cannot be computed does, on
// the last snapshot before it was draining (rule 12). Its sets are byte for byte what they were.

// drains reports whether a member, as the snapshot has it, is to keep what runs.
func (c *cluster) drains() bool { return c.member.Lifecycle == fleet.Draining && len(c.wrong()) == 0 }

// drained is what a draining member is answered from: what it was answered from last. Of one of which nothing is known from
// before, or that had been retired, that is this snapshot, and stays so. If its home cannot be computed with the facts of now,
// these are what is wrong with it.
func (p *past) drained(attempt *cluster) *cluster {
	id := ID{attempt.member.Hub, attempt.member.Name}
	last, home, problems := p.last(id)
	if len(problems) > 0 {
		attempt.problems = problems
		attempt.newcomer = false
		return attempt
	}
	if last == nil || last.retired() {
		last, home = attempt, p.st.now
	}
	c := *last
	c.attempt, c.home = attempt, home
	c.problems, c.faults, c.quarantine = nil, nil, ""
	return &c
}

// keeps is the revision whose sets a draining member keeps, empty for one that is not draining.
func (st *State) keeps(m *fleet.Member) string {
	if c := st.clusterOf(m); c.home != nil && st.attempted(m).member.Lifecycle == fleet.Draining {
		return c.home.snapshot.Revision
	}
	return ""
}

// Waiting is what a draining member does not take.
type Waiting struct {
	// Keeps is the revision whose sets it keeps.
	Keeps string
	// Cluster and Applications are what the snapshot has for it instead, sorted as Inventory.Applications are.
	Cluster      Cluster
	Applications []Application
}

// waiting are a hub's draining members as they would be without that, by name.
func (st *State) waiting(hub string) map[string]Waiting {
	out := map[string]Waiting{}
	for _, m := range st.Fleet.Members(hub) {
		keeps := st.keeps(m)
		if keeps == "" || keeps == st.Revision {
			continue
		}
		c := st.attempted(m)
		apps := st.applicationsOf(c)
		sortApplications(apps)
		out[m.Name] = Waiting{Keeps: keeps, Cluster: Cluster{Member: c.member, Labels: c.labels, Annotations: c.annotations}, Applications: apps}
	}
	return out
}
