package fleetstate

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/placement"
)

// A tenant's members have a budget in all (W2). Beyond it they are quarantined with one problem,
// and not computed. The verdict stays as long as nothing changes that they read.

// tenantBudgets are the ledgers of tenants while a State is built.
type tenantBudgets struct {
	ledgers map[string]*budget.Ledger
	members map[string][]*fleet.Member // of those with members to be computed, in the State's order
	due     map[*fleet.Member]int      // the places in their ledgers of those to be computed
}

// openTenants makes the ledgers. That of a tenant stays if all members are taken over. A tenant
// beyond its budget is counted again as a whole: its members that were taken over are returned.
func (st *State) openTenants(previous *State) (t *tenantBudgets, over []anew) {
	t = &tenantBudgets{ledgers: map[string]*budget.Ledger{}, members: map[string][]*fleet.Member{}, due: map[*fleet.Member]int{}}
	isDue := map[string]bool{}
	for m, c := range st.Clusters() {
		if hasBudget(m) {
			t.members[m.Tenant] = append(t.members[m.Tenant], m)
			isDue[m.Tenant] = isDue[m.Tenant] || c == nil
		}
	}
	for tenant, members := range t.members {
		if previous != nil && !isDue[tenant] && previous.tenants[tenant].Members() == len(members) {
			t.ledgers[tenant] = previous.tenants[tenant]
			delete(t.members, tenant)
			continue
		}
		t.ledgers[tenant] = budget.NewLedger(tenant, len(members))
		for i, m := range members {
			switch c := st.ClusterOf(m); {
			case c == nil:
				t.due[m] = i
			case c.Desired().IsOverBudget:
				at, _ := st.Fleet.Place(m.Hub, m.Name)
				over = append(over, anew{member: m, at: at, place: c.Desired().placement})
				st.clusters[m.Hub][at], t.due[m] = nil, i
			default:
				t.ledgers[tenant].Enter(i, c.Desired().account)
			}
		}
	}
	return t, over
}

// hasBudget reports whether a member is a tenant's.
func hasBudget(m *fleet.Member) bool { return !m.IsHub && m.Tenant != "" }

// of is the ledger of a member's tenant, nil for none.
func (t *tenantBudgets) of(m *fleet.Member) *budget.Ledger {
	if !hasBudget(m) {
		return nil
	}
	return t.ledgers[m.Tenant]
}

// closeTenants quarantines the members of tenants beyond their budget. It returns all members whose
// clusters are not taken over.
func (st *State) closeTenants(t *tenantBudgets, p *history, computed []anew) []anew {
	st.tenants = t.ledgers
	for _, tenant := range slices.Sorted(maps.Keys(t.members)) {
		excess, found := t.ledgers[tenant].Problem()
		if !found || excess.Severity != problem.Error {
			continue
		}
		for _, m := range t.members[tenant] {
			at, _ := st.Fleet.Place(m.Hub, m.Name)
			c := st.clusters[m.Hub][at]
			if _, due := t.due[m]; !due {
				computed = append(computed, anew{m, at, c.Desired().placement})
			}
			st.clusters[m.Hub][at] = p.settle(st.overBudget(m, c, excess))
		}
	}
	return computed
}

// overBudget is the cluster of a member whose tenant exceeds its budget, computed or not (nil).
func (st *State) overBudget(m *fleet.Member, computed *Cluster, excess problem.Problem) *Cluster {
	c := &Cluster{Member: m, Groups: map[string]*Group{}, account: budget.NewAccount(m.Name), IsOverBudget: true}
	c.Facts, c.Registered = st.facts.Of(m.Name)
	if computed != nil {
		c.account, c.placement = computed.Desired().account, computed.Desired().placement
	} else if len(problem.Errors(m.Problems)) == 0 {
		c.placement = placement.New(st.Fleet, st.resolver.Mounts, m, c.Facts)
	}
	c.Broken = c.Attribute([]problem.Problem{excess})
	c.Problems = c.Broken
	return c
}

// TenantProblems are warnings about tenants that are near to their budgets, by tenant.
func (st *State) TenantProblems() []problem.Problem {
	var out []problem.Problem
	for _, tenant := range slices.Sorted(maps.Keys(st.tenants)) {
		if p, found := st.tenants[tenant].Problem(); found && p.Severity == problem.Warning {
			out = append(out, p)
		}
	}
	return out
}
