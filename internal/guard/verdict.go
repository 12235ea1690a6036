package guard

import (
	"context"
	"time"

	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// verdict says whether a response may be given.
type verdict struct {
	// err is why it may not.
	err error
	// cached reports that the verdict was found before.
	cached bool
	// remember says that the next response to the query is compared with this one.
	remember bool
	// cache says that the verdict is cached, until a time unless that is zero.
	cache bool
	until time.Time
	// taken is how many responses of replicas it rests on.
	taken uint64
}

// judge finds the verdict, or takes the cached one. It changes nothing.
func (g *Guard) judge(p proposal) verdict {
	if !g.baselines.isReady() {
		return verdict{err: errUnread}
	}
	v, found := g.judgeRemovals(p)
	if v.err != nil || len(found.moves) == 0 {
		return v
	}
	v.cache = false // other responses decide, too
	if refused := g.handover(p, found.moves); refused != nil {
		v.err = refused
	}
	return v
}

// judgeRemovals compares the removals of a response with the budget, and those of its state as a
// whole. It returns them, too, unless the verdict is cached.
func (g *Guard) judgeRemovals(p proposal) (verdict, loss) {
	now, taken := g.o.Now(), g.baselines.taken()
	if until, ok := g.verdicts.get(p, taken); ok && (until.IsZero() || now.Before(until)) {
		return verdict{cached: true}, loss{}
	}
	b, whole := g.baseline(p), g.commit(p.st, p.query.Hub)
	responses := [][]lifecycle.Item{p.response.Items()}
	judge := func() (loss, error) {
		removals := lifecycle.Diff(p.st, p.query, b.items, responses...)
		found := whole.lossOf(p.st.Fleet, p.query.Hub, removals, now).count(b.items, whole.terms.budget)
		return found, p.refusal(found, whole)
	}
	out := verdict{remember: b.remembered, cache: true, taken: taken}
	found, refused := judge()
	if (refused != nil || len(found.moves) > 0) && b.otherQueries != nil {
		// What the ApplicationSet gets by its other queries is not removed.
		out.cache = false
		for _, r := range b.otherQueries() {
			response, err := g.o.Respond(context.Background(), p.st, r)
			if err != nil {
				return verdict{err: err}, found // Argo CD changes nothing if one response of an ApplicationSet is an error
			}
			responses = append(responses, response.Items())
		}
		found, refused = judge()
	}
	out.until, out.err = found.until, refused
	return out, found
}

// refusal returns why a response with a loss may not be given: it is beyond the budget by itself,
// or its state is as a whole. It returns nil if the response may be given.
func (p proposal) refusal(found loss, whole *commit) error {
	var text string
	counted := found
	if found.isRefused() {
		text = found.summary(p.query)
	} else if text = whole.refusal(found); text != "" {
		counted.members, counted.losing, counted.allowed = whole.members, whole.losing, whole.allowed
	}
	if text == "" {
		return nil
	}
	return &Refusal{key: p.key(), found: counted, message: budgetMessage(text), revision: p.st.Revision}
}
