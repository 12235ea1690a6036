package guard

import (
	"maps"
	"slices"
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
		if r.Deletion == fleet.Cascade && r.Component != fleetstate.Registration && r.Component != fleetstate.Agent {
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

// unrecorded returns what the members of a hub had, where there is no record of it: what the state
// gives them, and the Applications that retired members still have. It is nil if those have none.
func unrecorded(st *fleetstate.State, hub string, after *holdings) *holdings {
	out := *after
	out.byCluster = maps.Clone(after.byCluster)
	for _, c := range st.ClustersOf(hub) {
		if !c.IsRetired() {
			continue
		}
		name := c.Member.Name
		all := []lifecycle.Holding{{Cluster: name, Group: fleetstate.FleetGroup, Component: fleetstate.Registration, Source: c.Member.Tenant}}
		for _, a := range st.Facts().ApplicationsOf(name) {
			if a.Component != "" && !a.Grant {
				all = append(all, lifecycle.Holding{Cluster: name, Group: a.Group, Component: a.Component})
			}
		}
		if len(all) > 1 {
			slices.SortFunc(all, lifecycle.Holding.Compare)
			out.byCluster[name] = all
		}
	}
	if len(out.byCluster) == len(after.byCluster) {
		return nil
	}
	return &out
}
