package generator

import (
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/release"
)

// isFluxHub tells whether a hub's own engine is Flux, as its member file says (remote_engine): then no ApplicationSet
// registers its members, and what it deploys to them goes by a kubeconfig.
func (st *State) isFluxHub(hub string) bool {
	self := st.hubs[hub]
	return self != nil && self.Engine == fleet.EngineFlux
}

// HubMember is a hub's own member as answers see it, nil if there is none: what it was, while its file is broken.
func (st *State) HubMember(hub string) *fleet.Member { return st.hubs[hub] }

// HubEngine is a hub's own engine: fleet.EngineArgoCD or fleet.EngineFlux.
func (st *State) HubEngine(hub string) string {
	if st.isFluxHub(hub) {
		return fleet.EngineFlux
	}
	return fleet.EngineArgoCD
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
		if m, ok := s.(*MemberSet); ok {
			out = append(out, m.asComponent())
		}
	}
	return out, nil
}

// asComponent is what registers a member as a component of the hub.
func (m *MemberSet) asComponent() ComponentSet {
	source, _ := m.Source.(release.Source)
	kind, _ := m.Release["type"].(string)
	return ComponentSet{
		Common: m.Common, Component: fleetSecret, Group: fleetGroup, Release: kind,
		Chart:     Chart{RepoURL: source.RepoURL, Name: source.Chart, Version: source.TargetRevision, Path: source.Path},
		Namespace: fluxNamespace, ReleaseName: helmReleaseName(fleetSecret, m.Name), HelmValues: m.HelmValues, ValueFiles: m.ValueFiles, Deletion: m.Deletion,
	}
}

// deregistrations are the registrations of retired members, which a hub that runs Flux has still and which do not say yet
// that they are to go. Each stays while Flux has anything else on its cluster, which it has to reach for that; then it goes,
// whatever becomes of what runs there: what it runs itself are objects of the hub.
func (st *State) deregistrations(hub, owner string) []ComponentSet {
	if owner != fleet.OwnerHub || !st.isFluxHub(hub) {
		return nil
	}
	releases, _ := st.facts.HelmReleases()
	left := map[string]int{}
	for _, r := range releases {
		if r.Owner == facts.OwnerOf(hub, owner) {
			left[r.Cluster]++
		}
	}
	var out []ComponentSet
	for _, r := range releases {
		c := st.cluster(hub, r.Cluster)
		if r.Owner != facts.OwnerOf(hub, owner) || !isRegistration(r) || r.Cascade || left[r.Cluster] > 1 ||
			c == nil || c.member.IsHub || len(c.cannot()) > 0 || !c.retired() {
			continue
		}
		if m, _ := st.memberSet(c, cascade); m != nil {
			out = append(out, m.asComponent())
		}
	}
	return out
}

// isRegistration tells whether a HelmRelease registers its cluster.
func isRegistration(r facts.Application) bool {
	return r.Group == fleetGroup && r.Component == fleetSecret && r.Name == applicationName(fleetSecret, r.Cluster)
}
