package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// HowTo is the page that explains how to approve removals.
const HowTo = "docs/how-to/approve-a-removal.md"

const (
	// maxRemovals bounds the removals that are listed of one refusal, and maxLogged those in the
	// log.
	maxRemovals = 200
	maxLogged   = 10
	// maxRefusals bounds how many refusals are listed.
	maxRefusals = 1000
	// refusalAge is how long after its last query a refusal is listed. Argo CD repeats a query
	// after three minutes.
	refusalAge = 15 * time.Minute
)

// Refusal is the error of a response that would remove more than the budget allows, or give up what
// no other response has yet.
type Refusal struct {
	key      queryKey
	found    loss
	message  string
	revision string
	// pending reports the latter.
	pending bool
}

// Error is short, and the same for the same cause (G5).
func (r *Refusal) Error() string { return r.message }

func budgetMessage(text string) string { return "removal budget: " + text + " (" + HowTo + ")" }

// summary says in a few words what would be lost.
func (l loss) summary(r query.Query) string {
	if i := slices.IndexFunc(l.unapproved, deletesCluster); i >= 0 {
		return fmt.Sprintf("cluster %s would be deleted, and no approval that has not expired names it with its class", l.unapproved[i].Cluster)
	}
	what := "components of " + r.Group
	switch {
	case r.View == query.Members:
		what = "their registration"
	case r.View == query.Agents:
		what = "their agent"
	case r.View == query.Grants:
		what = "their grants"
	case r.View == query.Releases:
		what = "their release of " + r.Group
	case r.Component != "":
		what = r.Group + "/" + r.Component
	}
	return fmt.Sprintf("%d of %d members would lose %s; %s may go without approval", l.losing, l.members, what, atMost(l.allowed))
}

func atMost(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// RefusedRemoval are removals beyond the budget, as long as they are wanted: of a commit, which are
// held; or of one response, which is refused.
type RefusedRemoval struct {
	// The query: of ApplicationSet, for View of Group, Component and Release of Hub. A commit has
	// no ApplicationSet.
	ApplicationSet string     `json:"applicationSet,omitempty"`
	View           query.View `json:"view"`
	Hub            string     `json:"hub"`
	Owner          string     `json:"owner,omitempty"`
	Group          string     `json:"group,omitempty"`
	Component      string     `json:"component,omitempty"`
	Release        string     `json:"release,omitempty"`
	// Message says why; of a refused response, it is the error.
	Message string `json:"message"`
	// Revision is the first refused one, since Since.
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	// Members have something now. Losing of them would lose something without approval, and Allowed
	// may.
	Members int `json:"members"`
	Losing  int `json:"losing"`
	Allowed int `json:"allowed"`
	// Removals are the first without approval, by cluster.
	Removals []lifecycle.Removal `json:"losses,omitempty"`
	// Pending reports that nothing is lost: what moves waits for the new owner's response.
	Pending bool                `json:"-"`
	Moves   []lifecycle.Removal `json:"-"`
	queried time.Time
	// IsHeld reports that the removals are held, and that no response is refused.
	IsHeld bool `json:"-"`
}

// report lists a refusal, and logs it unless it is the one of before.
func (g *Guard) report(p proposal, r *Refusal) {
	now := g.o.Now()
	all, q := r.found.unapproved, p.query
	next := &RefusedRemoval{
		ApplicationSet: q.ApplicationSet, View: q.View, Hub: q.Hub, Owner: q.Owner,
		Group: q.Group, Component: q.Component, Release: q.Release,
		Message: r.message, Revision: r.revision, Since: now.UTC().Truncate(time.Millisecond),
		Members: r.found.members, Losing: r.found.losing, Allowed: r.found.allowed,
		Removals: all[:min(len(all), maxRemovals)], Pending: r.pending, Moves: r.found.moves[:min(len(r.found.moves), maxRemovals)], queried: now,
	}
	if !g.list(r.key, next) {
		return
	}
	if r.pending {
		g.o.Logger.Error("a response waits for the new owner's; nothing is given up until then",
			"applicationSet", q.ApplicationSet, "revision", r.revision, "refusal", r.message)
		return
	}
	g.o.Logger.Error("a response is beyond the removal budget; nothing is removed until a commit approves it",
		"applicationSet", q.ApplicationSet, "revision", r.revision, "refusal", r.message, "losses", listed(all))
}

// list takes a refusal in, and reports whether it is another one than before.
func (g *Guard) list(key queryKey, next *RefusedRemoval) (isNew bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	last := g.refusals[key]
	if last != nil {
		next.Revision, next.Since = last.Revision, last.Since
	}
	if last != nil || len(g.refusals) < maxRefusals {
		g.refusals[key] = next
	}
	return last == nil || last.Message != next.Message
}

// listed are the first of some removals in one text.
func listed(all []lifecycle.Removal) string {
	var texts []string
	for _, x := range all[:min(len(all), maxLogged)] {
		texts = append(texts, x.String())
	}
	if more := len(all) - maxLogged; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// resolve ends the refusal of a query that gets its response.
func (g *Guard) resolve(p proposal) {
	q := p.key()
	g.mu.Lock()
	last := g.refusals[q]
	delete(g.refusals, q)
	g.mu.Unlock()
	if last != nil {
		g.o.Logger.Info("a refused response is given again", "applicationSet", p.query.ApplicationSet, "revision", p.st.Revision)
	}
}

// Refusals returns those that last, sorted by ApplicationSet and query.
func (g *Guard) Refusals() []RefusedRemoval {
	now := g.o.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []RefusedRemoval
	for q, r := range g.refusals {
		if !r.IsHeld && now.Sub(r.queried) > refusalAge {
			delete(g.refusals, q)
			continue
		}
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b RefusedRemoval) int {
		return cmp.Or(
			strings.Compare(a.ApplicationSet, b.ApplicationSet), strings.Compare(string(a.View), string(b.View)),
			strings.Compare(a.Hub, b.Hub), strings.Compare(a.Group, b.Group), strings.Compare(a.Component, b.Component),
			strings.Compare(a.Release, b.Release), strings.Compare(a.Owner, b.Owner))
	})
	return out
}

// Stats are figures about the guard.
type Stats struct {
	// Refused counts what is beyond the budget now, by view: components that are held, and queries
	// that have no response.
	Refused map[query.View]int
	// Baselines counts the remembered responses; Damaged the records that could not be used,
	// Failures the writes that failed, and Evicted the responses that were given up because there
	// were too many.
	Baselines, Damaged, Failures, Evicted int
	// Problem is why the shared store cannot be read or written now, "" if it can.
	Problem string
}

// Stats returns the figures now.
func (g *Guard) Stats() Stats {
	s := g.baselines.stats()
	s.Refused = map[query.View]int{}
	for _, v := range query.Views {
		s.Refused[query.View(v)] = 0
	}
	for _, r := range g.Refusals() {
		s.Refused[r.View]++
	}
	return s
}
