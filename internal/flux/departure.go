package flux

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
)

// What an artifact of Flux lacks stays, and is deployed as before (D1). So what is to leave it does so in two steps, as the
// removal of Applications does: it is in the artifact, marked, while the facts show its HelmRelease without the mark,
// and left out from then on. Marked with cascade, deleting the HelmRelease removes what runs; marked with orphan, Flux
// has let go of what runs before, so that another owner has it for itself (D4).

// departing are the components whose HelmReleases are an owner's, but are to be no more. What the owner still runs is not
// among them. Where nothing is known of HelmReleases, there are none.
func departing(st *generator.State, hub, owner string, runs []generator.ComponentSet) []generator.ComponentSet {
	releases, _ := st.Facts().HelmReleases()
	type object struct{ kind, name string }
	stays := make(map[object]bool, len(runs))
	for _, c := range runs {
		stays[object{c.Kind, c.ApplicationName}] = true
	}
	var out []generator.ComponentSet
	for _, r := range releases {
		if stays[object{componentKind(r), r.Name}] || r.Owner != facts.OwnerOf(hub, owner) || isRegistration(r) {
			continue
		}
		if s := departure(st, hub, owner, r); s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// hasHelmReleases reports whether Flux has anything of an owner's.
func hasHelmReleases(st *generator.State, hub, owner string) bool {
	releases, _ := st.Facts().HelmReleases()
	return slices.ContainsFunc(releases, func(r facts.Application) bool { return r.Owner == facts.OwnerOf(hub, owner) })
}

// departure is the set with which a HelmRelease is marked, nil when it is to be left out: it is marked, or lost (D1), or
// it cannot be told any more what it deploys.
func departure(st *generator.State, hub, owner string, release facts.Application) *generator.ComponentSet {
	c, away := whereabouts(st, hub, release.Cluster)
	if c == nil || len(c.BlockingProblems()) > 0 || release.Name != generator.ApplicationName(release.Component, release.Cluster) {
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
	case generator.RemovesWorkloads(c, r):
		deletion, marked = fleet.Cascade, release.Cascade
	case c.IsRetired(), r.Enabled && (away || r.Entry.Kind != componentKind(release) || !fluxRuns(st, c, owner, g.Name)):
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
	s, _ := generator.NewComponentSet(resolver, c, g, release.Component, r, deletion)
	if s != nil {
		// What is there, even if the catalog has changed it; a chart is never without a namespace.
		s.Kind = componentKind(release)
		if s.Kind == "" && s.Namespace == "" {
			s.Namespace = s.Component
		}
	}
	return s
}

// componentKind is the ComponentSet.Kind of what Flux has.
func componentKind(of facts.Application) string {
	if of.Kind == facts.Kustomization {
		return generator.KindManifests
	}
	return ""
}

// whereabouts is a cluster of a hub; of another hub, when its file has moved there; nil when it has no file.
func whereabouts(st *generator.State, hub, name string) (found *generator.Cluster, away bool) {
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
func fluxRuns(st *generator.State, c *generator.Cluster, owner, group string) bool {
	if holds, known := st.HoldsGrant(c, group); known && owner == c.Member.Name {
		return holds
	}
	return c.Member.Owner(group) == owner && (owner == fleet.OwnerHub || isFlux(c.Member))
}

// isFlux reports whether a member has Flux for an engine of its own.
func isFlux(m *fleet.Member) bool { return m.Remote && m.Engine == fleet.EngineFlux }
