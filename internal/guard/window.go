package guard

import (
	"slices"
	"time"
)

// Where the Applications are the baseline, a removal counts until Argo CD has done it. Where the
// last response is the baseline, each response would have the whole budget anew: commits within it,
// one a minute, would remove everything. So a removal without approval is spent during the layout's
// window (rule 12).

// spent is a removal without approval, and when it was.
type spent struct {
	item
	at time.Time
}

// stillSpent returns what was spent and is not there again.
func (c comparison) stillSpent() []spent {
	if len(c.spent) == 0 {
		return nil
	}
	var x coverage
	for _, subjects := range c.responses {
		x.add(subjects, false)
	}
	return slices.DeleteFunc(slices.Clone(c.spent), func(s spent) bool { return x.covers(c.query.View, s.item) })
}

// spentWith returns what is spent once the response is given.
func (c comparison) spentWith(found removals) []spent {
	out := c.stillSpent()
	for _, r := range found.unapproved {
		out = append(out, spent{item{cluster: r.Cluster, group: r.Group, component: r.Component}, c.now})
	}
	return out
}
