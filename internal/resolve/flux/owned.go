package flux

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"

	"github.com/argosy-hub/argosy/internal/registration"
)

// Owned is everything that one engine must run, of all groups: Flux queries once for all of it.
type Owned struct {
	Hub string
	// Owner is whose engine it is: fleet.OwnerHub or a member's name.
	Owner string
	// Self is the cluster that the engine runs on.
	Self Identity
	// Components are what it must run, sorted by cluster, then component and group.
	Components []paramset.ComponentSet
	// Removals are components that it must remove and whose HelmReleases are not marked yet, sorted
	// by cluster and name. Deletion says whether the workloads are removed or stay.
	Removals []paramset.ComponentSet
	// Registrations are the charts that register the members of a hub that runs Flux, sorted by
	// cluster; they run on the hub itself. RegistrationRemovals are registrations of retired
	// members that the hub must remove and whose HelmReleases are not marked yet.
	Registrations, RegistrationRemovals []paramset.ComponentSet
	// GitSecrets are the credentials in the engine's cluster, by the cluster whose repositories are
	// read with them.
	GitSecrets map[string][]registration.GitSecret

	st *fleetstate.State
}

// Identity describes a cluster.
type Identity struct {
	Name, Tenant, Environment string
	Labels, Annotations       labels.Set
	Pos                       problem.Pos // of the cluster's member file
}

// OwnedBy computes what an engine must run; owner is "hub" or a member's name. The error is a
// *problem.QueryError: of kind BadRequest for an owner that has no Flux and no HelmReleases left,
// and Unavailable when any part cannot be computed.
func OwnedBy(st *fleetstate.State, hub, owner string) (Owned, error) {
	return OwnedIn(st, hub, owner, Held{Pick: func(lifecycle.Item) int { return 0 }})
}

// Held has the earlier states that some components of an engine come from, by the rings of its
// rollouts.
type Held struct {
	States []*fleetstate.State
	// Pick returns 0 for a component of the newest state, else its place in States plus one.
	Pick func(lifecycle.Item) int
}

// OwnedIn is OwnedBy, with components of earlier states where Pick says so. Removals are decided by
// the state that a component comes from; the rest is from the newest.
func OwnedIn(st *fleetstate.State, hub, owner string, held Held) (Owned, error) {
	out, err := desired(st, hub, owner)
	if err != nil {
		return Owned{}, err
	}
	all := []Owned{out}
	for _, state := range held.States {
		one, err := desired(state, hub, owner)
		if failure := (*problem.QueryError)(nil); errors.As(err, &failure) && failure.Kind == problem.KindBadRequest {
			one, err = Owned{st: state, Owner: out.Owner}, nil // it had no Flux then
		}
		if err != nil {
			return Owned{}, err
		}
		all = append(all, one)
	}
	out.Components, out.Registrations = nil, nil
	for i, one := range all {
		isOther := func(c paramset.ComponentSet) bool { return held.Pick(itemOf(c)) != i }
		out.Components = append(out.Components, slices.DeleteFunc(one.Components, isOther)...)
		out.Registrations = append(out.Registrations, slices.DeleteFunc(one.Registrations, isOther)...)
	}
	byCluster := func(a, b paramset.ComponentSet) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Component, b.Component), strings.Compare(a.Group, b.Group))
	}
	slices.SortFunc(out.Components, byCluster)
	slices.SortFunc(out.Registrations, byCluster)
	if out.Owner == fleet.OwnerHub {
		out.GitSecrets = pickedSecrets(all, held)
	}
	for i, one := range all {
		isPicked := func(r facts.Application) bool {
			return held.Pick(lifecycle.Item{Name: r.Name, Cluster: r.Cluster, Group: r.Group, Component: r.Component}) == i
		}
		out.Removals = append(out.Removals, removals(one.st, hub, out.Owner, out.Components, isPicked)...)
	}
	out.RegistrationRemovals = registrationRemovals(st, hub, out.Owner)
	return out, nil
}

