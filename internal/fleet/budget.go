package fleet

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Guard is the layout's removal budget and the place of approvals (G3).
type Guard struct {
	// MaxRemovals is how many members one response may remove something from without approval.
	MaxRemovals Budget
	// Window is how long the removals of one response count against the budget of the next ones,
	// where the facts have no Applications. Zero gives each response the whole budget.
	Window time.Duration
	// Approvals is the folder of approvals.
	Approvals string
}

// maxWindow is the longest window.
const maxWindow = 30 * 24 * time.Hour

// Budget is a number of members, or a share of them. The zero value allows no removal.
type Budget struct {
	members int // if it is no share
	percent int
}

// budgetForm is the form of a budget. Percentages are whole numbers.
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

// Of is how many members of a total the budget allows to lose something without approval. A share
// is rounded down, but is at least one member unless it is 0%. Rounding down keeps a removal
// allowed until it is done: the share never falls by more than the members already removed.
func (b Budget) Of(members int) int {
	if b.percent == 0 {
		return b.members
	}
	return max(1, members*b.percent/100)
}

// String is the budget in the form of the layout.
func (b Budget) String() string {
	if b.percent == 0 {
		return strconv.Itoa(b.members)
	}
	return strconv.Itoa(b.percent) + "%"
}

// guard reads the removal budget. A key that the layout sets to null has its default.
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
