package flux

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/registration"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// registrations returns the parameter sets of view members as components of the hub itself. They
// register its members with a hub whose engine is Flux. Any other hub has none.
func registrations(st *fleetstate.State, hub string) ([]paramset.ComponentSet, *problem.QueryError) {
	if !st.IsFluxHub(hub) {
		return nil, nil
	}
	sets, failure := paramset.GenerateDesired(st, query.Query{View: query.Members, Hub: hub})
	if failure != nil {
		return nil, failure
	}
	var out []paramset.ComponentSet
	for _, s := range sets {
		if m, ok := s.(*paramset.MemberSet); ok {
			out = append(out, asComponent(m))
		}
	}
	return out, nil
}

// asComponent returns a member's registration as a component of the hub.
func asComponent(m *paramset.MemberSet) paramset.ComponentSet {
	source, _ := m.Source.(release.Source)
	kind, _ := m.Release["type"].(string)
	return paramset.ComponentSet{
		Common: m.Common, Component: fleetstate.Registration, Group: fleetstate.FleetGroup, Release: kind,
		Chart:     catalog.Chart{RepoURL: source.RepoURL, Name: source.Chart, Version: source.TargetRevision, Path: source.Path},
		Namespace: registration.FluxNamespace, ReleaseName: catalog.HelmReleaseName(fleetstate.Registration, m.Name), HelmValues: m.HelmValues, ValueFiles: m.ValueFiles, Deletion: m.Deletion,
	}
}

// registrationRemovals returns the registrations of retired members that a hub with Flux still has,
// and whose HelmReleases are not marked yet. A registration stays while Flux has any other object
// for the cluster, because Flux needs it to reach the cluster. Then it is removed whatever the
// member's deletion says: its own workloads are objects of the hub.
func registrationRemovals(st *fleetstate.State, hub, owner string) []paramset.ComponentSet {
	if owner != fleet.OwnerHub || !st.IsFluxHub(hub) {
		return nil
	}
	releases, _ := st.Facts().HelmReleases()
	left := map[string]int{}
	for _, r := range releases {
		if r.Owner == facts.OwnerOf(hub, owner) && r.Group != provision.Group { // what makes the cluster is removed last
			left[r.Cluster]++
		}
	}
	var out []paramset.ComponentSet
	for _, r := range releases {
		c := st.Cluster(hub, r.Cluster)
		if r.Owner != facts.OwnerOf(hub, owner) || !isRegistration(r) || r.Cascade || left[r.Cluster] > 1 ||
			c == nil || c.Member.IsHub || len(c.BlockingProblems()) > 0 || !c.IsRetired() {
			continue
		}
		if m, _ := paramset.NewMemberSet(st, c, fleet.Cascade); m != nil {
			out = append(out, asComponent(m))
		}
	}
	return out
}

// isRegistration reports whether a HelmRelease registers its cluster.
func isRegistration(r facts.Application) bool {
	return r.Group == fleetstate.FleetGroup && r.Component == fleetstate.Registration && r.Name == catalog.ApplicationName(fleetstate.Registration, r.Cluster)
}
