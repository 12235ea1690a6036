package flux

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
)

// A component that is missing from an artifact stays on the cluster. A removal therefore takes two
// steps, as for an Application. The artifact first has the component with a mark, until the facts
// show the mark on its HelmRelease; then it is left out. With the mark cascade, deleting the
// HelmRelease removes the workloads. With orphan, Flux has suspended the HelmRelease before, so
// that another owner can take over the workloads.

// removals returns the components that an owner must remove: the facts have HelmReleases of the
// owner for them, and the owner does not run them any more. There are none where HelmReleases are
// unknown. Components of other rings are not picked.
func removals(st *fleetstate.State, hub, owner string, runs []paramset.ComponentSet, isPicked func(facts.Application) bool) []paramset.ComponentSet {
	releases, _ := st.Facts().HelmReleases()
	type object struct{ kind, name string }
	runsNow := make(map[object]bool, len(runs))
	for _, c := range runs {
		runsNow[object{c.Kind, c.ApplicationName}] = true
	}
	there, first := map[string][]facts.Application{}, map[string][]facts.Application{} // by cluster
	sets := make([]*paramset.ComponentSet, len(releases))
	for i, r := range releases {
		isOwn := !runsNow[object{componentKind(r), r.Name}] && r.Owner == facts.OwnerOf(hub, owner) && !isRegistration(r) && isPicked(r)
		if isOwn {
			sets[i] = removal(st, hub, owner, r)
		}
		there[r.Cluster] = append(there[r.Cluster], r)
		if !isOwn || sets[i] != nil || r.Cascade || r.Group == provision.Group { // what stays unmarked blocks nothing
			first[r.Cluster] = append(first[r.Cluster], r)
		}
	}
	var out []paramset.ComponentSet
	for i, r := range releases {
		if s := sets[i]; s != nil && (s.Deletion != fleet.Cascade || !isNeeded(st, hub, r, there[r.Cluster], first[r.Cluster])) {
			out = append(out, *s)
		}
	}
	return out
}

// isNeeded reports whether something of the cluster must be removed first and is still there. That
// is what depends on a component, and a team's applications: Flux removes them with the rights that
// the team's component gives its ServiceAccount. What is left out unmarked stays.
func isNeeded(st *fleetstate.State, hub string, release facts.Application, there, first []facts.Application) bool {
	if c := st.Cluster(hub, release.Cluster); c != nil && len(lifecycle.RemovedBefore(st, c, release.Group, release.Component, first)) > 0 {
		return true
	}
	apps := st.Resolver().Apps()
	return release.Group == team.Group && slices.ContainsFunc(there, func(a facts.Application) bool {
		return a.Group == team.Workloads && a.Owner == release.Owner &&
			team.Account(apps.Owner(a.Group, a.Component)) == release.Component
	})
}

// hasHelmReleases reports whether Flux has HelmReleases of an owner.
func hasHelmReleases(st *fleetstate.State, hub, owner string) bool {
	releases, _ := st.Facts().HelmReleases()
	return slices.ContainsFunc(releases, func(r facts.Application) bool { return r.Owner == facts.OwnerOf(hub, owner) })
}

// removal returns the parameter set that marks a HelmRelease. It is nil for one to leave out: it is
// marked already, it is lost, it makes a cluster and has to wait, or its component is unknown.
func removal(st *fleetstate.State, hub, owner string, release facts.Application) *paramset.ComponentSet {
	c, moved := findCluster(st, hub, release.Cluster)
	if c == nil || len(c.BlockingProblems()) > 0 || lifecycle.InfrastructureWaits(st, c, release.Group) || release.Name != catalog.ApplicationName(release.Component, release.Cluster) {
		return nil
	}
	resolver, g := st.ResolverOf(c), c.Groups[release.Group]
	if g == nil || len(g.Errors) > 0 {
		return nil
	}
	r, problems := resolver.Resolve(c, g, release.Component, nil)
	if len(problems) > 0 || r.EntryTree == nil {
		return nil
	}
	deletion, marked := "", false
	switch {
	case !moved && lifecycle.RemovesWorkloads(st, c, g.Name, release.Component, r): // clusters of two hubs may have one name
		deletion, marked = fleet.Cascade, release.Cascade
	case c.IsRetired(), r.Enabled && (moved || r.Entry.Kind != componentKind(release) || !fluxRuns(st, c, owner, g.Name)):
		deletion, marked = fleet.Orphan, release.Suspended
	}
	if deletion == "" || marked {
		return nil
	}
	if r.Values == nil {
		if r, problems = resolver.Complete(c, g, release.Component, nil, r); len(problems) > 0 {
			return nil
		}
	}
	s, _ := paramset.NewComponentSet(resolver, c, g, release.Component, r, deletion)
	if s != nil {
		// Keep what is there, even if the catalog has changed it; a chart always has a namespace.
		s.Kind = componentKind(release)
		if s.Kind == "" && s.Namespace == "" {
			s.Namespace = s.Component
		}
	}
	return s
}

// componentKind returns the ComponentSet.Kind of an object of Flux.
func componentKind(of facts.Application) string {
	if of.Kind == facts.Kustomization {
		return catalog.KindManifests
	}
	return ""
}

// findCluster finds a cluster of a hub, or of another hub that its file has moved to (moved). It is
// nil for a cluster without a file.
func findCluster(st *fleetstate.State, hub, name string) (found *fleetstate.Cluster, moved bool) {
	if c := st.Cluster(hub, name); c != nil {
		return c, false
	}
	for _, other := range st.Fleet.Hubs() {
		if c := st.Cluster(other, name); c != nil {
			return c, true
		}
	}
	return nil, false
}

// fluxRuns reports whether a group of a member is in the artifact of an owner.
func fluxRuns(st *fleetstate.State, c *fleetstate.Cluster, owner, group string) bool {
	if holds, known := lifecycle.HoldsGrant(st, c, group); known && owner == c.Member.Name {
		return holds
	}
	return c.Member.Owner(group) == owner && (owner == fleet.OwnerHub || isFlux(c.Member))
}

// isFlux reports whether a member has Flux for an engine of its own.
func isFlux(m *fleet.Member) bool { return m.Remote && m.Engine == fleet.EngineFlux }
