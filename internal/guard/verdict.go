package guard

import (
	"time"

	"github.com/argosy-hub/argosy/internal/response"
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
	// spent is what this response and those before it have lost, to be remembered.
	spent []spent
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

// judgeRemovals compares the removals of a response with the budget. It returns them, too, unless
// the verdict is cached.
func (g *Guard) judgeRemovals(p proposal) (verdict, removals) {
	now := g.o.Now()
	if until, ok := g.verdicts.get(p); ok && (until.IsZero() || now.Before(until)) {
		return verdict{cached: true}, removals{}
	}
	b := g.baseline(p)
	c := comparison{
		st: p.st, query: p.query, now: now, baseline: b.items, responses: [][]response.Subject{subjectsOf(p.response)},
		hubMembers: g.hubMembers(p, b),
	}
	if b.remembered {
		c.spent = g.baselines.spentSince(p.key(), now.Add(-p.st.Fleet.Layout.Guard.Window))
	}
	out := verdict{remember: b.remembered, cache: true}
	found := c.removals()
	if (found.areOverBudget() || len(found.moves) > 0) && b.otherQueries != nil {
		// What the ApplicationSet gets by its other queries is not removed.
		out.cache = false
		for _, r := range b.otherQueries() {
			response, err := g.o.Responses.Get(p.st, r)
			if err != nil {
				return verdict{err: err}, found // Argo CD changes nothing if one response of an ApplicationSet is an error
			}
			c.responses = append(c.responses, subjectsOf(response))
		}
		found = c.removals()
	}
	out.until = found.until
	if b.remembered {
		out.spent = c.spentWith(found)
	}
	if found.areOverBudget() {
		out.err = &Refusal{key: p.key(), found: found, message: found.message(p.query), revision: p.st.Revision}
	}
	return out, found
}