// pickedSecrets returns the credentials of a hub's clusters, each from the state of its
// registration, which brings the Secrets, else from another state.
func pickedSecrets(all []Owned, held Held) map[string][]registration.GitSecret {
	out := map[string][]registration.GitSecret{}
	for i, one := range all {
		for cluster, secrets := range one.GitSecrets {
			item := lifecycle.Item{
				Name: catalog.ApplicationName(fleetstate.Registration, cluster), Cluster: cluster, Group: fleetstate.FleetGroup, Component: fleetstate.Registration,
			}
			if _, known := out[cluster]; !known || held.Pick(item) == i {
				out[cluster] = secrets
			}
		}
	}
	return out
}

// itemOf returns the item of a component.
func itemOf(c paramset.ComponentSet) lifecycle.Item {
	return lifecycle.Item{Name: c.ApplicationName, Cluster: c.Name, Group: c.Group, Component: c.Component}
}

// desired returns what an engine must run by one state, without removals.
func desired(st *fleetstate.State, hub, owner string) (Owned, error) {
	self := st.HubMember(hub)
	former := false // it had Flux, which must give up its objects
	if owner != fleet.OwnerHub && (self == nil || owner != self.Name) {
		self = nil
		if c := st.Cluster(hub, owner); c != nil {
			self = c.Member
		}
		former = self != nil && !isFlux(self) && (hasHelmReleases(st, hub, owner) || lifecycle.FluxHasGrants(st, owner))
		switch {
		case self == nil, former: // the query below reports it
		case !self.Remote:
			return Owned{}, problem.BadRequest("member %q of hub %q has no engine of its own: ask for owner %q", owner, hub, fleet.OwnerHub)
		case !isFlux(self):
			return Owned{}, problem.BadRequest("the engine of member %q of hub %q is %s", owner, hub, self.Engine)
		}
	}
	out := Owned{Hub: hub, Owner: owner, GitSecrets: map[string][]registration.GitSecret{}, st: st}
	for _, group := range st.Groups() {
		r := query.Query{View: query.Components, Hub: hub, Group: group, Owner: owner}
		if _, failure := query.Check(st, r); failure != nil {
			return Owned{}, failure
		}
		out.Owner = st.OwnerName(hub, owner)
		if former && !lifecycle.KeepsGroup(st, hub, owner, group) {
			continue
		}
		sets, failure := paramset.GenerateDesired(st, r)
		if failure != nil {
			return Owned{}, failure
		}
		for _, s := range sets {
			if c, ok := s.(*paramset.ComponentSet); ok {
				out.Components = append(out.Components, *c)
			}
		}
	}
	if out.Owner == fleet.OwnerHub {
		for _, c := range st.ClustersOf(hub) { // also without components: a ring may have some
			out.GitSecrets[c.Member.Name] = registration.HubGitSecrets(c)
		}
		var failure *problem.QueryError
		if out.Registrations, failure = registrations(st, hub); failure != nil {
			return Owned{}, failure
		}
		bootstrap, failure := agents(st, hub, out.Registrations)
		if failure != nil {
			return Owned{}, failure
		}
		out.Components = append(out.Components, bootstrap...)
	}
	if self != nil {
		c := st.Cluster(hub, self.Name)
		if broken := c.BlockingProblems(); len(broken) > 0 {
			return Owned{}, query.Unavailable(st, broken)
		}
		if out.Owner != fleet.OwnerHub { // a hub reads for itself with credentials that it was given
			out.GitSecrets[self.Name] = registration.GitSecrets(c)
		}
		out.Self = Identity{
			Name: self.Name, Tenant: self.Tenant, Environment: self.Environment, Labels: c.Labels, Annotations: c.Annotations, Pos: self.Pos,
		}
	}
	return out, nil
}

// EntryPos returns the place of a key of a component's merged catalog entry on a cluster, else the
// entry's place.
func EntryPos(st *fleetstate.State, hub, cluster, group, component string, path ...string) problem.Pos {
	c := st.Cluster(hub, cluster)
	if c == nil {
		return problem.Pos{}
	}
	g := c.Groups[group]
	if g == nil {
		return c.Member.Pos
	}
	r, _ := st.ResolverOf(c).Resolve(c, g, component, nil)
	if r.EntryTree == nil {
		return c.Member.Pos
	}
	for ; len(path) > 0; path = path[:len(path)-1] {
		if n := r.EntryTree.At(path); n != nil && !n.Pos().IsZero() {
			return n.Pos()
		}
	}
	return r.EntryTree.Root.Pos()
}
