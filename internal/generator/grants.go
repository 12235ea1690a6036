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
func (st *State) grantSets(q query) ([]set, []problem.Problem) {
	clusters, problems := st.asked(q)
	var sets []set
	for _, c := range clusters {
		if !c.registered || !c.member.Remote || c.member.IsHub {
			continue
		}
		for _, group := range st.groups {
			if c.member.Owner(group) != c.member.Name || !st.granted(c, group) && st.hubHas(c, group) {
				continue
			}
			sets = append(sets, &GrantSet{
				Common: c.common(applicationName(grant+"-"+group, c.member.Name)), Group: group, Engine: c.member.Engine,
				// Always: the Application is to stay until its ConfigMap has gone, and that is all it runs.
				Deletion: cascade,
			})
		}
	}
	return sets, problems
}

// granted reports whether the member's own engine may have a group, as far as the hub knows.
func (st *State) granted(c *cluster, group string) bool {
	return st.facts.Granted(c.member.Name, group)
}

// hubHas reports whether the hub's engine has an Application of a group, whoever controls it.
func (st *State) hubHas(c *cluster, group string) bool {
	return slices.ContainsFunc(st.facts.ApplicationsOf(c.member.Name), func(a facts.Application) bool {
		return a.Group == group && a.Component != "" && !a.Grant
	})
}

// holds reports whether a member's own engine may have a group, and whether that is for its grant to say. A member that
// retires removes what it has by itself (D3): its groups are nobody else's to be.
func (st *State) holds(c *cluster, group string) (holds, known bool) {
	if c.retired() {
		return false, false
	}
	return st.facts.Holds(c.member.Name, group)
}

// may reports whether the components of a group are the asker's to have, now (M1, rule 13).
func (st *State) may(q query, c *cluster, group string) bool {
	if q.owner == fleet.OwnerHub {
		return c.member.Owner(group) == q.owner && !st.granted(c, group)
	}
	if holds, known := st.holds(c, group); known {
		return holds && c.member.Name == q.owner
	}
	return c.member.Owner(group) == q.owner
}

// owns reports whether a group is the asker's, or is to be. What asks for components, its ApplicationSets, may be there
// before the components are; and it has to be there as long as they are.
func (st *State) owns(q query, c *cluster, group string) bool {
	if holds, _ := st.holds(c, group); holds && c.member.Name == q.owner {
		return true
	}
	return c.member.Owner(group) == q.owner
}

// Released are the grants that are to go, and of whose groups the member's own engine has nothing any more by this state:
// it is answered nothing of them, and the facts show nothing. Of what is not known nothing is released.
func (st *State) Released(hub, member string) []facts.Grant {
	all, _ := st.facts.Grants(member)
	c := st.cluster(hub, member)
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
func (st *State) engineHas(c *cluster, group string) bool {
	_, argocd := st.facts.Applications()
	releases, flux := st.facts.HelmReleases()
	if !argocd && !flux || st.hubHas(c, group) {
		return true
	}
	owner := facts.OwnerOf(c.member.Hub, c.member.Name)
	return slices.ContainsFunc(releases, func(r facts.Application) bool {
		return r.Group == group && r.Owner == owner && !st.lost(c, r)
	})
}

// lost reports whether nothing runs a HelmRelease's component any more, and nothing says that it is to go: Flux keeps it
// (D1), and no other engine will have it.
func (st *State) lost(c *cluster, r facts.Application) bool {
	g := c.groups[r.Group]
	if r.Cluster != c.member.Name || g == nil || len(g.errors) > 0 || len(c.cannot()) > 0 {
		return false
	}
	ground := st.of(c)
	found, problems := ground.resolve(c, g, r.Component, nil)
	if len(problems) > 0 {
		return false
	}
	return found.entry == nil || !found.enabled && !c.goes(found.entry, ground.memo.entry(found.entry))
}

// fluxHasGrants reports whether a member with Flux has any grant.
func (st *State) fluxHasGrants(member string) bool {
	all, _ := st.facts.Grants(member)
	_, flux := st.facts.HelmReleases()
	return flux && len(all) > 0
}

// goesOn reports whether a member that is to have no engine of its own any more, or another, goes on with a group: its hub
// does not have it as long as the member holds its grant.
func (st *State) goesOn(hub, member, group string) bool {
	c := st.cluster(hub, member)
	if c == nil {
		return false
	}
	holds, _ := st.holds(c, group)
	return holds
}
