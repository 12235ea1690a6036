package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/generator"
)

// HowTo is where the way out of a refusal is described.
const HowTo = "docs/how-to/approve-a-removal.md"

const (
	// maxLosses bounds the losses that are told of one refusal, and maxLogged those in the log.
	maxLosses = 200
	maxLogged = 10
	// maxRefusals bounds how many refusals are told.
	maxRefusals = 1000
	// forgotten is how long after it was last asked for a refusal is told no more: Argo CD asks again after three minutes.
	forgotten = 15 * time.Minute
)

// Refusal is why an answer is not given: it would remove more than the budget allows, or let go of what nobody else can be
// told of yet.
type Refusal struct {
	question question
	found    found
	message  string
	revision string
	// waits tells of the latter.
	waits bool
}

// Error is short, and the same for the same cause (G5).
func (r *Refusal) Error() string { return r.message }

// message is a refusal's.
func (f found) message(r generator.Request) string {
	return "removal budget: " + f.sum(r) + " (" + HowTo + ")"
}

// sum says in a few words what would be lost.
func (f found) sum(r generator.Request) string {
	if f.losing <= f.allowed {
		return fmt.Sprintf("the files of %d of %d members are gone; %s may go without approval", f.gone, f.everyone, atMost(f.mayGo))
	}
	what := "components of " + r.Group
	switch {
	case r.View == generator.Members:
		what = "their registration"
	case r.View == generator.Agents:
		what = "their agent"
	case r.View == generator.Grants:
		what = "their grants"
	case r.View == generator.Releases:
		what = "their release of " + r.Group
	case r.Component != "":
		what = r.Group + "/" + r.Component
	}
	counted := ""
	if f.before > 0 {
		counted = fmt.Sprintf(", with %d that did a short time ago", f.before)
	}
	return fmt.Sprintf("%d of %d members would lose %s%s; %s may go without approval", f.losing, f.members, what, counted, atMost(f.allowed))
}

func atMost(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// Reported is a refusal that lasts.
type Reported struct {
	// ApplicationSet asked, for View of Group, Component and Release of Hub.
	ApplicationSet string         `json:"applicationSet,omitempty"`
	View           generator.View `json:"view"`
	Hub            string         `json:"hub"`
	Owner          string         `json:"owner,omitempty"`
	Group          string         `json:"group,omitempty"`
	Component      string         `json:"component,omitempty"`
	Release        string         `json:"release,omitempty"`
	// Message is what was answered.
	Message string `json:"message"`
	// Revision is the first that was refused, at Since.
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	// Members are those that have something now, Losing those that would lose something without approval, Allowed how many
	// may.
	Members int `json:"members"`
	Losing  int `json:"losing"`
	Allowed int `json:"allowed"`
	// Losses are the first of what would be lost without approval, by cluster.
	Losses []Loss `json:"losses,omitempty"`

	asked time.Time
}

// report takes note of a refusal, and logs it unless it lasts already.
func (g *Guard) report(a ask, r *Refusal) {
	now := g.o.Now()
	losses := r.found.unapproved
	next := &Reported{
		ApplicationSet: a.r.ApplicationSet, View: a.r.View, Hub: a.r.Hub, Owner: a.r.Owner, Group: a.r.Group, Component: a.r.Component, Release: a.r.Release,
		Message: r.message, Revision: r.revision, Since: now.UTC().Truncate(time.Millisecond),
		Members: r.found.members, Losing: r.found.losing, Allowed: r.found.allowed, Losses: losses[:min(len(losses), maxLosses)], asked: now,
	}
	g.mu.Lock()
	last := g.refusals[r.question]
	if last != nil {
		next.Revision, next.Since = last.Revision, last.Since
	}
	if last != nil || len(g.refusals) < maxRefusals {
		g.refusals[r.question] = next
	}
	g.mu.Unlock()
	if last != nil && last.Message == next.Message {
		return
	}
	var texts []string
	for _, l := range losses[:min(len(losses), maxLogged)] {
		texts = append(texts, l.String())
	}
	if more := len(losses) - maxLogged; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	if r.waits {
		g.o.Logger.Error("an answer waits for another one; nothing is let go of until then", "applicationSet", a.r.ApplicationSet, "revision", r.revision, "refusal", r.message)
		return
	}
	g.o.Logger.Error("an answer is beyond the removal budget; nothing is removed until a commit approves it",
		"applicationSet", a.r.ApplicationSet, "revision", r.revision, "refusal", r.message, "losses", strings.Join(texts, "; "))
}

// String is a loss in one line.
func (l Loss) String() string {
	out := l.Cluster
	if l.Component != "" {
		out += " " + l.Group + "/" + l.Component
	}
	out += ": " + string(l.Cause)
	if l.Detail != "" {
		out += ", " + l.Detail
	}
	if !l.Position.IsZero() {
		out += " (" + l.Position.String() + ")"
	}
	return out
}

// settle takes note that a question is answered.
func (g *Guard) settle(a ask) {
	q := a.question()
	g.mu.Lock()
	last := g.refusals[q]
	delete(g.refusals, q)
	g.mu.Unlock()
	if last != nil {
		g.o.Logger.Info("an answer that was refused is given again", "applicationSet", a.r.ApplicationSet, "revision", a.st.Revision)
	}
}

// Refusals are those that last, sorted by ApplicationSet and question.
func (g *Guard) Refusals() []Reported {
	now := g.o.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []Reported
	for q, r := range g.refusals {
		if now.Sub(r.asked) > forgotten {
			delete(g.refusals, q)
			continue
		}
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Reported) int {
		return cmp.Or(strings.Compare(a.ApplicationSet, b.ApplicationSet), strings.Compare(string(a.View), string(b.View)), strings.Compare(a.Hub, b.Hub),
			strings.Compare(a.Group, b.Group), strings.Compare(a.Component, b.Component), strings.Compare(a.Release, b.Release), strings.Compare(a.Owner, b.Owner))
	})
	return out
}

// Stats are figures about the guard.
type Stats struct {
	// Refused are the questions that have no answer now, by view.
	Refused map[generator.View]int
	// Baselines are the last good answers that are remembered; Damaged, the records that could not be used at the start;
	// Failures, those that could not be written; Evicted, those that were given up as there were too many.
	Baselines, Damaged, Failures, Evicted int
	// Problem is why the room cannot be read or written now, "" if it can.
	Problem string
}

// Stats are the figures now.
func (g *Guard) Stats() Stats {
	s := g.store.stats()
	s.Refused = map[generator.View]int{}
	for _, v := range generator.Views {
		s.Refused[generator.View(v)] = 0
	}
	for _, r := range g.Refusals() {
		s.Refused[r.View]++
	}
	return s
}
