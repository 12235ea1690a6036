package hold

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/mount"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// OfState returns the holds that follow from a state alone: members that cannot be computed, that
// are held with their tenant or that drain, and groups that change hands.
func OfState(st *fleetstate.State) (out []Hold) {
	for _, c := range st.Clusters() {
		out = append(out, OfMember(st, c)...)
		out = append(out, handovers(st, c)...)
	}
	return out
}

// OfMember returns the holds of a member as a whole.
func OfMember(st *fleetstate.State, c *fleetstate.Cluster) (out []Hold) {
	if c.LastKnownGood == nil && len(c.Problems)+len(c.HubProblems) == 0 {
		return nil
	}
	of := Hold{Hub: c.Member.Hub, Tenant: c.Member.Tenant, Cluster: c.Member.Name}
	if q, is := st.QuarantineOf(c); is {
		out = append(out, quarantine(of, q))
	}
	if now := c.Desired().Member; c.LastKnownGood != nil && now.Lifecycle == fleet.Draining {
		of.Reason, of.Detail, of.Position = Draining, "the member drains: it keeps its workloads and takes no changes", now.KeyPos("lifecycle")
		of.Revision = c.LastKnownGood.Snapshot.Revision
		out = append(out, of)
	}
	return out
}

// quarantine is the hold of a member that cannot be computed, or is held with its tenant.
func quarantine(h Hold, q fleetstate.Quarantined) Hold {
	first := q.First()
	h.Detail, h.Position, h.Revision = string(first.Reason)+": "+first.Message(), first.Pos, q.Revision
	h.Reason = Reason(fleetstate.HeldFor(first.Reason))
	if n := len(q.Problems) - 1; n > 0 {
		h.Detail += fmt.Sprintf(" (and %d more)", n)
	}
	switch q.Standing {
	case fleetstate.LeftOut:
		h.Detail += "; it was never served, and is in no response"
	case fleetstate.Refused:
		h.Detail += "; no good revision of it is known, so queries with it get no response"
	}
	return h
}

// handovers returns the groups of an agent whose owner in Git may not have them yet.
func handovers(st *fleetstate.State, c *fleetstate.Cluster) (out []Hold) {
	if !c.Member.Remote || c.IsRetired() || !st.KnowsApplications() || len(c.BlockingProblems()) > 0 {
		return nil
	}
	for _, group := range st.Fleet.Layout.GroupNames() {
		h := Hold{Reason: Handover, Hub: c.Member.Hub, Tenant: c.Member.Tenant, Cluster: c.Member.Name, Group: group, Position: c.Member.KeyPos("enable_remote_" + group)}
		switch owner := c.Member.Owner(group); {
		case owner == fleet.OwnerHub && !lifecycle.MayDeploy(st, c, group, owner):
			h.Detail = "the hub owns the group, and the member's engine still holds its grant"
		case owner != fleet.OwnerHub && lifecycle.HubDeploys(st, c, group):
			h.Detail = "the member's engine owns the group, and the hub still has Applications of it"
		default:
			continue
		}
		out = append(out, h)
	}
	return out
}

// OfMount returns a hold for each cell of a mount, or one for all if the state knows no cell.
func OfMount(st *fleetstate.State, path string, like Hold) (out []Hold) {
	like.Reason, like.Group = Mount, mount.Group
	for m, c := range st.Clusters() {
		for _, s := range st.Resolver().Mounts.Of(m, mount.Group) {
			for _, component := range st.ComponentsOf(m.Hub, m.Name, mount.Group) {
				if s.Path == path && s.Owns(mount.Group, component) {
					h := like
					h.Hub, h.Tenant, h.Cluster, h.Component = m.Hub, c.Member.Tenant, m.Name, component
					out = append(out, h)
				}
			}
		}
	}
	if len(out) == 0 {
		return []Hold{like}
	}
	return out
}
