package rollout

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Train is a revision that the service has accepted, with its number: the order of acceptance. The
// zero Train stands for none.
type Train struct {
	Number   int    `json:"number"`
	Revision string `json:"revision"`
}

// Record is the state of one ring.
type Record struct {
	// Train is the train that the ring's members are served from, and Since when they got it.
	Train Train     `json:"train"`
	Since time.Time `json:"since"`
	// HealthySince is when the soak began; zero while the ring is not healthy. Seen is when the
	// ring's health was last looked at.
	HealthySince time.Time `json:"healthySince,omitzero"`
	Seen         time.Time `json:"seen,omitzero"`
	// BrokenSince is when a soak was last broken, plus the time without a look since: the deadline
	// counts from then.
	BrokenSince time.Time `json:"brokenSince,omitzero"`
	// Passed are the last trains that passed the ring, the newest last.
	Passed []Train `json:"passed,omitempty"`
	// Rejected is the number of the newest train that the ring went back from, and Rejection is why
	// it went back last.
	Rejected  int    `json:"rejected,omitempty"`
	Rejection string `json:"rejection,omitempty"`
	// Highest is the number of the newest train that a hub's ring has had. An agent's trains have
	// no such order: Had are the last revisions of its group, each once, in the order in which it
	// first got them.
	Highest int      `json:"highest,omitempty"`
	Had     []string `json:"had,omitempty"`
	// Failure is why the ring's train failed; empty while it has not.
	Failure string `json:"failure,omitempty"`
	// Released reports that another engine has deployed a group of an agent since: when the group
	// comes back, the train is not what runs.
	Released bool `json:"released,omitempty"`
}

// Log is the state of one policy on one hub.
type Log struct {
	// Newest is the newest train, and Departed is when a process made it.
	Newest   Train     `json:"newest"`
	Departed time.Time `json:"departed,omitzero"`
	// Recent are the last trains, the newest last: approvals name them.
	Recent []Train           `json:"recent,omitempty"`
	Rings  map[string]Record `json:"rings"`
	// Frozen has the cells that a hold keeps: by revision and GROUP/COMPONENT the clusters, sorted.
	// It is in a record of its own, which has no rings.
	Frozen map[string]map[string][]string `json:"frozen,omitempty"`
	// Kept has the revisions at which members are served from their last known good snapshots.
	Kept map[string]Kept `json:"kept,omitempty"`
	// InForce is the policy that counts; nil in a record of an earlier version, and of an agent
	// whose files have not had the policy yet.
	InForce *InForce `json:"inForce,omitempty"`
	// Ended reports that the fleet has had no such policy since: a policy of that name begins
	// again.
	Ended bool `json:"ended,omitempty"`
}

// Kept is what a restart needs besides the files of a revision. State is the service's own record,
// and Revisions are the revisions that it names.
type Kept struct {
	Revisions []string        `json:"revisions"`
	State     json.RawMessage `json:"state"`
}

// Limits of what a Log remembers.
const (
	maxRecent = 8
	maxPassed = 4
)

// Begin makes the log of a policy whose members are all served from one revision.
func Begin(p *Policy, revision string, now time.Time) Log {
	train := Train{Number: 1, Revision: revision}
	out := Log{Newest: train, Departed: now, Recent: []Train{train}, Rings: map[string]Record{}}
	for _, r := range p.Rings {
		out.Rings[r.Name] = Record{Train: train, Since: now, Passed: []Train{train}}
	}
	return out
}

// clone returns a copy that shares nothing that changes.
func (l Log) clone() Log {
	l.Recent, l.Rings = slices.Clone(l.Recent), maps.Clone(l.Rings)
	if l.Rings == nil {
		l.Rings = map[string]Record{}
	}
	return l
}

// Equal reports whether two logs are equal, except for when they were looked at.
func (l Log) Equal(other Log) bool {
	return l.Newest == other.Newest && l.Ended == other.Ended && l.InForce.Equal(other.InForce) && maps.EqualFunc(l.Frozen, other.Frozen, func(a, b map[string][]string) bool { return maps.EqualFunc(a, b, slices.Equal[[]string]) }) &&
		maps.EqualFunc(l.Kept, other.Kept, func(a, b Kept) bool { return slices.Equal(a.Revisions, b.Revisions) && bytes.Equal(a.State, b.State) }) && slices.Equal(l.Recent, other.Recent) && maps.EqualFunc(l.Rings, other.Rings, func(a, b Record) bool {
		return a.Train == b.Train && a.Since.Equal(b.Since) && a.HealthySince.Equal(b.HealthySince) && a.BrokenSince.Equal(b.BrokenSince) && slices.Equal(a.Passed, b.Passed) &&
			a.Highest == b.Highest && slices.Equal(a.Had, b.Had) && a.Rejected == b.Rejected && a.Rejection == b.Rejection && a.Failure == b.Failure && a.Released == b.Released
	})
}

// maxSkew is how much the clocks of replicas may differ.
const maxSkew = time.Minute

