package fleetstate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Hold keeps members of a tenant on their last known good snapshots: the snapshot would remove or
// keep more of the tenant than it may (rule 8).
type Hold struct {
	Hub    string `json:"hub"`
	Tenant string `json:"tenant"`
	// Members are the names of the tenant's members.
	Members []string `json:"members"`
	// Message says what would be removed or kept, and why that is too much. Reason is its code.
	Message string         `json:"message"`
	Reason  problem.Reason `json:"reason,omitempty"`
}

// Equal reports whether two holds are the same.
func (h Hold) Equal(other Hold) bool {
	return h.Hub == other.Hub && h.Tenant == other.Tenant && h.Message == other.Message && slices.Equal(h.Members, other.Members)
}

// Holds are the tenants of a hub that are held, sorted. An empty hub means all.
func (st *State) Holds(hub string) []Hold {
	return slices.DeleteFunc(slices.Clone(st.holds), func(h Hold) bool { return hub != "" && h.Hub != hub })
}

// Hold returns the state with members of tenants as the previous state serves them, which may be
// nil. A member stays as it is if it is served from its last known good snapshot anyway, if it
// retires, or if nothing good is known of it. A tenant of which no member can be held is left out.
func (st *State) Hold(previous *State, holds []Hold) *State {
	return st.hold(newHistory(st, previous, nil), holds)
}

func (st *State) hold(p *history, holds []Hold) *State {
	out := *st
	out.clusters, out.holds = maps.Clone(st.clusters), nil
	var computed []anew
	for _, h := range holds {
		own := slices.Clone(out.clusters[h.Hub])
		isHeld := false
		for _, name := range h.Members {
			at, found := st.Fleet.Place(h.Hub, name)
			if !found {
				continue
			}
			if c := p.held(own[at], h); c != nil {
				own[at], isHeld = c, true
				computed = append(computed, anew{member: st.Fleet.Members(h.Hub)[at], at: at})
			}
		}
		if isHeld {
			out.clusters[h.Hub] = own
			out.holds = append(out.holds, h)
		}
	}
	if len(computed) == 0 {
		return st
	}
	out.exceptions = nil
	out.findExceptions(st, computed)
	out.collectProblems()
	out.groups, out.hubs = out.allGroups(), out.ownMembers()
	return &out
}

// held is a member's cluster by its last known good snapshot, nil if it stays as it is.
func (p *history) held(attempt *Cluster, h Hold) *Cluster {
	if attempt.LastKnownGood != nil || len(attempt.Errors()) > 0 || attempt.IsRetired() {
		return nil
	}
	last, good, _ := p.last(ID{h.Hub, attempt.Member.Name})
	if last == nil || last.IsRetired() {
		return nil
	}
	expected := "an approval, or what is removed back (docs/how-to/approve-a-removal.md)"
	if h.Reason != "" {
		expected = "the files of its members without errors"
	}
	c := *last
	c.desired, c.LastKnownGood, c.isHeld, c.HubProblems = attempt, good, true, nil
	c.Problems = attempt.Attribute([]problem.Problem{{
		Reason: cmp.Or(h.Reason, problem.RemovalRefused), Severity: problem.Error, Found: h.Message, Expected: expected,
	}})
	c.Hold = HeldFor(c.Problems[0].Reason)
	if was := p.previous(ID{h.Hub, attempt.Member.Name}); was != nil && was.isHeld && was.desired == attempt && problem.Same(was.Problems, c.Problems) {
		return was
	}
	return &c
}

// TenantFolders are the folders of a cluster that its tenant writes.
func (st *State) TenantFolders(c *Cluster) []string {
	seen := map[string]bool{}
	for _, g := range c.Groups {
		for _, f := range g.Folders {
			if !c.Member.IsHub && st.ResolverOf(c).Fleet.Layout.OfTenant(f.Level) {
				seen[f.Path] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
