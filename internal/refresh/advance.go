package refresh

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// internal is the reason of a failure that is ours.
const internal problem.Reason = "internal"

// serving is a state with what it was built from.
type serving struct {
	state    *generator.State
	snapshot *snapshot.Snapshot
	facts    facts.Set
}

// result is what a turn came to.
type result struct {
	swapped bool
	refused []Refusal
	waiting string
}

// advance takes in as much of the newest snapshot and facts as is good. It changes r.serving alone.
func (r *Refresher) advance(l look) result {
	var out result
	known, synced := r.o.Facts.Current()
	factsErr := r.o.Facts.Err()
	if l.err != nil {
		out.refused = append(out.refused, refusalOfSource(l.err))
	}
	if r.serving == nil {
		r.first(l, known, synced, &out)
	} else {
		s := r.serving.snapshot
		if l.snapshot != nil && l.snapshot.Revision != s.Revision {
			s = l.snapshot
		}
		if !synced {
			known = r.serving.facts // whoever was complete once stays so
		}
		r.next(s, known, &out)
	}
	if factsErr != nil {
		out.refused = append(withoutCause(out.refused, Facts), refusalOfFacts(factsErr))
	}
	return out
}

// first builds the first state (rule 1). What was accepted before a
// restart is gone on from, once the source has been looked at: it may be older than what others serve (rule 8).
func (r *Refresher) first(l look, known facts.Set, synced bool, out *result) {
	switch {
	case !l.done:
		out.waiting = waitingForSource(r.o.Source)
		return
	case l.snapshot == nil && r.accepted == nil:
		out.waiting = l.err.Error()
		return
	case !synced:
		out.waiting = "the clusters' facts are not complete yet"
		if err := r.o.Facts.Err(); err != nil {
			out.waiting = err.Error()
		}
		return
	}
	if r.accepted != nil {
		if candidate, refused := r.restored(known); len(refused) == 0 {
			r.serving, out.swapped, r.homes = candidate, true, nil
			if l.snapshot != nil && l.snapshot.Revision != r.accepted.Revision {
				r.next(l.snapshot, known, out)
			}
			return
		}
		if l.snapshot == nil {
			out.waiting = l.err.Error()
			return
		}
	}
	candidate, refused := r.try(l.snapshot, known)
	if len(refused) > 0 {
		refusal := refusalOf(Commit, l.snapshot.Revision, refused)
		out.refused = append(out.refused, refusal)
		out.waiting = refusal.Problem
		return
	}
	r.serving, out.swapped = candidate, true
}

// next goes on from the serving state (rules 3 and 4).
func (r *Refresher) next(s *snapshot.Snapshot, known facts.Set, out *result) {
	commit, changed := s != r.serving.snapshot, !known.Equal(r.serving.facts)
	if !commit && !changed {
		return
	}
	candidate, problems := r.try(s, known)
	if len(problems) == 0 {
		r.serving, out.swapped = candidate, true
		return
	}
	var ofFacts []problem.Problem
	if changed {
		ofFacts = r.takeFacts(known, out)
	}
	if commit {
		if changed { // else it has just been tried
			candidate, problems = r.try(s, r.serving.facts)
		}
		if len(problems) > 0 {
			out.refused = append(out.refused, refusalOf(Commit, s.Revision, problems))
		} else {
			r.serving, out.swapped = candidate, true
			if len(ofFacts) > 0 {
				ofFacts = r.takeFacts(known, out)
			}
		}
	}
	if len(ofFacts) > 0 {
		out.refused = append(out.refused, refusalOf(Facts, "", ofFacts))
	}
}

// takeFacts takes in new facts upon the serving snapshot, but for the clusters that they would break. What is left out
// is returned as problems.
func (r *Refresher) takeFacts(known facts.Set, out *result) []problem.Problem {
	var refused []problem.Problem
	left := map[string]bool{}
	for {
		kept := keep(r.serving.facts, known, left)
		if kept.Equal(r.serving.facts) { // nothing new but what is refused
			return refused
		}
		candidate, problems := r.try(r.serving.snapshot, kept)
		if len(problems) == 0 {
			r.serving, out.swapped = candidate, true
			return refused
		}
		refused = append(refused, problems...)
		more := false
		for _, p := range problems {
			if p.Cluster != "" && !left[p.Cluster] {
				left[p.Cluster], more = true, true
			}
		}
		if !more { // it is not a cluster's facts: nothing of them is taken
			return refused
		}
	}
}

// try builds a candidate. Problems are why it cannot be served in place of the serving state.
func (r *Refresher) try(s *snapshot.Snapshot, known facts.Set) (_ *serving, refused []problem.Problem) {
	var previous *generator.State
	if r.serving != nil {
		previous = r.serving.state
	}
	st, err := r.build(func() (*generator.State, error) { return generator.Build(previous, s, known) })
	if err != nil {
		return nil, problem.From(err, internal, problem.Pos{})
	}
	if previous != nil {
		refused = slices.Concat(added(ofAll(previous.Errors(r.o.Hub)), ofAll(st.Errors(r.o.Hub))), st.Lost(previous, r.o.Hub), st.LostFolders(previous))
		if len(refused) > 0 {
			return nil, refused
		}
	}
	return &serving{state: st, snapshot: s, facts: known}, nil
}

// restored builds the state from before the restart, with the members that were at home then.
func (r *Refresher) restored(known facts.Set) (_ *serving, refused []problem.Problem) {
	st, err := r.build(func() (*generator.State, error) { return generator.Restore(r.accepted, known, r.homes) })
	if err != nil {
		return nil, problem.From(err, internal, problem.Pos{})
	}
	return &serving{state: st, snapshot: r.accepted, facts: known}, nil
}

func (r *Refresher) build(build func() (*generator.State, error)) (st *generator.State, err error) {
	defer r.recovered(&err)
	return build()
}

// ofAll are the problems that are not a single member's: those leave it at home.
func ofAll(ps []problem.Problem) []problem.Problem {
	return slices.DeleteFunc(ps, func(p problem.Problem) bool { return p.Cluster != "" })
}

func withoutCause(refused []Refusal, cause Cause) []Refusal {
	var out []Refusal
	for _, r := range refused {
		if r.Cause != cause {
			out = append(out, r)
		}
	}
	return out
}
