package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxBlind is the longest gap between two looks that counts towards a soak or a deadline.
const maxBlind = time.Minute

// NoteInterval is how old the record of a soak may be: a restart takes it for the last look.
const NoteInterval = maxBlind / 3

// Facts are the inputs of Advance.
type Facts struct {
	// Newest is the newest revision that the process has accepted, and Before the newest at its
	// last look; empty at its first one. ReadAt is when the repository had Newest as its newest, as
	// far as the process knows; zero if it does not. A replica that lags must not make a train of
	// an old revision.
	Newest, Before string
	ReadAt         time.Time
	// Policy is the policy in the files of Newest, nil where its file is gone.
	Policy *Policy
	// Health is the health of each ring. It is ignored if it is missing, or of another train than
	// the ring's.
	Health map[string]RingHealth
	// Checks has the newest result of each ring's checks. A ring without a result waits.
	Checks map[string]CheckResult
	// IsThere reports whether the files of a revision are at hand; nil means always.
	IsThere func(revision string) bool
	// MayFollow reports whether a ring's members may go from one revision to another; nil means
	// always.
	MayFollow func(ring, from, to string) bool
}

// RingHealth is the health of a ring's members at a train's revision.
type RingHealth struct {
	Revision string
	Members  []MemberHealth
}

// Advance brings a policy's log up to date and says what each ring waits for. Begin makes a
// policy's first log.
func Advance(p *Policy, log Log, f Facts, now time.Time) (Log, []Wait) {
	a := advance{policy: p, log: log.clone(), facts: f, now: now, blocks: map[string]Wait{}}
	a.depart()
	a.judge()
	a.log = a.log.withRings(p, now)
	for i := range p.Rings {
		a.observe(&p.Rings[i])
	}
	a.withdrawPinned()
	for i := len(p.Rings) - 1; i >= 0; i-- { // a later ring first: the train that it takes does not free another ring
		a.move(i)
	}
	return a.log, a.waits()
}

type advance struct {
	policy *Policy
	log    Log
	facts  Facts
	now    time.Time
	blocks map[string]Wait // why a ring that could take a train does not
}

// depart makes a train of a new revision.
func (a *advance) depart() {
	if a.facts.Newest == "" || !a.log.IsOlderThan(a.facts) {
		return
	}
	a.log.Departed = a.now
	a.log.Newest = Train{Number: a.log.Newest.Number + 1, Revision: a.facts.Newest}
	a.log.Recent = append(a.log.Recent, a.log.Newest)
	a.log.Recent = a.log.Recent[max(0, len(a.log.Recent)-maxRecent):]
}

// withRings gives a ring that is new in a policy the oldest train of all rings. It forgets the
// rings that the policy does not have.
func (l Log) withRings(p *Policy, now time.Time) Log {
	var oldest Record
	for _, r := range l.Rings {
		if oldest.Train.Number == 0 || r.Train.Number < oldest.Train.Number {
			oldest = r
		}
	}
	known := map[string]Record{}
	for _, ring := range p.Rings {
		r, ok := l.Rings[ring.Name]
		if !ok {
			r = Record{Train: oldest.Train, Since: now, Passed: oldest.Passed, Highest: max(oldest.Highest, oldest.Rejected)}
		}
		known[ring.Name] = r
	}
	l.Rings = known
	return l
}

