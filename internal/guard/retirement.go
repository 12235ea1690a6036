package guard

import (
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// manyRetire says why members that retire with their workloads stay.
const manyRetire = "several members would be removed with their workloads; that needs an approval that names each"

// judgeRetirements finds the members that their own files do not retire: several retire by this
// commit, or an earlier commit was refused to retire them. With their workloads, each of them needs
// an approval that names it.
func (c *commit) judgeRetirements(f *fleet.Fleet, hub string, removals []lifecycle.Removal, now time.Time) {
	isNew, cascades := map[string]bool{}, map[string]bool{}
	for _, r := range removals {
		switch {
		case r.Reason != lifecycle.Retired:
			continue
		case c.stays[holdingKey{r.Cluster, fleetstate.FleetGroup, fleetstate.Registration}]:
			c.retiring[r.Cluster] = true
		default:
			isNew[r.Cluster] = true
		}
		if r.Deletion == fleet.Cascade && r.Component != fleetstate.Registration {
			cascades[r.Cluster] = true
		}
	}
	if len(isNew) > 1 {
		for cluster := range isNew {
			c.retiring[cluster] = true
		}
	}
	for _, r := range removals {
		if c.retiring[r.Cluster] && cascades[r.Cluster] && !c.isNamed(fleet.Approval.NamesMember, f, hub, r, now) {
			c.named[keyOfRemoval(r)] = manyRetire
		}
	}
}
