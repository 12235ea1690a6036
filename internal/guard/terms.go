package guard

import (
	"cmp"
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
	// Patterns are the approvals by a pattern of members, with the revision that brought each.
	Patterns map[string]string `json:"patterns,omitempty"`
	// Refused may not be lost without approval, sorted. A record marks them among its items.
	Refused []holdingKey `json:"-"`
}

// refusedMark begins an item's source, as no path does.
const refusedMark = "//"

func compareKeys(a, b holdingKey) int { return slices.Compare(a[:], b[:]) }

// next returns the terms of a commit. A state of the same commit, with other facts, has the same.
func (t terms) next(st *fleetstate.State) terms {
	own := st.Fleet.Layout.Guard
	out := terms{Revision: st.Revision, Rules: [2]fleet.Guard{own, own}, Patterns: map[string]string{}}
	for _, a := range st.Fleet.Approvals {
		for _, item := range a.Removals {
			if key := a.Text(item); item.IsPattern() {
				out.Patterns[key] = cmp.Or(t.Patterns[key], st.Revision)
			}
		}
	}
	if t.Revision == st.Revision {
		out.Rules[1] = t.Rules[1]
	} else if t.Revision != "" {
		out.Rules[1] = t.Rules[0]
	}
	return out
}

// approvals returns what a state approves: by name at once, by a pattern from the next commit on.
func (t terms) approvals(st *fleetstate.State) []fleet.Approval {
	out := slices.Clone(st.Fleet.Approvals)
	for i, a := range out {
		out[i].Removals = slices.DeleteFunc(slices.Clone(a.Removals), func(item fleet.ApprovedRemoval) bool {
			return item.IsPattern() && t.Patterns[a.Text(item)] == st.Revision
		})
	}
	return out
}

// equal reports whether two are the same for the next commit.
func (t terms) equal(other terms) bool {
	return t.Rules == other.Rules && (t.Revision == other.Revision || t.Rules[0] == t.Rules[1]) && slices.Equal(t.Refused, other.Refused) && maps.Equal(t.Patterns, other.Patterns)
}

// budget returns how many of some members may lose something without approval.
func (t terms) budget(members int) int {
	return min(t.Rules[0].MaxRemovals.Of(members), t.Rules[1].MaxRemovals.Of(members))
}

// window is how long removals without approval count.
func (t terms) window() time.Duration { return max(t.Rules[0].Window, t.Rules[1].Window) }

// earlier says why something may not be lost that an earlier commit was refused to remove.
const earlier = "an earlier commit that removes it was refused; that needs an approval"

// stayHeld adds the tenants that are held and of which a commit would remove what was refused.
func (c *commit) stayHeld(previous *fleetstate.State, hub string) {
	if previous == nil {
		return
	}
	for _, h := range previous.Holds(hub) {
		refused := slices.ContainsFunc(c.unapproved, func(r lifecycle.Removal) bool {
			return slices.Contains(h.Members, r.Cluster) && c.stays[keyOfRemoval(r)]
		})
		if refused && h.Reason == "" && c.tenants[h.Tenant] == "" {
			c.tenants[h.Tenant] = h.Message
		}
	}
}

// keepRefused returns the refused losses that the next commit may not make either: those of this
// commit, and earlier ones of members that cannot be read or are held, which ask for nothing back.
func (c *commit) keepRefused(st *fleetstate.State, hub string) []holdingKey {
	out := maps.Clone(c.refused)
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
	return slices.SortedFunc(maps.Keys(out), compareKeys)
}
