package flux

import (
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/release"
)

// registrations are the parameter sets of view members as components of the hub itself: they register
// its members with a hub whose engine is Flux. Any other hub has none.
func registrations(st *generator.State, hub string) ([]generator.ComponentSet, *generator.Error) {
	if !st.IsFluxHub(hub) {
		return nil, nil
	}
	sets, failure := generator.GenerateDesired(st, generator.Request{View: generator.Members, Hub: hub})
	if failure != nil {
		return nil, failure
	}
	var out []generator.ComponentSet
	for _, s := range sets {
		if m, ok := s.(*generator.MemberSet); ok {
			out = append(out, asComponent(m))
		}
	}
	return out, nil
}

// asComponent is a member's registration as a component of the hub.
func asComponent(m *generator.MemberSet) generator.ComponentSet {
	source, _ := m.Source.(release.Source)
	kind, _ := m.Release["type"].(string)
	return generator.ComponentSet{
		Common: m.Common, Component: generator.Registration, Group: generator.FleetGroup, Release: kind,
		Chart:     generator.Chart{RepoURL: source.RepoURL, Name: source.Chart, Version: source.TargetRevision, Path: source.Path},
		Namespace: generator.FluxNamespace, ReleaseName: generator.HelmReleaseName(generator.Registration, m.Name), HelmValues: m.HelmValues, ValueFiles: m.ValueFiles, Deletion: m.Deletion,
	}
}

// registrationRemovals are the registrations of retired members that a hub with Flux still has, and whose
// HelmReleases are not marked yet. A registration stays while Flux has any other object for the cluster,
// because Flux needs the registration to reach it. Then it is removed whatever the member's deletion
// says: its own workloads are objects of the hub.
func registrationRemovals(st *generator.State, hub, owner string) []generator.ComponentSet {
	if owner != fleet.OwnerHub || !st.IsFluxHub(hub) {
		return nil
	}
	releases, _ := st.Facts().HelmReleases()
	left := map[string]int{}
	for _, r := range releases {
		if r.Owner == facts.OwnerOf(hub, owner) {
			left[r.Cluster]++
		}
	}
	var out []generator.ComponentSet
	for _, r := range releases {
		c := st.Cluster(hub, r.Cluster)
		if r.Owner != facts.OwnerOf(hub, owner) || !isRegistration(r) || r.Cascade || left[r.Cluster] > 1 ||
			c == nil || c.Member.IsHub || len(c.BlockingProblems()) > 0 || !c.IsRetired() {
			continue
		}
		if m, _ := generator.NewMemberSet(st, c, fleet.Cascade); m != nil {
			out = append(out, asComponent(m))
		}
	}
	return out
}

// isRegistration reports whether a HelmRelease registers its cluster.
func isRegistration(r facts.Application) bool {
	return r.Group == generator.FleetGroup && r.Component == generator.Registration && r.Name == generator.ApplicationName(generator.Registration, r.Cluster)
}