// observe records the health of a ring at its train.
func (a *advance) observe(ring *Ring) {
	r := a.log.Rings[ring.Name]
	health, known := a.facts.Health[ring.Name]
	if !known || health.Revision != r.Train.Revision {
		return
	}
	members := health.Members
	allowed := ring.MaxUnavailable.Of(len(members))
	unavailable, degraded := 0, 0
	var worst MemberHealth
	for _, m := range members {
		if m.Status == Healthy {
			continue
		}
		unavailable++
		if worst.Member == "" || severity[m.Status] > severity[worst.Status] {
			worst = m
		}
		if m.Status == Degraded {
			degraded++
		}
	}
	checks := a.checks(ring, r)
	isHealthy := unavailable <= allowed && checks.Why == ""
	switch {
	case !isHealthy:
		seen := r.Since
		if r.Seen.After(seen) {
			seen = r.Seen
		}
		switch blind := a.now.Sub(seen); {
		case !r.HealthySince.IsZero():
			r.BrokenSince = a.now
		case blind > maxBlind && ring.Deadline > 0 && !r.HasPassed(): // the deadline stands still, as a soak does
			r.BrokenSince = r.unhealthySince().Add(blind)
		}
		r.HealthySince = time.Time{}
	case r.HealthySince.IsZero():
		r.HealthySince = a.now
	default:
		if blind := a.now.Sub(r.Seen); blind > maxBlind {
			r.HealthySince = r.HealthySince.Add(blind)
		}
		for _, broken := range []time.Time{lastBreak(members, allowed, a.now), checks.Broken} {
			if broken.After(r.HealthySince) {
				r.HealthySince = broken
			}
		}
		if r.HealthySince.After(a.now) {
			r.HealthySince = a.now
		}
	}
	r.Seen = a.now
	r.Failure = ""
	switch {
	case degraded > allowed:
		r.Failure = fmt.Sprintf("%d of %d members are degraded, such as %s: %s", degraded, len(members), worst.Member, worst.Why)
	case checks.Failures >= maxCheckFailures && unavailable <= allowed && !r.HasPassed():
		r.Failure = checks.Why
	case ring.Deadline > 0 && !isHealthy && !r.HasPassed() && a.now.Sub(r.unhealthySince()) >= ring.Deadline:
		r.Failure = fmt.Sprintf("not healthy within the deadline of %s", ring.Deadline)
	}
	switch {
	case r.Failure != "":
		r = a.fail(ring, r)
	case isHealthy && !r.HasPassed() && a.now.Sub(r.HealthySince) >= ring.Soak:
		r = r.pass(func(t Train) bool { return a.isAwaited(ring, t) })
	}
	a.log.Rings[ring.Name] = r
}

// fail does what the policy says about a failed ring.
func (a *advance) fail(ring *Ring, r Record) Record {
	failed, why := r.Train, r.Failure
	r = r.withdraw()
	good := r.passed()
	_, isPinned := a.pin(ring.Name)
	if !ring.GoesBack || isPinned || a.policy.Paused || good.Number == 0 || !a.isThere(good.Revision) || !a.mayFollow(ring, failed, good) {
		return r
	}
	r = r.take(good, a.now)
	r.Rejected, r.Rejection = max(r.Rejected, failed.Number), why
	return r
}

// withdrawPinned withdraws the trains newer than a ring's pin, before any other ring takes one.
func (a *advance) withdrawPinned() {
	for _, ring := range a.policy.Rings {
		if pin, _ := a.pin(ring.Name); pin.Number > 0 {
			a.log.Rings[ring.Name] = a.log.Rings[ring.Name].without(func(t Train) bool { return t.Number > pin.Number })
		}
	}
}

// isAwaited reports whether the next ring has an approval for a train that it does not have yet.
func (a *advance) isAwaited(ring *Ring, t Train) bool {
	next := slices.IndexFunc(a.policy.Rings, func(r Ring) bool { return r.Name == ring.Name }) + 1
	if next == len(a.policy.Rings) {
		return false
	}
	name := a.policy.Rings[next].Name
	return t.Number > a.log.Rings[name].Train.Number && a.isApproved(name, t, false)
}

func (a *advance) mayFollow(ring *Ring, from, to Train) bool {
	return a.facts.MayFollow == nil || a.facts.MayFollow(ring.Name, from.Revision, to.Revision)
}

func (a *advance) isThere(revision string) bool {
	return a.facts.IsThere == nil || a.facts.IsThere(revision)
}

// move lets a ring take a train, or records why it takes none.
func (a *advance) move(i int) {
	ring := &a.policy.Rings[i]
	r := a.log.Rings[ring.Name]
	if pin, ok := a.pin(ring.Name); ok {
		if pin.Number > 0 && pin != r.Train && a.isThere(pin.Revision) {
			a.log.Rings[ring.Name] = r.take(pin, a.now)
		}
		a.block(ring, Wait{Reason: Pinned, Since: r.Since, Train: a.log.Newest})
		return
	}
	if r.Train.Number == 0 {
		a.block(ring, Wait{Reason: Lost, Train: a.log.Newest})
		return
	}
	if a.policy.Paused {
		a.block(ring, Wait{Reason: Paused, Train: a.log.Newest})
		return
	}
	if t, ok := a.overtaking(ring, r); ok {
		a.log.Rings[ring.Name] = r.take(t, a.now)
		return
	}
	t, blocked := a.candidate(i, r)
	if t.Number <= max(r.Train.Number, r.Rejected) {
		return
	}
	if blocked.Reason == "" {
		blocked = a.obstacle(i, r, t)
	}
	if blocked.Reason != "" {
		blocked.Train = t
		a.block(ring, blocked)
		return
	}
	a.log.Rings[ring.Name] = r.take(t, a.now)
}

