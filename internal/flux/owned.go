package flux

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
)

// Owned is everything that one engine must run, of all groups: Flux asks once for all of it.
type Owned struct {
	Hub string
	// Owner is whose engine it is: fleet.OwnerHub or a member's name.
	Owner string
	// Self is the cluster that the engine runs on.
	Self Identity
	// Components are what it must run, sorted by cluster, then component and group.
	Components []generator.ComponentSet
	// Removals are components that it must remove and whose HelmReleases are not marked yet, sorted by
	// cluster and name. Deletion says whether the workloads are removed (D3) or stay (D4).
	Removals []generator.ComponentSet
	// Registrations are the charts that register the members of a hub that runs Flux, sorted by cluster;
	// they run on the hub itself. RegistrationRemovals are those of retired members that the hub must
	// remove and whose HelmReleases are not marked yet.
	Registrations, RegistrationRemovals []generator.ComponentSet
	// GitSecrets are the credentials in the engine's cluster, by name.
	GitSecrets []generator.GitSecret

	st *generator.State
}

// Identity describes a cluster.
type Identity struct {
	Name, Tenant, Environment string
	Labels, Annotations       labels.Set
	Pos                       problem.Pos // of its member file
}

// OwnedBy computes what an engine must run; owner is "hub" or a member's name. The error is a
// *generator.Error: of kind BadRequest for an owner that has no Flux and no HelmReleases left, and
// Unavailable when any part cannot be computed (G1).
func OwnedBy(st *generator.State, hub, owner string) (Owned, error) {
	self := st.HubMember(hub)
	former := false // it had Flux, which must give up its objects (D4)
	if owner != fleet.OwnerHub && (self == nil || owner != self.Name) {
		self = nil
		if c := st.Cluster(hub, owner); c != nil {
			self = c.Member
		}
		former = self != nil && !isFlux(self) && (hasHelmReleases(st, hub, owner) || generator.FluxHasGrants(st, owner))
		switch {
		case self == nil, former: // the query below says so
		case !self.Remote:
			return Owned{}, generator.BadRequestError("member %q of hub %q has no engine of its own: ask for owner %q", owner, hub, fleet.OwnerHub)
		case !isFlux(self):
			return Owned{}, generator.BadRequestError("the engine of member %q of hub %q is %s", owner, hub, self.Engine)
		}
	}
	out := Owned{Hub: hub, Owner: owner, st: st}
	for _, group := range st.Groups() {
		r := generator.Request{View: generator.Components, Hub: hub, Group: group, Owner: owner}
		if _, failure := generator.CheckQuery(st, r); failure != nil {
			return Owned{}, failure
		}
		out.Owner = st.OwnerName(hub, owner)
		if former && !generator.KeepsGroup(st, hub, owner, group) {
			continue
		}
		sets, failure := generator.GenerateDesired(st, r)
		if failure != nil {
			return Owned{}, failure
		}
		for _, s := range sets {
			if c, ok := s.(*generator.ComponentSet); ok {
				out.Components = append(out.Components, *c)
			}
		}
	}
	if out.Owner == fleet.OwnerHub {
		var failure *generator.Error
		if out.Registrations, failure = registrations(st, hub); failure != nil {
			return Owned{}, failure
		}
	}
	slices.SortFunc(out.Components, func(a, b generator.ComponentSet) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Component, b.Component), strings.Compare(a.Group, b.Group))
	})
	if self != nil {
		c := st.Cluster(hub, self.Name)
		if broken := c.BlockingProblems(); len(broken) > 0 {
			return Owned{}, generator.UnavailableError(broken)
		}
		if out.Owner != fleet.OwnerHub { // a hub's engine has the credentials that somebody gave it
			out.GitSecrets = generator.GitSecrets(c)
		}
		out.Self = Identity{
			Name: self.Name, Tenant: self.Tenant, Environment: self.Environment, Labels: c.Labels, Annotations: c.Annotations, Pos: self.Pos,
		}
	}
	out.Removals, out.RegistrationRemovals = removals(st, hub, out.Owner, out.Components), registrationRemovals(st, hub, out.Owner)
	return out, nil
}

// EntryPos is the place of a key of a component's merged catalog entry on a cluster, else the entry's
// place.
func EntryPos(st *generator.State, hub, cluster, group, component string, path ...string) problem.Pos {
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
