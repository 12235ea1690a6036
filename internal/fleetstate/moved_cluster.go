package fleetstate

import "github.com/argosy-hub/argosy/internal/fleet/tenancy"

// A member file that one commit takes from a hub's folder to another's is the same cluster, moved.
// The old hub gives up its workloads there, as the new one has them (D4). The commit alone says so,
// as clusters of several hubs may have one name: a service that starts later takes it for lost.

// movedSince are the moves of a previous State that last, and those since.
func (st *State) movedSince(previous *State) map[ID]string {
	if previous == nil {
		return nil
	}
	if previous.resolver.Snapshot == st.resolver.Snapshot {
		return previous.moved
	}
	out := map[ID]string{}
	for id, hub := range previous.moved {
		if st.Fleet.Member(id.Hub, id.Name) == nil && st.Fleet.Member(hub, id.Name) != nil {
			out[id] = hub
		}
	}
	for m, hub := range tenancy.Moved(previous.Fleet, st.Fleet) {
		out[ID{m.Hub, m.Name}] = hub
	}
	return out
}

// MovedCluster is the cluster of a member that has moved away from a hub; nil where it has not, or
// cannot be computed at the hub that it has moved to.
func (st *State) MovedCluster(hub, name string) *Cluster {
	to, moved := st.moved[ID{hub, name}]
	if !moved || st.HubMember(to) == nil { // a folder without a hub is a misspelt one
		return nil
	}
	if c := st.Cluster(to, name); c != nil && len(c.BlockingProblems()) == 0 {
		return c
	}
	return nil
}