// candidate returns the train that a ring would take next: the newest one that has passed the ring
// before it, that its members may go to, and that is approved where the ring needs approvals.
func (a *advance) candidate(i int, r Record) (Train, Wait) {
	passed := a.log.Recent
	if i > 0 {
		passed = a.log.Rings[a.policy.Rings[i-1].Name].Passed
	} else if !slices.Contains(passed, a.log.Newest) {
		passed = []Train{a.log.Newest}
	}
	if len(passed) == 0 {
		return Train{}, Wait{}
	}
	newest := passed[len(passed)-1]
	ring := &a.policy.Rings[i]
	isApproved := func(t Train) bool { return !ring.NeedsApproval || a.isApproved(ring.Name, t, false) }
	skips := false
	for _, t := range slices.Backward(passed) {
		switch {
		case t.Number <= max(r.Train.Number, r.Rejected) || !isApproved(t):
		case a.mayFollow(ring, r.Train, t):
			return t, Wait{}
		default:
			skips = true
		}
	}
	switch {
	case skips:
		return newest, Wait{Reason: Skips, Detail: "a cluster would skip a version, or go back"}
	case !ring.NeedsApproval:
		return newest, Wait{}
	}
	return newest, Wait{Reason: NeedsApproval, Detail: fmt.Sprintf("of ring %q and revision %s", ring.Name, Short(newest.Revision))}
}

// obstacle returns why a ring does not take a train now, without a Reason if it does.
func (a *advance) obstacle(i int, r Record, t Train) Wait {
	ring := &a.policy.Rings[i]
	if !r.HasPassed() && r.Failure == "" {
		return Wait{Reason: Busy, Since: r.Since, Detail: "its own train " + Short(r.Train.Revision) + " has neither passed nor failed"}
	}
	if i > 0 {
		before := a.policy.Rings[i-1]
		if b := a.log.Rings[before.Name]; b.Train.Number == t.Number && b.HealthySince.IsZero() {
			return a.unhealthy(&a.policy.Rings[i-1], b)
		}
	}
	switch {
	case ring.freeze(a.now) != nil:
		return Wait{Reason: Frozen, Since: ring.freeze(a.now).From, Earliest: ring.NextOpen(a.now), Detail: ring.freeze(a.now).Reason}
	case !ring.IsOpen(a.now):
		return Wait{Reason: Closed, Earliest: ring.NextOpen(a.now)}
	case !a.isThere(t.Revision):
		return Wait{Reason: Missing, Detail: Short(t.Revision)}
	}
	return Wait{}
}

// pin returns the train that a ring is pinned to; without a number where it is not known.
func (a *advance) pin(ring string) (Train, bool) {
	for _, p := range slices.Backward(a.policy.Pins) {
		if p.Ring == ring {
			t, _ := a.log.find(p.Revision)
			return t, true
		}
	}
	return Train{}, false
}

// overtaking returns the newest train that an approval lets the ring take at once.
func (a *advance) overtaking(ring *Ring, r Record) (Train, bool) {
	for _, t := range slices.Backward(a.log.Recent) {
		if t.Number > max(r.Train.Number, r.Rejected) && a.isApproved(ring.Name, t, true) && a.isThere(t.Revision) && a.mayFollow(ring, r.Train, t) {
			return t, true
		}
	}
	return Train{}, false
}

func (a *advance) isApproved(ring string, t Train, overtakes bool) bool {
	return slices.ContainsFunc(a.policy.Approvals, func(x Approval) bool {
		return x.Ring == ring && names(x.Revision, t.Revision) && x.isValid(a.now) && (x.Overtakes || !overtakes)
	})
}

// Short shortens a revision for people.
func Short(revision string) string {
	if kind, sum, ok := strings.Cut(revision, ":"); ok && len(sum) > 8 {
		return kind + ":" + sum[:8]
	}
	if len(revision) >= 40 {
		return revision[:10]
	}
	return revision
}
