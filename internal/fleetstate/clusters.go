package fleetstate

import (
	"iter"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// ClusterOf is a member's cluster, nil for a member that the state's fleet has not, or has by
// another file.
func (st *State) ClusterOf(m *fleet.Member) *Cluster {
	i, found := st.Fleet.Place(m.Hub, m.Name)
	if !found || st.Fleet.Members(m.Hub)[i] != m {
		return nil
	}
	return st.clusters[m.Hub][i]
}

// Facts are what the state was built from.
func (st *State) Facts() facts.Set { return st.facts }

// Resolver is what the clusters of the State's own snapshot are computed by.
func (st *State) Resolver() *Resolver { return st.resolver }

// Groups are all groups of the layout and of members' last known good snapshots, sorted.
func (st *State) Groups() []string { return st.groups }

// ClustersOf are the clusters of a hub's members, in the order of Fleet.Members.
func (st *State) ClustersOf(hub string) []*Cluster { return st.clusters[hub] }

// Clusters goes through all members with their clusters, by hub and name.
func (st *State) Clusters() iter.Seq2[*fleet.Member, *Cluster] {
	return func(yield func(*fleet.Member, *Cluster) bool) {
		for _, hub := range st.Fleet.Hubs() {
			for i, m := range st.Fleet.Members(hub) {
				if !yield(m, st.clusters[hub][i]) {
					return
				}
			}
		}
	}
}

// Cluster is a member's cluster by name, nil when there is no such member.
func (st *State) Cluster(hub, name string) *Cluster {
	i, found := st.Fleet.Place(hub, name)
	if !found {
		return nil
	}
	return st.clusters[hub][i]
}

// KnowsApplications reports whether anything can be removed in two steps.
func (st *State) KnowsApplications() bool {
	_, known := st.Facts().Applications()
	return known
}
