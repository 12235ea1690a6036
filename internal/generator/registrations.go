package generator

import (
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/release"
)

// isFluxHub tells whether a hub's own engine is Flux, as its member file says (remote_engine): then no ApplicationSet
// registers its members, and what it deploys to them goes by a kubeconfig.
func (st *State) isFluxHub(hub string) bool {
	self := st.hubs[hub]
	return self != nil && self.Engine == fleet.EngineFlux
}

// registrations are the sets of view members as components that run on the hub itself: what registers its members with
// a hub whose engine is Flux, none for another.
func (st *State) registrations(hub string) ([]ComponentSet, *Error) {
	if !st.isFluxHub(hub) {
		return nil, nil
	}
	q, failure := st.query(Request{View: Members, Hub: hub})
	if failure != nil {
		return nil, failure
	}
	q.planned = true
	sets, failure := st.sets(q)
	if failure != nil {
		return nil, failure
	}
	var out []ComponentSet
	for _, s := range sets {
		m, ok := s.(*MemberSet)
		if !ok {
			continue
		}
		source, _ := m.Source.(release.Source)
		kind, _ := m.Release["type"].(string)
		out = append(out, ComponentSet{
			Common: m.Common, Component: fleetSecret, Group: fleetGroup, Release: kind,
			Chart:     Chart{RepoURL: source.RepoURL, Name: source.Chart, Version: source.TargetRevision, Path: source.Path},
			Namespace: fluxNamespace, ReleaseName: helmReleaseName(fleetSecret, m.Name), HelmValues: m.HelmValues, ValueFiles: m.ValueFiles, Deletion: m.Deletion,
		})
	}
	return out, nil
}
