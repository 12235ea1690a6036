package fleet

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Guard is what the layout says of removals (rule G3).
type Guard struct {
	// MaxRemovals is how many members may lose something in one answer without approval.
	MaxRemovals Budget
	// Window is how long what an answer has removed counts for the next ones, where nothing is
	// known of Applications; zero gives each answer the whole budget.
	Window time.Duration
	// Approvals is the folder of approvals.
	Approvals string
}

// maxWindow is the longest window.
const maxWindow = 30 * 24 * time.Hour

// Budget is a number of members, or a share of them. The zero value is none at all.
type Budget struct {
	members int // if it is no share
	percent int
}

// budgetForm is what a budget may be written as. Percentages are whole.
var budgetForm = regexp.MustCompile(`^(\d{1,9})(%?)$`)

// ParseBudget reads "3" or "10%".
func ParseBudget(text string) (Budget, error) {
	m := budgetForm.FindStringSubmatch(text)
	if m == nil {
		return Budget{}, fmt.Errorf("%q; expected a number of members, or a whole percentage such as \"10%%\"", text)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return Budget{}, err
	}
	if m[2] == "" {
		return Budget{members: n}, nil
	}
	if n > 100 {
		return Budget{}, fmt.Errorf("%q; expected at most \"100%%\"", text)
	}
	return Budget{percent: n}, nil
}

// Of is how many of so many members may lose something without approval. A share is rounded down,
// but is at least one member unless it is 0%. Rounded down, it never falls by more than the members
// that have gone already: what is allowed at first does not become too much half-way.
func (b Budget) Of(members int) int {
	if b.percent == 0 {
		return b.members
	}
	return max(1, members*b.percent/100)
}

// String is how the budget is written.
func (b Budget) String() string {
	if b.percent == 0 {
		return strconv.Itoa(b.members)
	}
	return strconv.Itoa(b.percent) + "%"
}

// guard reads what the layout says of removals; what it takes away by null is as by default.
func (p layoutParser) guard() Guard {
	m := p.root.Map("guard")
	m.Known("maxRemovals", "window", "approvals")
	out := Guard{MaxRemovals: Budget{percent: 10}, Approvals: "fleet/approvals"}
	if m.Has("window") {
		d, err := time.ParseDuration(m.String("window"))
		if err != nil || d < 0 || d > maxWindow {
			p.fail(m.Node().Get("window"), `key "window"`, fmt.Errorf("%q; expected a duration such as \"1h\", from 0s to %s", m.String("window"), maxWindow))
		} else {
			out.Window = d
		}
	}
	if m.Has("maxRemovals") {
		var err error
		if out.MaxRemovals, err = ParseBudget(m.String("maxRemovals")); err != nil {
			p.fail(m.Node().Get("maxRemovals"), `key "maxRemovals"`, err)
		}
	}
	if m.Has("approvals") {
		out.Approvals = p.path(m, "approvals")
	}
	return out
}
