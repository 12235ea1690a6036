package paramset

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// GrantSet is one element of the answer to view grants.
type GrantSet struct {
	Common
	Group    string `json:"group"`
	Engine   string `json:"engine"`
	Deletion string `json:"deletion"`
	// Rings are the revisions that the member follows in rollouts, as rollout.Announcement.
	Rings string `json:"rings"`
}

// grantSets are one set per group that a member's own engine is to have, as soon as the hub's has
// nothing of it any more.
func grantSets(st *fleetstate.State, q query.Checked) ([]Set, []problem.Problem) {
	clusters, problems := queriedClusters(st, q)
	var sets []Set
	for _, c := range clusters {
		if !c.Registered || !c.Member.Remote {
			continue
		}
		for _, group := range st.Groups() {
			if c.Member.Owner(group) != c.Member.Name || !lifecycle.IsGranted(st, c, group) && lifecycle.HubDeploys(st, c, group) {
				continue
			}
			sets = append(sets, &GrantSet{
				Common: commonOf(c, catalog.ApplicationName(catalog.GrantPrefix+"-"+group, c.Member.Name)), Group: group, Engine: c.Member.Engine,
				// Always: the Application is to stay until its ConfigMap has gone, and that is all
				// it runs.
				Deletion: fleet.Cascade,
			})
		}
	}
	return sets, problems
}
