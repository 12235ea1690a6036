package response

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/query"
)

// Subject is what one parameter set is about.
type Subject struct {
	// Name is the Application's name, and Cluster where it is deployed to.
	Name, Cluster string
	// Group and Component are what is deployed: what registers a member is fleet/fleet-secret, its
	// agent fleet/agent. Of a release there is no component.
	Group, Component string
	// Release is the release's type; empty in views Members and Agents.
	Release string
	// Clusters are those on the release, in view Releases.
	Clusters []string
	// IsRemoval tells that the set is answered for its removal alone: with deletion cascade (D3).
	IsRemoval bool
}

// subject is that of a set.
func subject(s paramset.Set) Subject {
	c := s.Shared()
	out := Subject{Name: c.ApplicationName, Cluster: c.Name}
	switch s := s.(type) {
	case *paramset.ComponentSet:
		out.Group, out.Component, out.Release, out.IsRemoval = s.Group, s.Component, s.Release, s.Deletion == fleet.Cascade
	case *paramset.MemberSet:
		out.Group, out.Component, out.IsRemoval = fleetstate.FleetGroup, fleetstate.Registration, s.Deletion == fleet.Cascade
	case *paramset.AgentSet:
		out.Group, out.Component, out.IsRemoval = fleetstate.FleetGroup, fleetstate.Agent, s.Deletion == fleet.Cascade
	case *paramset.GrantSet:
		out.Group = s.Group // no component's: what runs is not in it
	case *paramset.ReleaseSet:
		release, _ := s.Release["type"].(string)
		out.Group, out.Release, out.Clusters = s.Group, release, s.Clusters
	}
	return out
}

// Subjects are those of the response to a query, in order, without the response: of any number of
// sets.
func Subjects(st *fleetstate.State, r query.Query) ([]Subject, error) {
	q, failure := query.Check(st, r)
	if failure != nil {
		return nil, failure
	}
	var out [][]Subject
	if q.View == query.Components || q.View == query.Members {
		q.SubjectsOnly = true
		out, failure = paramset.ByCluster(st, q, func(s paramset.ClusterSets) []Subject { return subjects(s.Sets) })
	} else {
		var sets []paramset.Set
		sets, failure = paramset.Generate(st, q)
		out = [][]Subject{subjects(sets)}
	}
	if failure != nil {
		return nil, failure
	}
	return slices.Concat(out...), nil
}

func subjects(sets []paramset.Set) []Subject {
	out := make([]Subject, len(sets))
	for i, s := range sets {
		out[i] = subject(s)
	}
	return out
}
