package generator

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
)

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
	// IsRemoval tells that the set is answered for its removal alone: with deletion cascade (D3).
	IsRemoval bool
}

// subject is that of a set.
func subject(s ParameterSet) Subject {
	c := s.Shared()
	out := Subject{Name: c.ApplicationName, Cluster: c.Name}
	switch s := s.(type) {
	case *ComponentSet:
		out.Group, out.Component, out.Release, out.IsRemoval = s.Group, s.Component, s.Release, s.Deletion == fleet.Cascade
	case *MemberSet:
		out.Group, out.Component, out.IsRemoval = FleetGroup, Registration, s.Deletion == fleet.Cascade
	case *AgentSet:
		out.Group, out.Component, out.IsRemoval = FleetGroup, Agent, s.Deletion == fleet.Cascade
	case *GrantSet:
		out.Group = s.Group // no component's: what runs is not in it
	case *ReleaseSet:
		release, _ := s.Release["type"].(string)
		out.Group, out.Release, out.Clusters = s.Group, release, s.Clusters
	}
	return out
}

// Subjects are those of the response to a query, in order, without the response: of any number of sets.
func Subjects(st *State, r Request) ([]Subject, error) {
	q, failure := CheckQuery(st, r)
	if failure != nil {
		return nil, failure
	}
	var out [][]Subject
	if q.View == Components || q.View == Members {
		q.SubjectsOnly = true
		out, failure = ByCluster(st, q, func(s ClusterSets) []Subject { return subjects(s.Sets) })
	} else {
		var sets []ParameterSet
		sets, failure = Generate(st, q)
		out = [][]Subject{subjects(sets)}
	}
	if failure != nil {
		return nil, failure
	}
	return slices.Concat(out...), nil
}

func subjects(sets []ParameterSet) []Subject {
	out := make([]Subject, len(sets))
	for i, s := range sets {
		out[i] = subject(s)
	}
	return out
}
