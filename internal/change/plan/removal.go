package plan

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// clusterCause is why a member of the base is no longer a hub's, and where that stands.
func (c *comparison) clusterCause(hub, name string) (Cause, problem.Pos) {
	if m := c.head.Fleet.Member(hub, name); m != nil {
		return Retired, m.KeyPos("lifecycle") // its file is there
	}
	for other, after := range c.after {
		if other == hub {
			continue
		}
		now, isThere := after.clusters[name]
		wasThere := false
		if before := c.before[other]; before != nil {
			_, wasThere = before.clusters[name]
		}
		if isThere && !wasThere && c.head.Fleet.HubMember(other) != nil { // a folder without a hub is a misspelt one
			return Moved, now.Member.Pos
		}
	}
	if was := c.before[hub].clusters[name].Member; was != nil {
		return Lost, was.Pos
	}
	return Lost, problem.Pos{}
}

// removal is an Application that is gone, with its cause.
func (c *comparison) removal(hub string, a inventory.Application, on Cluster) Application {
	out := newApplication(a, Remove)
	out.Cause, out.Deletion = on.Cause, fleet.Orphan
	switch {
	case a.View == query.Releases:
		out.Cause, out.Deletion = c.releaseCause(hub, a), ""
	case on.Action == Remove:
		out.Detail = "with its cluster"
		if on.Cause == Retired {
			out.Deletion = c.retirement(hub, a)
		}
	case a.View != query.Components:
		out.Cause, out.Position = Disabled, on.Member // a spoke became the hub's own, an agent is one no more
	default:
		c.componentCause(hub, a.Cluster, &out)
	}
	return out
}

// retirement is what becomes of what runs when the member retires: what registers it goes in any
// case, its agent stays.
func (c *comparison) retirement(hub string, a inventory.Application) string {
	switch a.View {
	case query.Members:
		return fleet.Cascade
	case query.Components:
		return lifecycle.DeletionOfRetired(c.head.Fleet, c.head.Fleet.Member(hub, a.Cluster), a.Group)
	}
	return fleet.Orphan
}

// componentCause is why a component no longer runs on a cluster that is still there.
func (c *comparison) componentCause(hub, cluster string, out *Application) {
	owner := c.head.Fleet.Member(hub, cluster).Owner(out.Group)
	d, err := lifecycle.RemovalsOf(c.head, query.Query{View: query.Components, Hub: hub, Group: out.Group, Owner: owner})
	if err != nil { // the group is in the layout no more
		out.Cause, out.Detail = Lost, "no catalog has it any more"
		return
	}
	why := d.Of(cluster, out.Component)
	out.Cause, out.Deletion, out.Detail, out.Position = why.Reason, why.Deletion, why.Detail, why.Pos
}

// releaseCause is why no cluster of the owner's is on a release any more: what the clusters that
// were on it have become.
func (c *comparison) releaseCause(hub string, a inventory.Application) Cause {
	causes := map[Cause]bool{}
	for _, name := range a.Clusters {
		m := c.head.Fleet.Member(hub, name)
		switch {
		case m == nil:
			cause, _ := c.clusterCause(hub, name)
			causes[cause] = true
		case m.Lifecycle == fleet.Retired:
			causes[Retired] = true
		case slices.Contains(c.head.Fleet.Layout.GroupNames(), a.Group):
			return Moved
		default:
			causes[Lost] = true
		}
	}
	for _, cause := range []Cause{Lost, Retired} {
		if causes[cause] {
			return cause
		}
	}
	return Moved
}
