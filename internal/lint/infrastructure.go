package lint

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/provision"
)

// infrastructure reports a retired member whose file wants its cluster deleted, which no approval
// names: the cluster stays, and goes on to cost (C3).
func (l *linter) infrastructure(c *fleetstate.Cluster) {
	m := c.Member
	if !c.IsRetired() || m.Provision == nil || !m.Provision.Deletes || lifecycle.DeletionOfRetired(l.st.Fleet, m, provision.Group) == fleet.Cascade {
		return
	}
	l.warn(c, problem.Problem{
		Reason: problem.InvalidProvision, Pos: m.KeyPos(provision.KeyInfrastructure), Subject: fmt.Sprintf("key %q", provision.KeyInfrastructure),
		Found:    "delete, and no approval names the cluster with its class: it stays",
		Expected: fmt.Sprintf("an approval with hub %s, clusters: [%s] and components: [%s/%s]", m.Hub, m.Name, provision.Group, m.Provision.Class),
	})
}
