package generator

import (
	"sync"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// Told is an answer, and what it is about.
type Told struct {
	// Bytes are the answer. They must not be changed.
	Bytes []byte
	// Subjects are those of its sets, in order.
	Subjects []Subject

	// origin is there in view Components.
	origin *origin
	notes  sync.Map
}

// Subject is what one parameter set is about.
type Subject struct {
	// Name is the Application's name, and Cluster where it is deployed to.
	Name, Cluster string
	// Group and Component are what is deployed: what registers a member is fleet/fleet-secret, its agent fleet/agent. Of a
	// release there is no component.
	Group, Component string
	// Release is the release's type; empty in views Members and Agents.
	Release string
	// Clusters are those on the release, in view Releases.
	Clusters []string
	// Leaves tells that the set is answered for its removal alone: with deletion cascade (D3).
	Leaves bool
}

// The components that stand for what registers a member, and for its agent, both of group FleetGroup.
const (
	FleetGroup   = fleetGroup
	Registration = fleetSecret
	Agent        = agent
)

// subjects are those of sets.
func subjects(sets []set) []Subject {
	out := make([]Subject, len(sets))
	for i, s := range sets {
		c := s.common()
		out[i] = Subject{Name: c.ApplicationName, Cluster: c.Name}
		switch s := s.(type) {
		case *said:
			out[i] = s.subject
		case *ComponentSet:
			out[i].Group, out[i].Component, out[i].Release, out[i].Leaves = s.Group, s.Component, s.Release, s.Deletion == fleet.Cascade
		case *MemberSet:
			out[i].Group, out[i].Component, out[i].Leaves = fleetGroup, fleetSecret, s.Deletion == fleet.Cascade
		case *AgentSet:
			out[i].Group, out[i].Component, out[i].Leaves = fleetGroup, agent, s.Deletion == fleet.Cascade
		case *GrantSet:
			out[i].Group = s.Group // no component's: what runs is not in it
		case *ReleaseSet:
			release, _ := s.Release["type"].(string)
			out[i].Group, out[i].Release, out[i].Clusters = s.Group, release, s.Clusters
		}
	}
	return out
}

// Note is what somebody has put down for an answer, as long as the answer is remembered. An answer that is taken over
// into the next state has none.
func (t *Told) Note(key any) (any, bool) { return t.notes.Load(key) }

// SetNote puts something down for an answer.
func (t *Told) SetNote(key, value any) { t.notes.Store(key, value) }

// Facts are what the state was built from.
func (st *State) Facts() facts.Set { return st.facts }
