package fleet

import (
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/rollout"
)

// Guard is the layout's removal budget and the folder of approvals.
type Guard struct {
	// MaxRemovals is how many members one response may remove something from without approval: a
	// number of members, or a whole percentage such as 10%.
	MaxRemovals Budget `json:"maxRemovals,omitempty" expect:"a number of members, or a whole percentage such as \"10%\", at most \"100%\""`
	// Window is how long the removals of one response count against the budget of the next ones,
	// such as 1h, where the facts have no Applications. Zero gives each response the whole budget.
	Window time.Duration `json:"window,omitempty" longest:"720h"`
	// Approvals is the folder of approvals.
	Approvals string `json:"approvals,omitempty" is:"path"`
}

// Budget is a number of members, or a share of them. The zero value allows no removal.
type Budget struct{ rollout.Limit }

// MarshalText writes what UnmarshalText reads.
func (b Budget) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Of returns how many members of a total may lose something without approval. A share is rounded
// down, but is at least one member unless it is 0%. Rounding down keeps a removal allowed until it
// is done: the share never falls by more than the members already removed.
func (b Budget) Of(members int) int {
	if b.Percent == 0 {
		return b.Count
	}
	return max(1, b.Limit.Of(members))
}
