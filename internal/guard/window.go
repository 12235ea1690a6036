package guard

import (
	"slices"
	"time"
)

// Where the Applications are known, a removal counts until Argo CD has done it, and somebody has had the time to see it. Where
// the last answer is the baseline, each answer would have the whole budget anew: commits within it, one a minute, would
// remove everything. So what an answer loses is spent for a while (rule 12).

// spent is something that was lost without approval.
type spent struct {
	had
	at time.Time
}

// spentOf is what answers to a question have lost since a time.
func (s *store) spentOf(q question, since time.Time) []spent {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[q]
	if r == nil || r.gone {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.spent), func(x spent) bool { return !x.at.After(since) })
}

// lasting is what was spent, and is not there again.
func (c comparison) lasting() []spent {
	if len(c.spent) == 0 {
		return nil
	}
	var x covered
	for _, subjects := range c.told {
		x.add(subjects, false)
	}
	return slices.DeleteFunc(slices.Clone(c.spent), func(s spent) bool { return x.covers(c.r.View, s.had) })
}

// spentWith is what is spent when the answer is given.
func (c comparison) spentWith(f found) []spent {
	out := c.lasting()
	for _, l := range f.unapproved {
		out = append(out, spent{had{cluster: l.Cluster, group: l.Group, component: l.Component}, c.now})
	}
	return out
}
