package lifecycle

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/placement"
)

// Git says who is to own a group of a member; two engines learn of it at different times. So that
// they never both have the group, the one that is to have it waits until the other has let go (rule
// 2). What says so is the group's grant: an Application of the hub's that delivers a ConfigMap to
// the member, which the member's service keeps from going while its engine has anything of the
// group. All of it is facts, so that answers stay pure (G6). Where nobody looks for them, Git alone
// decides.

// IsGranted reports whether the member's own engine may have a group, as far as the hub knows.
func IsGranted(st *fleetstate.State, c *fleetstate.Cluster, group string) bool {
	return st.Facts().Granted(c.Member.Name, group)
}

// HubDeploys reports whether the hub's engine has an Application of a group, whatever controls it.
func HubDeploys(st *fleetstate.State, c *fleetstate.Cluster, group string) bool {
	return slices.ContainsFunc(st.Facts().ApplicationsOf(c.Member.Name), func(a facts.Application) bool {
		return a.Group == group && a.Component != "" && !a.Grant
	})
}

// HoldsGrant reports whether a member's own engine may have a group, and whether that is for its
// grant to say. A member that retires removes what it has by itself (D3), also of a group that goes
// back to the hub at once; nothing new is granted to it.
func HoldsGrant(st *fleetstate.State, c *fleetstate.Cluster, group string) (holds, known bool) {
	if !c.IsRetired() {
		return st.Facts().Holds(c.Member.Name, group)
	}
	all, _ := st.Facts().Grants(c.Member.Name)
	holds = slices.ContainsFunc(all, func(g facts.OwnershipGrant) bool { return g.Group == group && g.Held })
	return holds, holds
}

// IsReachable reports whether the components of a group can be deployed: the cluster is registered,
// or they are what makes it, on the hub.
func IsReachable(c *fleetstate.Cluster, group string) bool {
	return c.Registered || group == provision.Group
}

// MayDeploy reports whether the components of a group are the requester's to have, now (M1, rule
// 2).
func MayDeploy(st *fleetstate.State, c *fleetstate.Cluster, group, requester string) bool {
	if requester == fleet.OwnerHub {
		return (c.Member.Owner(group) == requester || awaitsEngine(st, c, group)) && !IsGranted(st, c, group)
	}
	if holds, known := HoldsGrant(st, c, group); known {
		return holds && c.Member.Name == requester
	}
	return c.Member.Owner(group) == requester
}

// Owns reports whether a group is the requester's, or is to be. What asks for components, its
// ApplicationSets, may be there before the components are; and it has to be there as long as they
// are.
func Owns(st *fleetstate.State, c *fleetstate.Cluster, group, requester string) bool {
	if holds, _ := HoldsGrant(st, c, group); holds && c.Member.Name == requester {
		return true
	}
	return c.Member.Owner(group) == requester || requester == fleet.OwnerHub && awaitsEngine(st, c, group)
}

// awaitsEngine reports whether the hub keeps a group that it has and the member is to have: the
// engine that the hub installs there is not there, or not healthy.
func awaitsEngine(st *fleetstate.State, c *fleetstate.Cluster, group string) bool {
	g, engine := c.Groups[fleetstate.FleetGroup], placement.Engines[c.Member.Engine]
	if c.Member.Owner(group) == fleet.OwnerHub || c.Member.Owner(fleetstate.FleetGroup) != fleet.OwnerHub {
		return false
	}
	if g == nil || c.IsRetired() || !HubDeploys(st, c, group) || !isEnabled(st, c, g, engine) {
		return false
	}
	a, there := applicationOf(st, c, g, engine)
	return !there || st.Facts().KnowsHealth() && !a.Healthy
}

