package plan

import (
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Hold is a manual hold that the change adds, changes or removes, or that keeps changes of the plan
// from happening.
type Hold struct {
	Name   string `json:"name"`
	Owner  string `json:"owner"`
	Reason string `json:"reason"`
	// Until is its last day.
	Until string `json:"until"`
	// Action is absent if the change leaves the hold as it is.
	Action Action `json:"action,omitempty" jsonschema:"enum=create,enum=change,enum=remove"`
	// HasEnded means that its last day is over.
	HasEnded bool `json:"ended,omitempty"`
	// Cells counts the components of the hub's clusters that it covers, at the base or at the head.
	Cells int `json:"cells"`
	// Changes counts the changes of the plan that it keeps from happening.
	Changes int `json:"changes"`
}

// AddHolds adds the holds to the plan, and marks the Applications that a hold of the head keeps as
// they are. A hold counts from its own commit on.
func (p *Plan) AddHolds(base, head *fleetstate.State, now time.Time) {
	x := holding{base: base, head: head, now: now}
	all := slices.Clone(head.Fleet.Holds)
	for _, h := range base.Fleet.Holds {
		if x.head.Resolver().Snapshot.File(h.Pos.File) == nil {
			all = append(all, h)
		}
	}
	if len(all) == 0 {
		return
	}
	after := inventory.Of(head)
	for i := range p.Hubs {
		hub := &p.Hubs[i]
		changes := x.mark(hub)
		for _, h := range all {
			action := x.actionOf(h)
			if action == "" && changes[h.Name] == 0 {
				continue
			}
			cells := x.removedCells(h, *hub)
			for _, inv := range after {
				if inv.Hub == hub.Name {
					cells += x.cells(h, inv)
				}
			}
			hub.Holds = append(hub.Holds, Hold{
				Name: h.Name, Owner: h.Owner, Reason: h.Reason, Until: h.LastDay,
				Action: action, HasEnded: h.EndedAt(now), Cells: cells, Changes: changes[h.Name],
			})
		}
	}
}

// holding is one AddHolds.
type holding struct {
	base, head *fleetstate.State
	now        time.Time
}

// actionOf returns what the change does to a hold.
func (x holding) actionOf(h *fleet.Hold) Action {
	was, is := x.base.Resolver().Snapshot.File(h.Pos.File), x.head.Resolver().Snapshot.File(h.Pos.File)
	switch {
	case was == nil:
		return Create
	case is == nil:
		return Remove
	case was.Digest != is.Digest:
		return Change
	}
	return ""
}

// mark names, for each Application that a hold keeps as it is, the hold that ends last. It returns
// how many each one keeps.
func (x holding) mark(hub *Hub) map[string]int {
	out := map[string]int{}
	for _, c := range hub.Clusters {
		for i := range c.Applications {
			var last *fleet.Hold
			for _, h := range x.head.Fleet.Holds {
				if a := c.Applications[i]; !h.EndedAt(x.now) && (last == nil || h.Ends().After(last.Ends())) && x.covers(h, hub.Name, c.Name, a.View, a.Group, a.Component) {
					last = h
				}
			}
			if last != nil {
				c.Applications[i].HeldBy = last.Name
				out[last.Name]++
			}
		}
	}
	return out
}

// cells counts the cells of a hub that a hold covers.
func (x holding) cells(h *fleet.Hold, inv inventory.Inventory) (n int) {
	for _, cluster := range inv.Names() {
		if !slices.ContainsFunc(x.members(inv.Hub, cluster), h.CoversMember) {
			continue
		}
		for _, a := range inv.Applications(cluster) {
			if !a.Unlisted && x.covers(h, inv.Hub, cluster, a.View, a.Group, a.Component) {
				n++
			}
		}
	}
	return n
}

// removedCells counts the cells that a hold covers and the head does not have.
func (x holding) removedCells(h *fleet.Hold, hub Hub) (n int) {
	for _, c := range hub.Clusters {
		for _, a := range c.Applications {
			if a.Action == Remove && x.covers(h, hub.Name, c.Name, a.View, a.Group, a.Component) {
				n++
			}
		}
	}
	return n
}

// covers reports whether a hold covers an Application of a cluster, by the member file of either
// state: a hold does not end by a change of labels.
func (x holding) covers(h *fleet.Hold, hub, cluster string, view query.View, group, component string) bool {
	return (view == query.Components || view == query.Members) &&
		slices.ContainsFunc(x.members(hub, cluster), func(m *fleet.Member) bool { return h.Covers(m, group, component) })
}

// members returns a cluster's member at the base and at the head.
func (x holding) members(hub, cluster string) []*fleet.Member {
	both := []*fleet.Member{x.base.Fleet.Member(hub, cluster), x.head.Fleet.Member(hub, cluster)}
	return slices.DeleteFunc(both, func(m *fleet.Member) bool { return m == nil })
}
