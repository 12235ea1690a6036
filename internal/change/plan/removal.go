package plan

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// clusterCause returns why a member of the base no longer belongs to a hub, and the place of the
// cause.
func (c *comparison) clusterCause(hub, name string) (Cause, problem.Pos) {
	if m := c.head.Fleet.Member(hub, name); m != nil {
		return Retired, m.KeyPos("lifecycle") // its file still exists
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
		// A folder without a hub is misspelt.
		if isThere && !wasThere && c.head.Fleet.HubMember(other) != nil {
			return Moved, now.Member.Pos
		}
	}
	if was := c.before[hub].clusters[name].Member; was != nil {
		return Lost, was.Pos
	}
	return Lost, problem.Pos{}
}

// removal returns a removed Application with its cause.
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
		// A spoke became the hub's own cluster, or an agent no longer is one.
		out.Cause, out.Position = Disabled, on.Member
	default:
		c.componentCause(hub, a.Cluster, &out)
	}
	return out
}

// retirement returns what happens to the workloads when the member retires. Its registration is
// removed in any case; its agent stays.
func (c *comparison) retirement(hub string, a inventory.Application) string {
	switch a.View {
	case query.Members:
		return fleet.Cascade
	case query.Components:
		return lifecycle.DeletionOfRetired(c.head.Fleet, c.head.Fleet.Member(hub, a.Cluster), a.Group)
	}
	return fleet.Orphan
}

// componentCause sets why a component no longer runs on a cluster that still exists.
func (c *comparison) componentCause(hub, cluster string, out *Application) {
	owner := c.head.Fleet.Member(hub, cluster).Owner(out.Group)
	d, err := lifecycle.RemovalsOf(c.head, query.Query{View: query.Components, Hub: hub, Group: out.Group, Owner: owner})
	if err != nil { // the layout no longer has the group
		out.Cause, out.Detail = Lost, "no catalog has it any more"
		return
	}
	why := d.Of(cluster, out.Component)
	out.Cause, out.Deletion, out.Detail, out.Position = why.Reason, why.Deletion, why.Detail, why.Pos
}

// releaseCause returns why none of the owner's clusters is on a release any more: what its former
// clusters have become.
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
