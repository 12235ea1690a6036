package fleetstate

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
)

// A tenant's members have a budget in all (W2). Beyond it all of them are quarantined with one
// problem, and those that need not be computed to know so are not. What a member would be is then
// not known: its Cluster holds the problem alone, whichever of them have been computed.

// tenantBudgets are the ledgers of tenants while a State is built.
type tenantBudgets struct {
	ledgers map[string]*budget.Ledger
	members map[string][]*fleet.Member // by tenant, in the State's order
	due     map[*fleet.Member]int      // the places in their ledgers of those to be computed
}

// openTenants makes the ledgers, and enters the clusters that are taken over.
func (st *State) openTenants(anew []anew) *tenantBudgets {
	t := &tenantBudgets{ledgers: map[string]*budget.Ledger{}, members: map[string][]*fleet.Member{}, due: make(map[*fleet.Member]int, len(anew))}
	for m := range st.Clusters() {
		if hasBudget(m) {
			t.members[m.Tenant] = append(t.members[m.Tenant], m)
		}
	}
	for tenant, members := range t.members {
		l := budget.NewLedger(tenant, len(members))
		t.ledgers[tenant] = l
		for i, m := range members {
			if c := st.ClusterOf(m); c != nil {
				l.Enter(i, c.Desired().account)
			} else {
				t.due[m] = i
			}
		}
	}
	return t
}

// hasBudget reports whether a member is a tenant's.
func hasBudget(m *fleet.Member) bool { return !m.IsHub && m.Tenant != "" }

// areDecided reports whether it is known without a member that its tenant exceeds the budget.
func (t *tenantBudgets) areDecided(m *fleet.Member) bool {
	return hasBudget(m) && t.ledgers[m.Tenant].IsDecided(t.due[m])
}

// enter puts a computed member's account down.
func (t *tenantBudgets) enter(c *Cluster) {
	if m := c.Member; hasBudget(m) {
		t.ledgers[m.Tenant].Enter(t.due[m], c.account)
	}
}

// closeTenants quarantines the members of tenants beyond their budget. It returns all members whose
// clusters are not taken over.
func (st *State) closeTenants(t *tenantBudgets, p *history, computed []anew) []anew {
	st.tenants = t.ledgers
	for _, tenant := range slices.Sorted(maps.Keys(t.ledgers)) {
		excess, found := t.ledgers[tenant].Problem()
		if !found || excess.Severity != problem.Error {
			continue
		}
		for _, m := range t.members[tenant] {
			at, _ := st.Fleet.Place(m.Hub, m.Name)
			if _, due := t.due[m]; !due {
				computed = append(computed, anew{member: m, at: at, place: st.clusters[m.Hub][at].Desired().placement})
			}
			st.clusters[m.Hub][at] = p.settle(st.overBudget(m, excess))
		}
	}
	return computed
}

// overBudget is the cluster of a member whose tenant exceeds its budget.
func (st *State) overBudget(m *fleet.Member, excess problem.Problem) *Cluster {
	c := &Cluster{Member: m, Groups: map[string]*Group{}, account: budget.NewAccount(m.Name), IsOverBudget: true}
	c.Facts, c.Registered = st.facts.Of(m.Name)
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

// chargeKept charges the layers of a tenant's levels that a cluster keeps in memory.
func (b *Resolver) chargeKept(c *Cluster, layers []hierarchy.Layer) error {
	for _, l := range layers {
		if b.Fleet.Layout.OfTenant(l.Level) {
			if err := c.account.Charge(problem.Pos{File: l.Path}, budget.Cost{budget.Kept: l.Nodes}); err != nil {
				return err
			}
		}
	}
	return nil
}
