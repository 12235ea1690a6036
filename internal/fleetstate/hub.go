package fleetstate

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
)

// IsFluxHub tells whether a hub's own engine is Flux, as its member file says (remote_engine): then
// no ApplicationSet registers its members, and what it deploys to them goes by a kubeconfig.
func (st *State) IsFluxHub(hub string) bool {
	self := st.hubs[hub]
	return self != nil && self.Engine == fleet.EngineFlux
}

// HubMember is a hub's own member as answers see it, nil if there is none: what it was, while its
// file is broken.
func (st *State) HubMember(hub string) *fleet.Member { return st.hubs[hub] }

// HubEngine is a hub's own engine: fleet.EngineArgoCD or fleet.EngineFlux.
func (st *State) HubEngine(hub string) string {
	if st.IsFluxHub(hub) {
		return fleet.EngineFlux
	}
	return fleet.EngineArgoCD
}

// allGroups are the groups of the layout and those that only members at home have, sorted: the
// layout may have changed.
func (st *State) allGroups() []string {
	names := map[string]bool{}
	for _, name := range st.Fleet.Layout.GroupNames() {
		names[name] = true
	}
	for _, x := range st.exceptions {
		if x.cluster.LastKnownGood != nil {
			for name := range x.cluster.Groups {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// ownMembers are the hubs' own members, by hub, as answers see them.
func (st *State) ownMembers() map[string]*fleet.Member {
	out := map[string]*fleet.Member{}
	for _, hub := range st.Fleet.Hubs() {
		if self := st.Fleet.HubMember(hub); self != nil {
			out[hub] = st.ClusterOf(self).Member
		}
	}
	for _, x := range st.exceptions {
		if c := x.cluster; c.LastKnownGood != nil && c.Member.IsHub {
			out[x.member.Hub] = c.Member
		}
	}
	return out
}

// OwnerName is who is meant by a request's owner: fleet.OwnerHub, also for the hub's own member, or
// a member's name.
func (st *State) OwnerName(hub, owner string) string {
	if self := st.hubs[hub]; owner == "" || self != nil && owner == self.Name {
		return fleet.OwnerHub
	}
	return owner
}

// IsDeployedByFlux reports whether Flux deploys a group to a cluster: the member's own, or that of
// its hub.
func (b *Resolver) IsDeployedByFlux(c *Cluster, group string) bool {
	by := c.Member
	if by.Owner(group) == fleet.OwnerHub {
		by = b.Fleet.HubMember(by.Hub)
	}
	return by != nil && by.Engine == fleet.EngineFlux
}