// WaitsForEngine reports whether a component that the hub does not have yet is for the member's own
// engine, which is not there: the hub keeps what it has of a group, and starts nothing in it.
func WaitsForEngine(st *fleetstate.State, c *fleetstate.Cluster, g *fleetstate.Group, component, requester string) bool {
	_, there := applicationOf(st, c, g, component)
	return requester == fleet.OwnerHub && c.Member.Owner(g.Name) != requester && !there
}

// IsHanded reports whether the hub has something of a cluster that the member is to have.
func IsHanded(st *fleetstate.State, cluster string) bool {
	return slices.ContainsFunc(st.Facts().ApplicationsOf(cluster), func(a facts.Application) bool {
		return a.Component != "" && !a.Grant && slices.ContainsFunc(st.Fleet.Hubs(), func(hub string) bool {
			m := st.Fleet.Member(hub, cluster)
			return m != nil && m.Owner(a.Group) != fleet.OwnerHub
		})
	})
}

// ReleasableGrants are the grants that are to go, and of whose groups the member's own engine has
// nothing any more by this state: it is answered nothing of them, and the facts show nothing. Of
// what is not known nothing is released.
func ReleasableGrants(st *fleetstate.State, hub, member string) []facts.OwnershipGrant {
	all, _ := st.Facts().Grants(member)
	c := st.Cluster(hub, member)
	var out []facts.OwnershipGrant
	for _, g := range all {
		if g.IsDeleted && c != nil && !engineDeploys(st, c, g.Group) {
			out = append(out, g)
		}
	}
	return out
}

// engineDeploys reports whether a member's own engine, Argo CD or Flux, has anything of a group
// that another would have beside it, or may have. One of the two is known where the other is not
// installed.
func engineDeploys(st *fleetstate.State, c *fleetstate.Cluster, group string) bool {
	_, argocd := st.Facts().Applications()
	releases, flux := st.Facts().HelmReleases()
	if !argocd && !flux || HubDeploys(st, c, group) {
		return true
	}
	owner := facts.OwnerOf(c.Member.Hub, c.Member.Name)
	return slices.ContainsFunc(releases, func(r facts.Application) bool {
		return r.Group == group && r.Owner == owner && !isLost(st, c, r)
	})
}

// isLost reports whether nothing runs a HelmRelease's component any more, and nothing says that it
// is to go: Flux keeps it (D1), and no other engine will have it.
func isLost(st *fleetstate.State, c *fleetstate.Cluster, r facts.Application) bool {
	g := c.Groups[r.Group]
	if r.Cluster != c.Member.Name || g == nil || len(g.Errors) > 0 || len(c.BlockingProblems()) > 0 {
		return false
	}
	resolver := st.ResolverOf(c)
	found, problems := resolver.Resolve(c, g, r.Component, nil)
	if len(problems) > 0 {
		return false
	}
	return found.EntryTree == nil || !found.Enabled && !RemovesWorkloads(st, c, r.Group, r.Component, found) || isFormerCompanion(found.Entry, r)
}

// isFormerCompanion reports whether a HelmRelease is that of a companion that its component does
// not have any more.
func isFormerCompanion(e *catalog.Entry, r facts.Application) bool {
	return r.Name != catalog.ApplicationName(r.Component, r.Cluster) && !slices.ContainsFunc(e.Companions, func(name string) bool {
		return r.Name == catalog.ApplicationName(r.Component+"-"+name, r.Cluster)
	})
}

// FluxHasGrants reports whether a member with Flux has any grant.
func FluxHasGrants(st *fleetstate.State, member string) bool {
	all, _ := st.Facts().Grants(member)
	_, flux := st.Facts().HelmReleases()
	return flux && len(all) > 0
}

// KeepsGroup reports whether a member that is to have no engine of its own any more, or another,
// goes on with a group: its hub does not have it as long as the member holds its grant.
func KeepsGroup(st *fleetstate.State, hub, member, group string) bool {
	c := st.Cluster(hub, member)
	if c == nil {
		return false
	}
	holds, _ := HoldsGrant(st, c, group)
	return holds
}
