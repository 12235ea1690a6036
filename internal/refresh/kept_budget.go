package refresh

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// What last known good snapshots take in memory and in the store has a budget (rule 13). A tenant
// whose members break one after another would keep a snapshot for each of them.

// maxKept bounds all last known good snapshots in bytes, and tenantShare is the part of it that one
// tenant's may take.
const (
	maxKept     = 256 << 20
	tenantShare = 4
)

// What a file of a last known good snapshot costs: its place in the snapshot's lists, and a part of
// its content, which the store compresses, if the served snapshot has the same file.
const (
	costPlace  = 150
	sharedPart = 4
)

// keptBudget is the budget of all last known good snapshots.
func keptBudget() int { return budget.MemoryShare(maxKept, 10) }

// keptHolds returns the tenants to hold because of what their members' last known good snapshots
// take: those beyond their share, and all that have any when the budget is used up.
func keptHolds(st *fleetstate.State, most int) []fleetstate.Hold {
	type owner struct{ hub, tenant string }
	snapshots := map[owner]map[*snapshot.Snapshot]bool{}
	costs, sum := map[*snapshot.Snapshot]int{}, 0
	for id, good := range st.LastKnownGood() {
		name, _, _ := strings.Cut(id.Name, " ") // a component's has more
		c := st.Cluster(id.Hub, name)
		if good == nil || c == nil || c.Member.IsHub || c.Member.Tenant == "" {
			continue
		}
		if _, counted := costs[good]; !counted {
			costs[good] = costOf(good, st.Resolver().Snapshot)
			sum += costs[good]
		}
		of := owner{id.Hub, c.Member.Tenant}
		if snapshots[of] == nil {
			snapshots[of] = map[*snapshot.Snapshot]bool{}
		}
		snapshots[of][good] = true
	}
	var out []fleetstate.Hold
	for of, own := range snapshots {
		cost := 0
		for good := range own {
			cost += costs[good]
		}
		if cost <= most/tenantShare && sum <= most {
			continue
		}
		h := fleetstate.Hold{Hub: of.hub, Tenant: of.tenant, Reason: problem.TenantBudget, Message: fmt.Sprintf(
			"the last known good snapshots of its members take more than the %d bytes of a tenant, or those of all tenants more than %d", most/tenantShare, most)}
		for _, m := range st.Fleet.Members(of.hub) {
			if !m.IsHub && m.Tenant == of.tenant {
				h.Members = append(h.Members, m.Name)
			}
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b fleetstate.Hold) int { return strings.Compare(a.Hub+" "+a.Tenant, b.Hub+" "+b.Tenant) })
	return out
}

// costOf is what a last known good snapshot takes beside the served one.
func costOf(good, served *snapshot.Snapshot) int {
	cost := 0
	for _, f := range good.FilesUnder("") {
		cost += costPlace + len(f.Data)/sharedPart
	}
	for _, p := range snapshot.Changed(served, good) {
		if f := good.File(p); f != nil {
			cost += len(f.Data) - len(f.Data)/sharedPart
		}
	}
	return cost
}

// mergeHolds adds the tenants of others that the first do not have.
func mergeHolds(first, others []fleetstate.Hold) []fleetstate.Hold {
	return append(first, slices.DeleteFunc(slices.Clone(others), func(h fleetstate.Hold) bool {
		return slices.ContainsFunc(first, func(o fleetstate.Hold) bool { return o.Hub == h.Hub && o.Tenant == h.Tenant })
	})...)
}

// share has files that another snapshot has, too, be the same in memory.
func share(files map[string]*snapshot.File, other *snapshot.Snapshot) {
	for _, p := range slices.Collect(maps.Keys(files)) {
		if f := other.File(p); f != nil && f.Path == p && f.Digest == files[p].Digest && f.Err == nil && files[p].Err == nil {
			files[p] = f
		}
	}
}
