package response

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/query"
)

// subject is what one parameter set is about.
type subject struct {
	lifecycle.Item
	// clusters are those on the release, in view Releases.
	clusters []string
	// dependsOn are those of a component.
	dependsOn []string
}

func (s subject) equal(o subject) bool {
	return s.Item == o.Item && slices.Equal(s.clusters, o.clusters) && slices.Equal(s.dependsOn, o.dependsOn)
}

// subjectOf returns the subject of a set.
func subjectOf(s paramset.Set) subject {
	c := s.Shared()
	out := subject{Item: lifecycle.Item{Name: c.ApplicationName, Cluster: c.Name}}
	switch s := s.(type) {
	case *paramset.ComponentSet:
		out.Group, out.Component, out.Release, out.IsRemoval = s.Group, s.Component, s.Release, s.Deletion == fleet.Cascade
		out.dependsOn = s.DependsOn
	case *paramset.MemberSet:
		out.Group, out.Component, out.IsRemoval = fleetstate.FleetGroup, fleetstate.Registration, s.Deletion == fleet.Cascade
	case *paramset.AgentSet:
		out.Group, out.Component, out.IsRemoval = fleetstate.FleetGroup, fleetstate.Agent, s.Deletion == fleet.Cascade
	case *paramset.GrantSet:
		out.Group = s.Group // the workloads of the group are not in it
	case *paramset.ReleaseSet:
		out.Group, out.clusters = s.Group, s.Clusters
		out.Release, _ = s.Release["type"].(string)
	}
	return out
}

// items returns what the set contains: of a release, one item for each of its clusters.
func (s subject) items() []lifecycle.Item {
	if s.clusters == nil {
		return []lifecycle.Item{s.Item}
	}
	out := make([]lifecycle.Item, len(s.clusters))
	for i, cluster := range s.clusters {
		out[i] = lifecycle.Item{Cluster: cluster, Group: s.Group, Release: s.Release}
	}
	return out
}

// Items returns what the response contains, in order.
func (t *Response) Items() []lifecycle.Item {
	out := make([]lifecycle.Item, 0, t.Tally.Sets)
	for e := range t.all() {
		out = append(out, e.subject.items()...)
	}
	return out
}

// Items returns what the response to a query contains, in order, without making the response: there
// may be any number of sets.
func Items(st *fleetstate.State, r query.Query) ([]lifecycle.Item, error) {
	q, failure := query.Check(st, r)
	if failure != nil {
		return nil, failure
	}
	var out [][]lifecycle.Item
	if q.View == query.Components || q.View == query.Members {
		q.SubjectsOnly = true
		out, failure = paramset.ByCluster(st, q, func(s paramset.ClusterSets) []lifecycle.Item { return itemsOf(s.Sets) })
	} else {
		var sets []paramset.Set
		sets, failure = paramset.Generate(st, q)
		out = [][]lifecycle.Item{itemsOf(sets)}
	}
	if failure != nil {
		return nil, failure
	}
	return slices.Concat(out...), nil
}

func itemsOf(sets []paramset.Set) []lifecycle.Item {
	out := make([]lifecycle.Item, 0, len(sets))
	for _, s := range sets {
		out = append(out, subjectOf(s).items()...)
	}
	return out
}
