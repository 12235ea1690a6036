package budget

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Account counts what computing one member costs. One goroutine at a time may charge it. A nil
// Account counts nothing and has no limit.
type Account struct {
	member string
	spent  Cost
	// top is the place of the most expensive single charge, and share its part of the limit.
	top   problem.Pos
	share int
}

// NewAccount makes the account of a member.
func NewAccount(member string) *Account { return &Account{member: member} }

// Charge adds a cost that a place causes. The error, a problem.Problem, means that the member
// exceeds its limit: nothing more is to be computed for it.
func (a *Account) Charge(at problem.Pos, c Cost) error {
	if a == nil {
		return nil
	}
	a.spent = a.spent.plus(c)
	const fine = 1_000_000 // charges are small parts of the limit
	for k := range c {
		if share := c[k] * fine / limits[k].member; share > a.share || a.top.IsZero() {
			a.top, a.share = at, share
		}
	}
	return a.Exceeded()
}

// Exceeded is the problem of a member beyond its limit, else nil.
func (a *Account) Exceeded() error {
	if a == nil {
		return nil
	}
	limit := memberLimit()
	k, over := a.spent.exceeds(limit)
	if !over {
		return nil
	}
	return problem.Problem{
		Reason: problem.LimitExceeded, Severity: problem.Error, Pos: a.top, Subject: fmt.Sprintf("member %q", a.member),
		Found: "its files and templates take " + k.of(a.spent[k]) + " and more, the most here", Expected: "at most " + k.of(limit[k]) + " for a member",
	}
}
