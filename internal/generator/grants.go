package generator

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
)

// Git says who is to own a group of a member; two engines learn of it at different times. So that they never both have the
// group, the one that is to have it waits until the other has let go (rule 13). What says so is the group's grant: an
// Application of the hub's that delivers a ConfigMap to the member, which the member's service keeps from going while its
// engine has anything of the group. All of it is facts, so that answers stay pure (G6). Where nobody looks for them, Git
// alone decides.

// grant is the first part of the names of grants' Applications.
const grant = "grant"

// GrantSet is one element of the answer to view grants.
type GrantSet struct {
	Common
	Group    string `json:"group"`
	Engine   string `json:"engine"`
	Deletion string `json:"deletion"`
}

// grantSets are one set per group that a member's own engine is to have, as soon as the hub's has nothing of it any more.
func (st *State) grantSets(q query) ([]ParameterSet, []problem.Problem) {
	clusters, problems := st.asked(q)
	var sets []ParameterSet
	for _, c := range clusters {
		if !c.Registered || !c.Member.Remote || c.Member.IsHub {
			continue
		}
		for _, group := range st.Groups() {
			if c.Member.Owner(group) != c.Member.Name || !st.granted(c, group) && st.hubHas(c, group) {
				continue
			}
			sets = append(sets, &GrantSet{
				Common: c.common(ApplicationName(grant+"-"+group, c.Member.Name)), Group: group, Engine: c.Member.Engine,
				// Always: the Application is to stay until its ConfigMap has gone, and that is all it runs.
				Deletion: fleet.Cascade,
			})
		}
	}
	return sets, problems
}

// granted reports whether the member's own engine may have a group, as far as the hub knows.
func (st *State) granted(c *Cluster, group string) bool {
	return st.Facts().Granted(c.Member.Name, group)
}

// hubHas reports whether the hub's engine has an Application of a group, whoever controls it.
func (st *State) hubHas(c *Cluster, group string) bool {
	return slices.ContainsFunc(st.Facts().ApplicationsOf(c.Member.Name), func(a facts.Application) bool {
		return a.Group == group && a.Component != "" && !a.Grant
	})
}

// HoldsGrant reports whether a member's own engine may have a group, and whether that is for its grant to say. A member that
// retires removes what it has by itself (D3): its groups are nobody else's to be.
func (st *State) HoldsGrant(c *Cluster, group string) (holds, known bool) {
	if c.IsRetired() {
		return false, false
	}
	return st.Facts().Holds(c.Member.Name, group)
}

// may reports whether the components of a group are the asker's to have, now (M1, rule 13).
func (st *State) MayDeploy(c *Cluster, group, requester string) bool {
	if requester == fleet.OwnerHub {
		return c.Member.Owner(group) == requester && !st.granted(c, group)
	}
	if holds, known := st.HoldsGrant(c, group); known {
		return holds && c.Member.Name == requester
	}
	return c.Member.Owner(group) == requester
}

// owns reports whether a group is the asker's, or is to be. What asks for components, its ApplicationSets, may be there
// before the components are; and it has to be there as long as they are.
func (st *State) Owns(c *Cluster, group, requester string) bool {
	if holds, _ := st.HoldsGrant(c, group); holds && c.Member.Name == requester {
		return true
	}
	return c.Member.Owner(group) == requester
}

// Released are the grants that are to go, and of whose groups the member's own engine has nothing any more by this state:
// it is answered nothing of them, and the facts show nothing. Of what is not known nothing is released.
func (st *State) Released(hub, member string) []facts.Grant {
	all, _ := st.Facts().Grants(member)
	c := st.Cluster(hub, member)
	var out []facts.Grant
	for _, g := range all {
		if g.Leaving && c != nil && !st.engineHas(c, g.Group) {
			out = append(out, g)
		}
	}
	return out
}

// engineHas reports whether a member's own engine, Argo CD or Flux, has anything of a group that another would have
// beside it, or may have. One of the two is known where the other is not installed.
func (st *State) engineHas(c *Cluster, group string) bool {
	_, argocd := st.Facts().Applications()
	releases, flux := st.Facts().HelmReleases()
	if !argocd && !flux || st.hubHas(c, group) {
		return true
	}
	owner := facts.OwnerOf(c.Member.Hub, c.Member.Name)
	return slices.ContainsFunc(releases, func(r facts.Application) bool {
		return r.Group == group && r.Owner == owner && !st.lost(c, r)
	})
}

// lost reports whether nothing runs a HelmRelease's component any more, and nothing says that it is to go: Flux keeps it
// (D1), and no other engine will have it.
func (st *State) lost(c *Cluster, r facts.Application) bool {
	g := c.Groups[r.Group]
	if r.Cluster != c.Member.Name || g == nil || len(g.Errors) > 0 || len(c.BlockingProblems()) > 0 {
		return false
	}
	resolver := st.ResolverOf(c)
	found, problems := resolver.Resolve(c, g, r.Component, nil)
	if len(problems) > 0 {
		return false
	}
	return found.EntryTree == nil || !found.Enabled && !RemovesWorkloads(c, found)
}

// FluxHasGrants reports whether a member with Flux has any grant.
func (st *State) FluxHasGrants(member string) bool {
	all, _ := st.Facts().Grants(member)
	_, flux := st.Facts().HelmReleases()
	return flux && len(all) > 0
}

// KeepsGroup reports whether a member that is to have no engine of its own any more, or another, goes on with a group: its hub
// does not have it as long as the member holds its grant.
func (st *State) KeepsGroup(hub, member, group string) bool {
	c := st.Cluster(hub, member)
	if c == nil {
		return false
	}
	holds, _ := st.HoldsGrant(c, group)
	return holds
}
