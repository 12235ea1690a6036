package guard

import (
	"maps"
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// terms are what the next commit is judged by besides its own files (rule 14).
type terms struct {
	// Revision is the commit's, and Rules are its own and those of the commit before.
	Revision string         `json:"revision"`
	Rules    [2]fleet.Guard `json:"rules"`
	// Refused may not be lost without approval, sorted.
	Refused []holdingKey `json:"refused,omitempty"`
}

// next returns the terms of a commit. A state of the same commit, with other facts, has the same.
func (t terms) next(st *fleetstate.State) terms {
	own := st.Fleet.Layout.Guard
	out := terms{Revision: st.Revision, Rules: [2]fleet.Guard{own, own}}
	switch t.Revision {
	case "":
	case st.Revision:
		out.Rules[1] = t.Rules[1]
	default:
		out.Rules[1] = t.Rules[0]
	}
	return out
}

// equal reports whether two are the same.
func (t terms) equal(other terms) bool {
	return t.Revision == other.Revision && t.Rules == other.Rules && slices.Equal(t.Refused, other.Refused)
}

// budget returns how many of some members may lose something without approval.
func (t terms) budget(members int) int {
	return min(t.Rules[0].MaxRemovals.Of(members), t.Rules[1].MaxRemovals.Of(members))
}

// window is how long removals without approval count.
func (t terms) window() time.Duration { return max(t.Rules[0].Window, t.Rules[1].Window) }

// earlier says why something may not be lost that an earlier commit was refused to remove.
const earlier = "an earlier commit that removes it was refused; that needs an approval"

// refusedBefore reports whether a loss was refused before. Applications without labels are those of
// a registration.
func (c *commit) refusedBefore(r lifecycle.Removal) bool {
	key := keyOfRemoval(r)
	if r.Component == "" {
		key = holdingKey{r.Cluster, fleetstate.FleetGroup, fleetstate.Registration}
	}
	return c.stays[key]
}

// stayHeld adds the tenants that are held and of which a commit would remove what was refused.
func (c *commit) stayHeld(previous *fleetstate.State, hub string) {
	if previous == nil {
		return
	}
	for _, h := range previous.Holds(hub) {
		refused := slices.ContainsFunc(c.unapproved, func(r lifecycle.Removal) bool {
			return slices.Contains(h.Members, r.Cluster) && c.refusedBefore(r)
		})
		if refused && h.Reason == "" && c.tenants[h.Tenant] == "" {
			c.tenants[h.Tenant] = h.Message
		}
	}
}

// keepRefused is what of the refused losses the next commit may not remove either: those of now, and
// those before of members that cannot be read, or are held: they want nothing back.
func (c *commit) keepRefused(st *fleetstate.State, hub string, refused map[holdingKey]bool) []holdingKey {
	out := map[holdingKey]bool{}
	for key, is := range refused {
		if is {
			out[key] = true
		}
	}
	held := map[string]bool{}
	for _, h := range st.Holds(hub) {
		for _, member := range h.Members {
			held[member] = h.Reason == ""
		}
	}
	for cluster, all := range c.before.byCluster {
		x := st.Cluster(hub, cluster)
		if x == nil || x.LastKnownGood == nil && len(x.Errors()) == 0 {
			continue
		}
		wanted, known := lifecycle.Holdings(st, x.Desired())
		for _, h := range all {
			key := keyOfHolding(h)
			gone := known && held[cluster] && !slices.ContainsFunc(wanted, func(w lifecycle.Holding) bool { return keyOfHolding(w) == key })
			if gone || c.stays[key] {
				out[key] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(out), func(a, b holdingKey) int { return slices.Compare(a[:], b[:]) })
}
