package lifecycle

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/placement"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Deletion in two steps (D3): a set that is to go together with what runs is answered with
// `deletion: cascade` while the engine's Application lacks the cascading finalizer, so that it gets
// it, and is left out from then on. All of that is read from facts.Application, so that answers
// stay pure (G6). Where the facts know nothing of Applications there is one step: sets are left out
// at once, and what runs stays.

// Step is how far the removal of an Application has come.
type Step int

const (
	// NoRemoval means that there is no such Application, or what it runs is to stay.
	NoRemoval Step = iota
	// Wanted means that it is there, and deleting it would leave what runs.
	Wanted
	// Marked means that it is there, and deleting it removes what runs.
	Marked
)

// isDisabled reports whether a component that is not to run on a cluster has been switched off
// there (D2). That takes a statement: `enabled: false` in the hierarchy, or a label that the
// entry's selector refuses. Where nothing switches it on any more, be it that its entry, its file
// or its label is gone, it is lost: by silence nothing is removed (D1). A flag that brought the
// component and is off now is a statement as well.
func isDisabled(c *fleetstate.Cluster, group, component string, tree *hierarchy.Tree, e *catalog.Entry) bool {
	if c.Brings(group, component) == placement.Declined {
		return true
	}
	if e.Enabled {
		return e.Selector.Refuses(c.Labels.All)
	}
	said, ok := tree.Origin([]string{catalog.KeyEnabled})
	if !ok || said.Level == catalog.Level {
		return false
	}
	on, ok := said.Value.Truth()
	return ok && !on
}

// RemovesWorkloads reports whether the workloads of a component are to be removed now, together
// with its Application.
func RemovesWorkloads(st *fleetstate.State, c *fleetstate.Cluster, group, component string, r fleetstate.Component) bool {
	return isRemoved(st, c, group, component, r) && !isNeededForHandover(st, c, group, component)
}

// WaitsForHandover reports whether a component that is to be removed with its workloads stays as it
// is for now: the member's engine has groups to give back, which it does with that engine, its
// service and its credentials (M3). When the last grant is gone, they are removed.
func WaitsForHandover(st *fleetstate.State, c *fleetstate.Cluster, group, component string, r fleetstate.Component) bool {
	return isNeededForHandover(st, c, group, component) && isRemoved(st, c, group, component, r)
}

// isRemoved reports whether a component is to be removed together with its workloads, now or later:
// it is switched off, or the member is retired and says so. Workloads that no catalog describes any
// more stay, and so does what a member deploys with that may have groups of its own.
func isRemoved(st *fleetstate.State, c *fleetstate.Cluster, group, component string, r fleetstate.Component) bool {
	switch {
	case r.EntryTree == nil || r.EntryTree.Root.IsNull():
		return false
	case c.IsRetired():
		return DeletionOfRetired(st.Fleet, c.Member, group) == fleet.Cascade && !(group == fleetstate.FleetGroup && ownsGroups(st, c))
	}
	return group != provision.Group && isDisabled(c, group, component, r.EntryTree, r.Entry) && !isEngineInUse(st, c, group, component)
}

// ownsGroups reports whether a member may have groups of its own, by a grant or as an agent of a
// hub with Flux, which has no grants.
func ownsGroups(st *fleetstate.State, c *fleetstate.Cluster) bool {
	return c.Member.OwnGroup() != "" && hasGrant(st, c) || c.Member.Remote && st.IsFluxHub(c.Member.Hub)
}

// isEngineInUse reports whether a component is an engine that a member's own groups may still run
// with, which the hub does not see. A hub with Flux, which does not see when a member has given its
// groups back, uninstalls no member's Flux, nor the operator of an agent's credentials.
func isEngineInUse(st *fleetstate.State, c *fleetstate.Cluster, group, component string) bool {
	switch {
	case group != fleetstate.FleetGroup:
		return false
	case st.IsFluxHub(c.Member.Hub):
		return component == placement.Engines[fleet.EngineFlux] || c.Member.Remote && placement.IsOfAgent(component)
	}
	return placement.IsEngine(component) && c.Member.OwnGroup() != ""
}

// isNeededForHandover reports whether a member without groups of its own has one to give back, and
// a component is what it does that with: its engine and the operator of its credentials, and of a
// retired member all that the hub has of the group fleet.
func isNeededForHandover(st *fleetstate.State, c *fleetstate.Cluster, group, component string) bool {
	if group != fleetstate.FleetGroup || c.Member.OwnGroup() != "" {
		return false
	}
	return (c.IsRetired() || placement.IsOfAgent(component)) && hasGrant(st, c)
}

// hasGrant reports whether the member may have a group by a grant.
func hasGrant(st *fleetstate.State, c *fleetstate.Cluster) bool {
	return slices.ContainsFunc(st.Facts().ApplicationsOf(c.Member.Name), func(a facts.Application) bool { return a.Grant })
}

// applicationOf is a component's Application on a cluster, by its name and its labels, whatever
// release it is labelled with.
func applicationOf(st *fleetstate.State, c *fleetstate.Cluster, g *fleetstate.Group, component string) (facts.Application, bool) {
	a, there := st.Facts().Application(catalog.ApplicationName(component, c.Member.Name))
	return a, there && a.Cluster == c.Member.Name && a.Group == g.Name && a.Component == component
}

