package guard

import (
	"context"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// A tenant whose removals are refused is held: its members are served from their last known good
// snapshots, and all others go on (rule 13). The state before says what the tenant's own folders
// held: what would not be lost with these is the tenant's own doing.

// Await waits until the last responses have been read, which Holds compares with. It returns false
// if the context ends before.
func (g *Guard) Await(ctx context.Context) bool { return g.baselines.checkpoint.AwaitLoaded(ctx) }

// Holds returns the tenants of which a state would remove more than it may. Previous is the state
// that is served now; it may be nil. Nothing is remembered: the state may never be served.
func (g *Guard) Holds(previous, desired *fleetstate.State) []fleetstate.Hold {
	if previous == nil || !g.baselines.isReady() {
		return nil
	}
	g.commits.mu.Lock()
	_, before, earlier := g.commitBaseline(g.o.Hub)
	g.commits.mu.Unlock()
	c := judgeCommit(desired, previous, g.o.Hub, before, earlier, g.o.IsServed, g.o.Now())
	holds := c.holds(desired, previous, g.o.Hub)
	for _, h := range holds {
		if !slices.ContainsFunc(previous.Holds(h.Hub), h.Equal) {
			all := slices.DeleteFunc(slices.Clone(c.unapproved), func(r lifecycle.Removal) bool { return !slices.Contains(h.Members, r.Cluster) })
			g.o.Logger.Error("a tenant's removals are refused; its members keep their last known good snapshots until a commit approves them",
				"tenant", h.Tenant, "hub", h.Hub, "revision", desired.Revision, "refusal", h.Message, "losses", listed(all))
		}
	}
	return holds
}

// holds returns the tenants to hold. While nothing of the whole hub is removed, a tenant is held
// only for its own doing, or if it was held before: nobody else's commit may change whom it is
// served from.
func (c *commit) holds(desired, previous *fleetstate.State, hub string) []fleetstate.Hold {
	var out []fleetstate.Hold
	losing := clustersOf(c.unapproved)
	for _, tenant := range slices.Sorted(maps.Keys(c.tenants)) {
		wasHeld := slices.ContainsFunc(previous.Holds(hub), func(h fleetstate.Hold) bool { return h.Tenant == tenant })
		if c.whole != "" && !c.ownDoing[tenant] && !wasHeld {
			continue
		}
		h := fleetstate.Hold{Hub: hub, Tenant: tenant, Message: c.tenants[tenant]}
		helps := false
		for _, cluster := range slices.Sorted(maps.Keys(c.before.byCluster)) {
			if of, _ := c.before.tenantOf(cluster); of == tenant && desired.Cluster(hub, cluster) != nil {
				h.Members = append(h.Members, cluster)
				helps = helps || losing[cluster]
			}
		}
		if helps { // a member whose file is gone cannot be held
			out = append(out, h)
		}
	}
	return out
}

// ownLosses returns what is lost without approval because of files in the folders of the members'
// own tenants: with those that the previous state served these members from, it would not be, or
// the members could not be computed, and would lose nothing.
func (c *commit) ownLosses(st, previous *fleetstate.State, hub string) map[holdingKey]bool {
	out := map[holdingKey]bool{}
	if previous == nil {
		return out
	}
	former := map[string]*snapshot.Snapshot{}
	for _, cluster := range slices.Sorted(maps.Keys(clustersOf(c.unapproved))) {
		was, now := previous.Cluster(hub, cluster), st.Cluster(hub, cluster)
		if was == nil || now == nil {
			continue
		}
		good := previous.ResolverOf(was).Snapshot
		for _, x := range []*fleetstate.Cluster{was, now.Desired()} {
			for _, dir := range st.TenantFolders(x) {
				former[dir] = good
			}
		}
	}
	files := st.Resolver().Snapshot.WithFolders(former)
	if len(snapshot.Changed(st.Resolver().Snapshot, files)) == 0 {
		return out
	}
	without, err := fleetstate.Build(st, files, st.Facts())
	if err != nil {
		return out
	}
	for _, r := range c.unapproved {
		if x := without.Cluster(hub, r.Cluster); x != nil {
			all, _ := lifecycle.Holdings(without, x)
			key := keyOfRemoval(r)
			out[key] = len(x.Errors()) > 0 || slices.ContainsFunc(all, func(h lifecycle.Holding) bool {
				return keyOfHolding(h) == key && !slices.ContainsFunc(c.before.byCluster[r.Cluster], func(was lifecycle.Holding) bool {
					return keyOfHolding(was) == key && was.IsReplacedBy(h)
				})
			})
		}
	}
	return out
}
