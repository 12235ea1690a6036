package guard

import (
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// loss is what a response, or a commit, removes.
type loss struct {
	// members have something, losing of them lose something without approval, and allowed may.
	members, losing, allowed int
	// unapproved and approved are sorted by cluster, group and component.
	unapproved, approved []lifecycle.Removal
	// moves are what another owner or release answers from now on: nothing is lost.
	moves []lifecycle.Removal
	// until is when the first approval that counts ends; zero without one.
	until time.Time
}

// isOverBudget reports whether more members lose something than the budget allows.
func (l loss) isOverBudget() bool { return l.losing > l.allowed }

// isRefused reports whether a loss may not be, whatever its commit does else: it is over the
// budget, or deletes a cluster without an approval.
func (l loss) isRefused() bool {
	return l.isOverBudget() || slices.ContainsFunc(l.unapproved, deletesCluster)
}

// lossOf sorts removals by their approval (rule 3).
func (c *commit) lossOf(f *fleet.Fleet, hub string, removals []lifecycle.Removal, now time.Time) loss {
	var out loss
	for _, r := range removals {
		switch {
		case r.Reason == lifecycle.Moved:
			out.moves = append(out.moves, r)
		case !r.NeedsApproval() && !c.retiring[r.Cluster]:
			out.approved = append(out.approved, r)
		default:
			ends, approved := c.approvedUntil(f, hub, r, now)
			if !approved {
				out.unapproved = append(out.unapproved, r)
				continue
			}
			out.approved = append(out.approved, r)
			if out.until.IsZero() || ends.Before(out.until) {
				out.until = ends
			}
		}
	}
	out.losing = len(clustersOf(out.unapproved))
	return out
}

// count counts the members of a response's baseline, and how many of them may lose something.
func (l loss) count(baseline []lifecycle.Item, budget func(members int) int) loss {
	members := clustersOf(slices.Concat(l.unapproved, l.approved, l.moves))
	for _, i := range baseline {
		members[i.Cluster] = true
	}
	l.members, l.allowed = len(members), budget(len(members))
	return l
}

// clustersOf returns the clusters of removals.
func clustersOf(removals []lifecycle.Removal) map[string]bool {
	out := map[string]bool{}
	for _, r := range removals {
		out[r.Cluster] = true
	}
	return out
}
