package budget

import (
	"fmt"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// near is the part of a tenant's budget from which on a warning is given, in percent.
const near = 50

// Ledger sums the accounts of a tenant's members. Several goroutines may use it. A nil Ledger sums
// nothing.
type Ledger struct {
	tenant string
	limit  Cost

	mu       sync.Mutex
	accounts []*Account // in the members' order; nil for a member that is not computed
	total    Cost
}

// NewLedger makes the ledger of a tenant with a number of members.
func NewLedger(tenant string, members int) *Ledger {
	return &Ledger{tenant: tenant, limit: tenantLimit(members), accounts: make([]*Account, members)}
}

// Members is the number of the tenant's members, none for no ledger.
func (l *Ledger) Members() int {
	if l == nil {
		return 0
	}
	return len(l.accounts)
}

// Enter puts a member's account down, when the member has been computed.
func (l *Ledger) Enter(member int, a *Account) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accounts[member] = a
	l.total = l.total.plus(a.spent)
}

// IsDecided reports whether the members before this one exceed the budget by themselves: then this
// one need not be computed.
func (l *Ledger) IsDecided(member int) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, over := l.total.exceeds(l.limit); !over {
		return false
	}
	at, _ := l.sum()
	return at < member
}

// sum goes through the accounts up to the member that exceeds the budget; without one it returns
// the number of members. The caller holds the lock.
func (l *Ledger) sum() (at int, sum Cost) {
	for at, a := range l.accounts {
		if a == nil {
			continue
		}
		sum = sum.plus(a.spent)
		if _, over := sum.exceeds(l.limit); over {
			return at, sum
		}
	}
	return len(l.accounts), sum
}

// Problem is an error when the tenant exceeds its budget, and a warning when it is near to it. It
// is placed at the most expensive charge. All members that are not decided have been entered.
func (l *Ledger) Problem() (problem.Problem, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, sum := l.sum()
	p := problem.Problem{
		Reason: problem.TenantBudget, Severity: problem.Error, Pos: l.top(at), Subject: fmt.Sprintf("tenant %q", l.tenant),
		Hints: []string{"each of the tenant's members executes the templates and reads the files of its levels"},
	}
	if at < len(l.accounts) {
		k, _ := sum.exceeds(l.limit)
		p.Found = fmt.Sprintf("its members up to %q take %s, the most here", l.accounts[at].member, k.of(sum[k]))
		p.Expected = fmt.Sprintf("at most %s for %d members", k.of(l.limit[k]), len(l.accounts))
		return p, true
	}
	k, percent := sum.use(l.limit)
	p.Severity = problem.Warning
	p.Found = fmt.Sprintf("its members take %s, %d%% of the budget, the most here", k.of(sum[k]), percent)
	p.Expected = fmt.Sprintf("less than half of %d for %d members", l.limit[k], len(l.accounts))
	return p, percent >= near
}

// top is the place of the most expensive charge among the members up to one. The
// caller holds the lock.
func (l *Ledger) top(last int) (pos problem.Pos) {
	share := -1
	for _, a := range l.accounts[:min(last+1, len(l.accounts))] {
		if a != nil && a.share > share {
			pos, share = a.top, a.share
		}
	}
	return pos
}