// WaitsForRelease reports whether a set that moves to the requester's release has to wait: its
// Application is labelled with another release, and that one's ApplicationSet controls it still.
// Answered now, the requester would fail on it before it came to what it has to let go itself, so
// that two releases that exchange clusters would wait for each other for ever (D4). Only who asks
// for one release can be distinguished from the old owner, and only if its own name is known: left
// out of the answer to the ApplicationSet that controls it, the Application would be deleted.
func WaitsForRelease(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster, g *fleetstate.Group, component string) bool {
	if q.Release == "" || q.ApplicationSet == "" {
		return false
	}
	a, there := applicationOf(st, c, g, component)
	return there && a.Release != "" && a.Release != g.Release.Type && a.Controller != "" && a.Controller != q.ApplicationSet
}

// RemovalStep is how far the removal of a component has come that is not to run on a cluster. An
// Application counts if its name and its labels say that it is this component's; one of another
// release moves, and is left to go by itself (D4).
func RemovalStep(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster, g *fleetstate.Group, component string) Step {
	if q.Desired {
		return NoRemoval
	}
	a, there := applicationOf(st, c, g, component)
	switch {
	case !there:
		return NoRemoval
	case (q.Release != "" || q.View == query.Releases) && a.Release != "" && a.Release != g.Release.Type:
		return NoRemoval
	case a.Cascade:
		return Marked
	}
	return Wanted
}

// Removing are the components of a group that are not to run on a cluster, but whose removal is
// under way: as long as their Applications are there, the ApplicationSets that answer for them have
// to be kept (R7). Those that are kept anyway need not be looked at.
func Removing(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster, g *fleetstate.Group, kept map[string]bool) []string {
	if q.Desired {
		return nil
	}
	var out []string
	for _, a := range st.Facts().ApplicationsOf(c.Member.Name) {
		if a.Group != g.Name || kept[a.Component] || RemovalStep(st, q, c, g, a.Component) == NoRemoval {
			continue
		}
		resolver := st.ResolverOf(c)
		r, problems := resolver.MergeEntry(g.Catalogs, a.Component)
		if r.EntryTree == nil && c.Brings(g.Name, a.Component) == placement.Declined {
			out = append(out, a.Component) // a release's chart has its entry, or ignores the name
			continue
		}
		if len(problems) > 0 || !isRemoved(st, c, g.Name, a.Component, r) && !InfrastructureWaits(st, c, g.Name) {
			continue
		}
		// A component that no catalog describes any more must not be switched on: its
		// ApplicationSet could not be rendered.
		if _, catalogued := resolver.Catalogs[g.Name]; catalogued {
			if found, _ := r.Entry.Incomplete(r.Entry.Chart, true); found != "" {
				continue
			}
		}
		out = append(out, a.Component)
	}
	return out
}

// AgentDeletion is the Deletion of a member's set in view agents, and whether there is one. When a
// member's file turns the agent off, the agent's service stays until the member has given back all
// groups; then it is removed. The hub leaves the service of a retired agent alone, which may still
// remove Applications that the hub does not see, and the service of an agent with Flux, whose
// HelmReleases may belong to workloads that stay.
func AgentDeletion(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster) (deletion string, is bool) {
	m := c.Member
	switch {
	case !c.Registered || c.IsRetired():
		return "", false
	case m.Remote:
		return fleet.Orphan, true
	case q.Desired || !leavesAgents(m):
		return "", false
	}
	a, there := st.Facts().Application(catalog.ApplicationName(fleetstate.Agent, m.Name))
	switch {
	case !there || a.Cluster != m.Name || a.Component != "" && a.Component != fleetstate.Agent:
		return "", false
	case hasGrant(st, c):
		return fleet.Orphan, true
	case a.Cascade:
		return "", false
	}
	return fleet.Cascade, true
}

// leavesAgents reports whether a member's file says that it has no Argo CD of its own any more.
func leavesAgents(m *fleet.Member) bool {
	return !m.Remote && !m.IsHub && m.Engine == fleet.EngineArgoCD && m.KeyPos(placement.FlagRemote).Line > 0
}

// RegistrationDeletion is the Deletion of a member's set in view members, and whether there is one.
// A retired member's stays as it is while any component's Application on it is left, as Argo CD has
// to reach the cluster, or the grant of a group that goes back to the hub; then what registers it
// goes, whatever becomes of what runs on the cluster.
func RegistrationDeletion(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster) (deletion string, is bool) {
	switch {
	case c.Member.IsHub:
		return "", false
	case !c.IsRetired():
		return fleet.Orphan, true
	case q.Desired:
		return "", false
	}
	a, there := st.Facts().Application(catalog.ApplicationName(fleetstate.Registration, c.Member.Name))
	switch {
	case !there, a.Cluster != c.Member.Name, a.Component != "" && a.Component != fleetstate.Registration:
		return "", false // nothing is registered anew for its removal
	case slices.ContainsFunc(st.Facts().ApplicationsOf(c.Member.Name), func(b facts.Application) bool {
		return b.Component != "" && b.Name != a.Name && b.Group != provision.Group || b.Grant && c.Member.Owner(b.Group) == fleet.OwnerHub
	}):
		return fleet.Orphan, true
	case a.Cascade:
		return "", false
	}
	return fleet.Cascade, true
}
