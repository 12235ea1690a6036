package lifecycle

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// What makes a cluster is the last of a retired member to be removed (C3): after the workloads, the
// components and the registration, each seen gone by the facts, so that a restart at any point goes
// on from what is there. Its control plane follows its nodes, by their dependsOn (P2).

// DeletionOfRetired is what becomes of what a retired member's Applications of a group run. What
// makes the cluster is deleted if the file says so, an approval names the cluster and class, and
// the cluster's own engine has no group, whose end the hub would not see. Whether the approval has
// expired is for the guard to judge, which has a clock.
func DeletionOfRetired(f *fleet.Fleet, m *fleet.Member, group string) string {
	switch {
	case group == fleetstate.FleetGroup && m.OwnGroup() != "": // its engine, which has removals of its own to do (D3)
		return fleet.Orphan
	case group != provision.Group:
		return m.Deletion
	case m.Provision != nil && m.Provision.Deletes && m.OwnGroup() == "" && ApprovesDeletion(f, m):
		return fleet.Cascade
	}
	return fleet.Orphan
}

// ApprovesDeletion reports whether an approval names the cluster that the hub made for a member,
// with its class.
func ApprovesDeletion(f *fleet.Fleet, m *fleet.Member) bool {
	removal := fleet.Removal{
		Hub: m.Hub, Cluster: m.Name, Tenant: m.Tenant, Environment: m.Environment, Group: provision.Group, Component: m.Provision.Class,
	}
	return slices.ContainsFunc(f.Approvals, func(a fleet.Approval) bool { return a.Names(removal) })
}

// InfrastructureWaits reports whether what makes a retired member's cluster stays as it is, until
// its deletion is decided and the hub's engine, Argo CD or Flux, has nothing else of the member.
func InfrastructureWaits(st *fleetstate.State, c *fleetstate.Cluster, group string) bool {
	s := c.Member.Provision
	if group != provision.Group || !c.IsRetired() || s == nil || !s.Deletes {
		return false
	}
	isElse := func(a facts.Application) bool { return a.Cluster == c.Member.Name && a.Group != provision.Group }
	releases, _ := st.Facts().HelmReleases()
	return DeletionOfRetired(st.Fleet, c.Member, group) != fleet.Cascade ||
		slices.ContainsFunc(st.Facts().ApplicationsOf(c.Member.Name), isElse) || slices.ContainsFunc(releases, isElse)
}

// NeedsApproval reports whether a removal needs an approval although the member file says that the
// member retires: its cluster is deleted (C3).
func (r Removal) NeedsApproval() bool {
	return r.Reason != Retired || r.Group == provision.Group && r.Deletion == fleet.Cascade
}
