package guard

import (
	"maps"
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Kept returns what a state may not remove or replace: it stays as it is served. It is over the
// budget, or needs an approval that names it.
func (g *Guard) Kept(st *fleetstate.State) (out []lifecycle.Item) {
	if !g.baselines.isReady() {
		return nil
	}
	for _, r := range g.commit(st, g.o.Hub).kept {
		out = append(out, lifecycle.Item{Cluster: r.Cluster, Group: r.Group, Component: r.Component})
	}
	return out
}

// keptRemoval is a removal that a commit may not make, and why.
type keptRemoval struct {
	lifecycle.Removal
	why string
}

// keep finds the removals that the commit may not make.
func (c *commit) keep() {
	add := func(r lifecycle.Removal, why string) {
		if why != "" {
			c.kept, c.refused[keyOfRemoval(r)] = append(c.kept, keptRemoval{r, why}), true
		}
	}
	for _, r := range c.unapproved {
		add(r, c.refuses(r, false))
	}
	for _, r := range c.approved {
		add(r, c.refuses(r, true))
	}
}

// reportKept lists what a judged state may not remove, by view and component, as long as the
// judgement says so.
func (g *Guard) reportKept(st *fleetstate.State, c *commit) {
	now, kept := g.o.Now(), map[queryKey]*RefusedRemoval{}
	for _, r := range c.kept {
		q := query.Query{View: query.Components, Hub: g.o.Hub, Group: r.Group, Component: r.Component}
		if r.Group == fleetstate.FleetGroup && r.Component == fleetstate.Registration {
			q = query.Query{View: query.Members, Hub: g.o.Hub}
		} else if r.Group == fleetstate.FleetGroup && r.Component == fleetstate.Agent {
			continue // its view is refused as a whole
		}
		key := keyOf(q, forHub)
		if kept[key] == nil {
			kept[key] = &RefusedRemoval{
				View: q.View, Hub: q.Hub, Group: q.Group, Component: q.Component, Message: budgetMessage(r.why),
				Revision: st.Revision, Since: now.UTC().Truncate(time.Millisecond), Members: c.members, Losing: c.losing, Allowed: c.allowed, IsHeld: true,
			}
		}
		kept[key].Removals = append(kept[key].Removals, r.Removal)
	}
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		x, all := kept[key], kept[key].Removals
		x.Removals = all[:min(len(all), maxRemovals)]
		if g.list(key, x) {
			g.o.Logger.Error("removals are beyond the budget; they are held as they are until a commit approves them",
				"view", x.View, "group", x.Group, "component", x.Component, "revision", st.Revision, "refusal", x.Message, "losses", listed(all))
		}
	}
	for _, x := range g.endKept(kept) {
		g.o.Logger.Info("held removals have ended", "view", x.View, "group", x.Group, "component", x.Component, "revision", st.Revision)
	}
}

// endKept takes what is kept no more from the list, and returns it.
func (g *Guard) endKept(kept map[queryKey]*RefusedRemoval) (out []*RefusedRemoval) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(g.refusals)) {
		if x := g.refusals[key]; x.IsHeld && kept[key] == nil {
			out = append(out, x)
			delete(g.refusals, key)
		}
	}
	return out
}

// heldByHand divides losses into those that happen now and those of cells that a manual hold keeps:
// these are judged when it ends.
func heldByHand(st *fleetstate.State, hub string, lost []lifecycle.Holding, now time.Time) (losses, held []lifecycle.Holding) {
	for _, h := range lost {
		m := st.Fleet.Member(hub, h.Cluster)
		if m != nil && slices.ContainsFunc(st.Fleet.Holds, func(file *fleet.Hold) bool {
			return !file.EndedAt(now) && file.Covers(m, h.Group, h.Component)
		}) {
			held = append(held, h)
		} else {
			losses = append(losses, h)
		}
	}
	return losses, held
}

// restore puts holdings of before into the place of those of now.
func (h *holdings) restore(all []lifecycle.Holding) {
	for _, one := range all {
		now := slices.DeleteFunc(slices.Clone(h.byCluster[one.Cluster]), func(x lifecycle.Holding) bool { return x.Compare(one) == 0 })
		h.byCluster[one.Cluster] = append(now, one)
		slices.SortFunc(h.byCluster[one.Cluster], lifecycle.Holding.Compare)
		delete(h.computed, one.Cluster)
	}
}
