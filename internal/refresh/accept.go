package refresh

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// decision is what was accepted and refused of the newest snapshot and facts.
type decision struct {
	// swapped reports that r.serving is another state.
	swapped bool
	refused []Refusal
	// waiting is why there is no state yet.
	waiting string
}

// tryAccept is accept, or a refusal where that panics. What it has accepted before is served.
func (r *Refresher) tryAccept(newest polled) decision {
	before := r.serving
	out, err := caught(r, func() (decision, error) { return r.accept(newest), nil })
	if err == nil {
		return out
	}
	revision := ""
	if newest.snapshot != nil {
		revision = newest.snapshot.Revision
	}
	refusal := refusalOf(Commit, revision, problem.From(err, internal, problem.Pos{}))
	out = decision{swapped: r.serving != before, refused: []Refusal{refusal}}
	if r.serving == nil {
		out.waiting = refusal.Problem
	}
	return out
}

// accept replaces r.serving by a candidate of as much of the newest snapshot and facts as is good.
func (r *Refresher) accept(newest polled) decision {
	var out decision
	known, synced := r.o.Facts.Current()
	factsErr := r.o.Facts.Err()
	if newest.err != nil {
		out.refused = append(out.refused, refusalOfSource(newest.err))
	}
	if r.serving == nil {
		r.acceptFirst(newest, known, synced, &out)
	} else {
		s := r.serving.snapshot
		if newest.isNewerThan(s) {
			s = r.withMounts(newest.snapshot, s.Parts(), false)
		}
		if !synced {
			known = r.serving.facts // they were complete once
		}
		r.acceptNext(s, known, &out)
	}
	if factsErr != nil {
		out.refused = slices.DeleteFunc(out.refused, func(r Refusal) bool { return r.Cause == Facts })
		out.refused = append(out.refused, refusalOfFacts(factsErr))
	}
	return out
}

// acceptFirst accepts the first state (rule 1): that from before the restart, once the source has
// been polled, as it may be older than what replicas serve (rule 8).
func (r *Refresher) acceptFirst(newest polled, known facts.Set, synced bool, out *decision) {
	switch {
	case !newest.done:
		out.waiting = waitingForSource(r.o.Source)
		return
	case newest.snapshot == nil && r.restored == nil:
		out.waiting = newest.err.Error()
		return
	case !synced:
		out.waiting = "the clusters' facts are not complete yet"
		if err := r.o.Facts.Err(); err != nil {
			out.waiting = err.Error()
		}
		return
	}
	if r.restored != nil {
		if c, problems := r.restoredCandidate(known); len(problems) == 0 {
			r.serving, out.swapped, r.lastKnownGood, r.holds = c, true, nil, nil
			if newest.isNewerThan(r.restored) {
				r.acceptNext(r.withMounts(newest.snapshot, r.restored.Parts(), false), known, out)
			}
			return
		}
		if newest.snapshot == nil {
			out.waiting = newest.err.Error()
			return
		}
	}
	c, problems := r.candidate(r.withMounts(newest.snapshot, r.restored.Parts(), r.restored == nil), known)
	if len(problems) > 0 {
		refusal := refusalOf(Commit, newest.snapshot.Revision, problems)
		out.refused = append(out.refused, refusal)
		out.waiting = refusal.Problem
		return
	}
	r.serving, out.swapped = c, true
}

// acceptNext goes on from the serving state: with snapshot and facts together, else with each alone
// (rule 4).
func (r *Refresher) acceptNext(s *snapshot.Snapshot, known facts.Set, out *decision) {
	commit, changed := s != r.serving.snapshot, !known.Equal(r.serving.facts)
	again := r.again.Swap(false)
	if !commit && !changed && !again {
		return
	}
	if again && (commit || changed) {
		defer func() {
			if !out.swapped { // what is refused must not hold up what has changed beside it
				r.acceptAgain(out)
			}
		}()
	}
	c, problems := r.candidate(s, known)
	if len(problems) == 0 {
		r.serving, out.swapped = c, true
		return
	}
	var ofFacts []problem.Problem
	if changed {
		ofFacts = r.acceptFacts(known, out)
	}
	if commit {
		if changed { // else it has just been tried
			c, problems = r.candidate(s, r.serving.facts)
		}
		if len(problems) > 0 {
			out.refused = append(out.refused, refusalOf(Commit, s.Revision, problems))
		} else {
			r.serving, out.swapped = c, true
			if len(ofFacts) > 0 {
				ofFacts = r.acceptFacts(known, out)
			}
		}
	}
	if len(ofFacts) > 0 {
		out.refused = append(out.refused, refusalOf(Facts, "", ofFacts))
	}
}

// acceptAgain publishes the serving state as another one.
func (r *Refresher) acceptAgain(out *decision) {
	if c, problems := r.candidate(r.serving.snapshot, r.serving.facts); len(problems) == 0 {
		r.serving, out.swapped = c, true
	}
}

// acceptFacts accepts new facts for the serving snapshot, but for the clusters that they would
// break. It returns the problems of those.
func (r *Refresher) acceptFacts(known facts.Set, out *decision) []problem.Problem {
	var refused []problem.Problem
	broken := map[string]bool{}
	for {
		accepted := mergeFacts(r.serving.facts, known, broken)
		if accepted.Equal(r.serving.facts) { // all that is new is refused
			return refused
		}
		c, problems := r.candidate(r.serving.snapshot, accepted)
		if len(problems) == 0 {
			r.serving, out.swapped = c, true
			return refused
		}
		refused = append(refused, problems...)
		more := false
		for _, p := range problems {
			if p.Cluster != "" && !broken[p.Cluster] {
				broken[p.Cluster], more = true, true
			}
		}
		if !more { // no cluster's facts are to blame: none are accepted
			return refused
		}
	}
}

// mergeFacts returns the new set with the old facts of some clusters, or none if the old set does
// not know them. The Applications are always the new ones: they decide whether a removal or a move
// can go on.
func mergeFacts(old, updated facts.Set, clusters map[string]bool) facts.Set {
	var out []facts.Cluster
	for _, c := range clustersOf(updated) {
		if !clusters[c.Name] {
			out = append(out, c)
		}
	}
	for _, c := range clustersOf(old) {
		if clusters[c.Name] {
			out = append(out, c)
		}
	}
	return updated.WithClusters(out...)
}
