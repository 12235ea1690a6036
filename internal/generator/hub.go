package generator

import "github.com/argosy-hub/argosy/internal/fleet"

// isFluxHub tells whether a hub's own engine is Flux, as its member file says (remote_engine): then no ApplicationSet
// registers its members, and what it deploys to them goes by a kubeconfig.
func (st *State) IsFluxHub(hub string) bool {
	self := st.hubs[hub]
	return self != nil && self.Engine == fleet.EngineFlux
}

// HubMember is a hub's own member as answers see it, nil if there is none: what it was, while its file is broken.
func (st *State) HubMember(hub string) *fleet.Member { return st.hubs[hub] }

// HubEngine is a hub's own engine: fleet.EngineArgoCD or fleet.EngineFlux.
func (st *State) HubEngine(hub string) string {
	if st.IsFluxHub(hub) {
		return fleet.EngineFlux
	}
	return fleet.EngineArgoCD
}
