// Package inventory lists what the engines of each hub run, and every member in a few words.
package inventory

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
)

// Summary describes a member in a listing.
type Summary struct {
	Hub         string            `json:"hub"`
	Name        string            `json:"name"`
	Tenant      string            `json:"tenant"`
	Environment string            `json:"environment"`
	Model       string            `json:"model"`
	Engine      string            `json:"engine,omitempty"`
	Lifecycle   string            `json:"lifecycle"`
	IsHub       bool              `json:"isHub"`
	Registered  bool              `json:"registered"`
	Releases    map[string]string `json:"releases"`
	File        string            `json:"file"`
	Problems    []problem.Problem `json:"problems"`
	// LastKnown means that the cluster Secret is gone; the summary is computed from its last
	// contents.
	LastKnown bool `json:"lastKnown,omitempty"`
	// Replaced are the labels and annotations of the live cluster Secret that responses have
	// otherwise.
	Replaced []labels.Replacement `json:"replaced,omitempty"`
	// Keeps is the revision whose parameter sets a draining member keeps.
	Keeps string `json:"keeps,omitempty"`
	// Quarantine is set for a member that cannot be computed (fleetstate, rule 5). Problems say
	// why; all else is what responses have.
	Quarantine *Quarantine `json:"quarantine,omitempty"`
}

// Quarantine says what a member that cannot be computed is served from.
type Quarantine struct {
	Standing fleetstate.Standing `json:"standing"`
	// Revision is what its parameter sets are computed from; empty unless they are kept.
	Revision string `json:"revision,omitempty"`
	Reason   string `json:"reason"`
	// Problem is the first of its problems, with its place.
	Problem string `json:"problem"`
}

// Summaries describes all members, by hub and name.
func Summaries(st *fleetstate.State) []Summary {
	var out []Summary
	for _, hub := range st.Fleet.Hubs() {
		for _, m := range st.Fleet.Members(hub) {
			c := st.ClusterOf(m)
			file, lifecycle, keeps := m.Pos.File, m.Lifecycle, st.DrainingRevision(m)
			if c.LastKnownGood != nil {
				m = c.Member
			}
			s := Summary{
				Hub: hub, Name: m.Name, Tenant: m.Tenant, Environment: m.Environment, Model: m.Model(), Lifecycle: lifecycle, Keeps: keeps,
				IsHub: m.IsHub, Registered: c.Registered, LastKnown: isLastKnown(st, c), Releases: map[string]string{}, File: file, Problems: c.Problems, Replaced: Replaced(c),
			}
			if m.Remote {
				s.Engine = m.Engine
			}
			for name, g := range c.Groups {
				s.Releases[name] = g.Release.Type
			}
			if q, is := st.QuarantineOf(c); is {
				s.Quarantine = &Quarantine{Standing: q.Standing, Revision: q.Revision, Reason: string(q.First().Reason), Problem: q.First().Error()}
			}
			out = append(out, s)
		}
	}
	return out
}
