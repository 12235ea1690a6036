package fleet

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Guard is the layout's removal budget and the folder of approvals.
type Guard struct {
	// MaxRemovals is how many members one response may remove something from without approval.
	MaxRemovals Budget
	// Window is how long the removals of one response count against the budget of the next ones,
	// where the facts have no Applications. Zero gives each response the whole budget.
	Window time.Duration
	// Approvals is the folder of approvals.
	Approvals string
}

// Budget is a number of members, or a share of them. The zero value allows no removal.
type Budget struct {
	members int // where percent is 0
	percent int
}

// budgetForm is the form of a budget. Percentages are whole numbers.
var budgetForm = regexp.MustCompile(`^(\d{1,9})(%?)$`)

// UnmarshalText reads "3" or "10%".
func (b *Budget) UnmarshalText(text []byte) error {
	m := budgetForm.FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q; expected a number of members, or a whole percentage such as \"10%%\"", text)
	}
	n, err := strconv.Atoi(string(m[1]))
	switch {
	case err != nil:
		return err
	case len(m[2]) == 0:
		*b = Budget{members: n}
	case n > 100:
		return fmt.Errorf("%q; expected at most \"100%%\"", text)
	default:
		*b = Budget{percent: n}
	}
	return nil
}

// Of returns how many members of a total may lose something without approval. A share is rounded
// down, but is at least one member unless it is 0%. Rounding down keeps a removal allowed until it
// is done: the share never falls by more than the members already removed.
func (b Budget) Of(members int) int {
	if b.percent == 0 {
		return b.members
	}
	return max(1, members*b.percent/100)
}

// String returns the budget in the form of the layout.
func (b Budget) String() string {
	if b.percent == 0 {
		return strconv.Itoa(b.members)
	}
	return strconv.Itoa(b.percent) + "%"
}
