package rings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/roster"
)

// What an engine with Flux runs is one artifact. Its components come from the revisions of their
// rings, as parameter sets do (rule 8).

// Artifact returns what an engine with Flux is to run: OwnedBy and Build of package flux, with what
// later rings have. The error is a *problem.QueryError or a problem.List.
func (r *Rings) Artifact(st *fleetstate.State, hub, owner string) (flux.Artifact, error) {
	if !r.keepsAnything(st) || hub != r.o.Hub || st.OwnerName(hub, owner) != engineOf(st) {
		return flux.Build(st, hub, owner)
	}
	v := r.viewOf(st)
	for _, x := range v.rings {
		for _, group := range append([]string{""}, v.st.Groups()...) {
			if why := x.lacksFor(group); why != "" {
				return flux.Artifact{}, &problem.QueryError{Kind: problem.KindUnavailable, Message: why}
			}
		}
	}
	if v.frozen.lacks != "" {
		return flux.Artifact{}, &problem.QueryError{Kind: problem.KindUnavailable, Message: v.frozen.lacks}
	}
	if v.frozen.lacksRows {
		return flux.Artifact{}, &problem.QueryError{Kind: problem.KindUnavailable, Message: "something may not be removed of which nobody here knows what was served before the start: approve it, or take it back"}
	}
	v.building.Lock()
	defer v.building.Unlock()
	if v.artifact.Objects != nil {
		return v.artifact, nil
	}
	owned, err := flux.OwnedIn(st, hub, owner, flux.Held{Pick: v.place, States: v.states()[1:]})
	if err != nil {
		return flux.Artifact{}, err
	}
	out, err := flux.BuildOwned(owned)
	if err == nil {
		v.artifact = out
	}
	return out, err
}

// engineOf is the owner whose engine a service of a state answers.
func engineOf(st *fleetstate.State) string { return cmp.Or(agentOf(st), fleet.OwnerHub) }

// isFlux reports whether the engine that the service answers is Flux.
func (r *Rings) isFlux(st *fleetstate.State) bool {
	agent := agentOf(st)
	if agent == "" {
		return st.IsFluxHub(r.o.Hub)
	}
	m := roster.ServedMember(st, r.o.Hub, agent)
	return m != nil && m.Remote && m.Engine == fleet.EngineFlux
}

// knowsHealth reports whether it is known how healthy what the engine runs is.
func (r *Rings) knowsHealth(st *fleetstate.State) bool {
	if r.isFlux(st) {
		_, known := st.Facts().HelmReleases()
		return known
	}
	return st.Facts().KnowsHealth() && len(r.o.Queries()) > 0
}

// fluxHealth calls take for each object of the artifact, with what is known of it at its digest,
// and for each cluster that the artifact leaves out. It reports whether there is an artifact.
func (r *Rings) fluxHealth(v *view, take func(item lifecycle.Item, is facts.Application, status rollout.Status, why string)) bool {
	a, err := r.Artifact(v.st, v.hub, engineOf(v.st))
	if err != nil {
		return false
	}
	for _, o := range a.Objects {
		is, there := v.st.Facts().HelmRelease(o.Kind, o.Item.Name)
		status, why := judge(is, there, o.Item.Name, o.Digest)
		take(o.Item, is, status, why)
	}
	for _, p := range a.LeftOut {
		for _, group := range v.st.Groups() {
			take(lifecycle.Item{Cluster: p.Cluster, Group: group}, facts.Application{}, rollout.Unknown, p.Error())
		}
		for _, x := range v.rings { // a scope of components covers no group as a whole
			for _, name := range x.policy.Scope.Components {
				group, component, _ := strings.Cut(name, "/")
				take(lifecycle.Item{Cluster: p.Cluster, Group: group, Component: component}, facts.Application{}, rollout.Unknown, p.Error())
			}
		}
	}
	return true
}

// hasReleases reports whether Flux has anything in a policy's scope for a member of a ring.
func (r *Rings) hasReleases(v *view, policy, ring int) bool {
	releases, _ := v.st.Facts().HelmReleases()
	return slices.ContainsFunc(releases, func(is facts.Application) bool {
		return is.Owner == facts.OwnerOf(r.o.Hub, engineOf(v.st)) && v.rings[policy].policy.Scope.Covers(is.Group, is.Component) &&
			v.ringOf(policy, is.Cluster) == ring
	})
}

// isSameFlux reports whether all HelmReleases and Kustomizations of a policy's scope are what a
// state answers.
func (r *Rings) isSameFlux(p *rollout.Policy, st *fleetstate.State) bool {
	a, err := flux.Build(st, r.o.Hub, engineOf(st))
	releases, _ := st.Facts().HelmReleases()
	return !slices.ContainsFunc(releases, func(is facts.Application) bool {
		if is.Digest == "" || is.Owner != facts.OwnerOf(r.o.Hub, engineOf(st)) || !p.Scope.Covers(is.Group, is.Component) {
			return false
		}
		return err != nil || !slices.ContainsFunc(a.Objects, func(o flux.Object) bool {
			return o.Kind == is.Kind && o.Item.Name == is.Name && o.Digest == is.Digest
		})
	})
}