// IsOlderThan reports whether the newest train is older than the revision that a process serves. A
// revision is newer if the process has served the train before, or if the repository still had the
// revision after the train departed. A revision without a train that the process has just accepted
// is older only if it was read before the train departed.
func (l Log) IsOlderThan(f Facts) bool {
	isKnown := f.Newest == f.Before || slices.ContainsFunc(l.Recent, func(t Train) bool { return t.Revision == f.Newest })
	switch {
	case f.Newest == l.Newest.Revision:
		return false
	case l.Newest.Number == 0 || f.Newest != f.Before && f.Before == l.Newest.Revision:
		return true
	case isKnown:
		return f.ReadAt.After(l.Departed.Add(maxSkew))
	}
	return f.ReadAt.IsZero() || f.ReadAt.After(l.Departed)
}

// Soaks reports whether a ring soaks, or has a deadline ahead: then a restart continues from the
// last look.
func (l Log) Soaks(p *Policy) bool {
	for _, ring := range p.Rings {
		r := l.Rings[ring.Name]
		if !r.HasPassed() && (!r.HealthySince.IsZero() || ring.Deadline > 0 && !r.Seen.IsZero() && r.Failure == "") {
			return true
		}
	}
	return false
}

// IsLost reports whether no ring has a known train.
func (l Log) IsLost() bool {
	for _, r := range l.Rings {
		if r.Train.Number > 0 {
			return false
		}
	}
	return true
}

// Seen returns when any ring was last looked at.
func (l Log) Seen() (last time.Time) {
	for _, r := range l.Rings {
		if r.Seen.After(last) {
			last = r.Seen
		}
	}
	return last
}

// Revisions returns the revisions that the log needs: of all rings, and of the trains that they may
// take or go back to.
func (l Log) Revisions() map[string]bool {
	if l.Ended {
		return nil
	}
	out := map[string]bool{l.Newest.Revision: true}
	var more []string
	for _, r := range l.Rings {
		out[r.Train.Revision] = true
		for _, t := range r.Passed {
			out[t.Revision] = true
		}
	}
	for revision := range l.Frozen {
		out[revision] = true
	}
	for revision, kept := range l.Kept {
		if out[revision] {
			more = append(more, kept.Revisions...)
		}
	}
	for _, revision := range more {
		out[revision] = true
	}
	return out
}

// Keep returns the log with what a restart needs of its revisions: what it has already, else what
// kept returns, if anything.
func (l Log) Keep(kept func(revision string) (Kept, bool)) Log {
	now := map[string]Kept{}
	known := l.Kept
	l.Kept = nil
	for revision := range l.Revisions() {
		k, is := known[revision]
		if !is {
			k, is = kept(revision)
		}
		if is {
			now[revision] = k
		}
	}
	if len(now) > 0 {
		l.Kept = now
	}
	return l
}

// find returns the newest known train of a revision, as approvals and pins name it.
func (l Log) find(revision string) (Train, bool) {
	var found Train
	look := func(t Train) {
		if t.Number > found.Number && names(revision, t.Revision) {
			found = t
		}
	}
	for _, t := range l.Recent {
		look(t)
	}
	for _, r := range l.Rings {
		look(r.Train)
		for _, t := range r.Passed {
			look(t)
		}
	}
	return found, found.Number > 0
}

// passed returns the last train that passed the ring.
func (r Record) passed() Train {
	if len(r.Passed) == 0 {
		return Train{}
	}
	return r.Passed[len(r.Passed)-1]
}

// HasPassed reports whether the ring's own train has passed.
func (r Record) HasPassed() bool { return r.passed().Number == r.Train.Number }

// unhealthySince returns when the deadline begins.
func (r Record) unhealthySince() time.Time {
	if r.BrokenSince.IsZero() {
		return r.Since
	}
	return r.BrokenSince
}

// IsBack reports whether the ring's train is older than one that it had.
func (r Record) IsBack() bool {
	return max(r.Highest, r.Rejected) > r.Train.Number || len(r.Had) > 0 && r.Had[len(r.Had)-1] != r.Train.Revision
}

// having returns Had with one more revision.
func (r Record) having(revision string) []string {
	had := r.Had
	if len(had) == 0 {
		had = []string{r.Train.Revision}
	}
	if slices.Contains(had, revision) {
		return had
	}
	return append(slices.Clone(had[max(0, len(had)-maxRecent+1):]), revision)
}

// take moves the ring to a train.
func (r Record) take(t Train, now time.Time) Record {
	r.Highest = max(r.Highest, r.Train.Number, t.Number)
	r.Train, r.Since, r.HealthySince, r.Seen, r.BrokenSince, r.Failure = t, now, time.Time{}, time.Time{}, time.Time{}, ""
	return r
}

// pass records that the ring's train has passed. It forgets trains beyond the limit, first those
// that need not be kept.
func (r Record) pass(keep func(Train) bool) Record {
	passed := append(slices.Clone(r.Passed), r.Train)
	for len(passed) > maxPassed {
		oldest := slices.IndexFunc(passed[:len(passed)-1], func(t Train) bool { return !keep(t) })
		passed = slices.Delete(passed, max(0, oldest), max(0, oldest)+1)
	}
	r.Passed = passed
	return r
}

// withdraw forgets that the ring's train has passed.
func (r Record) withdraw() Record {
	return r.without(func(t Train) bool { return t.Number == r.Train.Number })
}

// without forgets that some trains have passed.
func (r Record) without(gone func(Train) bool) Record {
	r.Passed = slices.DeleteFunc(slices.Clone(r.Passed), gone)
	return r
}
