package lint

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// infrastructure reports a retired member whose file wants its cluster deleted, but whose cluster
// stays and keeps costing: its own engine deploys to it, or no approval names it.
func (l *linter) infrastructure(c *fleetstate.Cluster) {
	m := c.Member
	if !c.IsRetired() || m.Provision == nil || !m.Provision.Deletes {
		return
	}
	stays := func(found, expected string) {
		l.warn(c, problem.Problem{
			Reason: problem.InvalidProvision, Pos: m.KeyPos(provision.KeyInfrastructure), Subject: fmt.Sprintf("key %q", provision.KeyInfrastructure),
			Found: found, Expected: expected,
		})
	}
	if group := m.OwnGroup(); group != "" {
		stays(fmt.Sprintf("delete, and the cluster's own engine deploys group %q, whose end the hub never sees: it stays", group),
			"lifecycle: active, until a commit without enable_remote_"+group+" has given the group back to the hub")
	}
	if !lifecycle.ApprovesDeletion(l.st.Fleet, m) {
		stays("delete, and no approval names the cluster with its class: it stays",
			fmt.Sprintf("an approval with hub %s, clusters: [%s] and components: [%s/%s]", m.Hub, m.Name, provision.Group, m.Provision.Class))
	}
}
