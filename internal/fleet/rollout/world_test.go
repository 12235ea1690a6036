package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// world is a fleet with an injected clock: engines that take what they are answered after a while,
// and replicas of the service that write one log by compare-and-swap.
type world struct {
	t      *testing.T
	policy *Policy
	random *rand.Rand
	now    time.Time
	newest int
	// replicas are those of the service: each polls the repository for itself.
	replicas [2]replica
	log      Log
	version  int
	members  map[string]*simulated
	bad      map[int]bool // revisions that are degraded wherever they run
	// passed is when a train was healthy in a ring for its soak, as the world knows it: by ring and
	// revision.
	passed map[string]map[string]bool
	// since is when a ring became healthy at its train.
	since map[string]time.Time
	moves []string
	waits []Wait
	// checks are the results of the rings' checks.
	checks map[string]CheckResult
}

// replica is what a process knows: the revision that it serves, when it read that, and what it
// served when it wrote last.
type replica struct {
	newest int
	readAt time.Time
	before string
}

// polled is one of the replicas, which may lag.
func (w *world) polled(i int) *replica {
	r := &w.replicas[i]
	if w.random.IntN(4) > 0 || r.newest == 0 {
		r.newest, r.readAt = w.newest, w.now
	}
	return r
}

// simulated is a member's engine.
type simulated struct {
	ring              int
	isDown            bool
	revision          string // what it runs
	written, reported time.Time
	due               time.Time // when it has taken what it is answered
	healthySince      time.Time
	broken            time.Time
	flapped           bool
}

func newWorld(t *testing.T, seed uint64, text string, perRing int) *world {
	t.Helper()
	w := &world{
		t: t, policy: policy(t, text), random: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC),
		newest: 1, members: map[string]*simulated{}, bad: map[int]bool{}, passed: map[string]map[string]bool{}, since: map[string]time.Time{},
	}
	for i := range w.policy.Rings {
		for j := range perRing {
			w.members[fmt.Sprintf("m%d-%02d", i, j)] = &simulated{ring: i, revision: revision(1), written: w.now.Add(-time.Hour), reported: w.now, healthySince: w.now}
		}
	}
	w.log = Begin(w.policy, revision(1), w.now)
	for _, r := range w.policy.Rings {
		w.passed[r.Name] = map[string]bool{revision(1): true}
	}
	return w
}

func revision(n int) string { return fmt.Sprintf("revision-%04d", n) }

func (w *world) isBad(rev string) bool {
	n, _ := strconv.Atoi(strings.TrimPrefix(rev, "revision-"))
	return w.bad[n]
}

// tick lets the engines work for a step of time.
func (w *world) tick(step time.Duration) {
	w.now = w.now.Add(step)
	for _, m := range w.members {
		if m.isDown {
			m.healthySince = time.Time{}
			continue
		}
		answered := w.log.Rings[w.policy.Rings[m.ring].Name].Train.Revision
		if m.revision != answered {
			m.revision, m.written, m.healthySince = answered, w.now, time.Time{}
			m.due = w.now.Add(time.Duration(w.random.IntN(60)) * time.Second)
		}
		if w.now.Before(m.due) {
			continue // the engine has not reported since: what it says is of before
		}
		m.reported = w.now
		if w.isBad(m.revision) || m.flapped {
			m.broken, m.healthySince, m.flapped = w.now, time.Time{}, false
		} else if m.healthySince.IsZero() {
			m.healthySince = w.now
		}
	}
	for i, r := range w.policy.Rings {
		train := w.log.Rings[r.Name].Train.Revision
		healthy, all := 0, 0
		for _, m := range w.members {
			if m.ring == i {
				all++
				if m.revision == train && !m.healthySince.IsZero() {
					healthy++
				}
			}
		}
		switch {
		case all-healthy > r.MaxUnavailable.Of(all):
			w.since[r.Name] = time.Time{}
		case w.since[r.Name].IsZero():
			w.since[r.Name] = w.now.Add(-step) // at some moment since the last look
		}
		if since := w.since[r.Name]; !since.IsZero() && w.now.Sub(since) >= r.Soak {
			w.passed[r.Name][train] = true
		}
	}
}

// facts are what a replica sees.
func (w *world) facts(r *replica) Facts {
	out := Facts{Newest: revision(r.newest), Before: r.before, ReadAt: r.readAt, Health: map[string]RingHealth{}, Checks: w.checks}
	for i, r := range w.policy.Rings {
		train := w.log.Rings[r.Name].Train.Revision
		health := RingHealth{Revision: train, Members: []MemberHealth{}}
		for name, m := range w.members {
			if m.ring != i {
				continue
			}
			x := MemberHealth{Member: name, Status: Healthy, Broken: m.broken}
			switch {
			case m.isDown, m.revision != train, !m.reported.After(m.written):
				x.Take(Unknown, "the engine has not looked at it since it was written")
			case w.isBad(m.revision):
				x.Take(Degraded, "it is degraded")
			}
			health.Members = append(health.Members, x)
		}
		slices.SortFunc(health.Members, func(a, b MemberHealth) int { return cmpText(a.Member, b.Member) })
		out.Health[r.Name] = health
	}
	return out
}

func cmpText(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

// advance is one step of a replica. Another one may write in between, or the replica is killed
// before it writes: then nothing of it counts.
func (w *world) advance() {
	first := w.random.IntN(len(w.replicas))
	one, other := w.polled(first), w.polled(1-first)
	read, version := w.log, w.version
	next, waits := Advance(w.policy, read, w.facts(one), w.now)
	if again, _ := Advance(w.policy, next, w.facts(one), w.now); w.random.IntN(20) == 0 && !again.Equal(next) && same(again, next) {
		w.t.Fatalf("the same facts at the same time change more:\n%+v\n%+v", next, again)
	}
	switch w.random.IntN(5) {
	case 0:
		return // killed
	case 1: // another replica has been faster
		theirs, _ := Advance(w.policy, w.log, w.facts(other), w.now)
		w.write(theirs)
		other.before = revision(other.newest)
	}
	if version == w.version {
		w.write(next)
		w.waits, one.before = waits, revision(one.newest)
	}
}

// same reports whether no ring has moved between two logs.
func same(a, b Log) bool {
	for name, r := range a.Rings {
		if r.Train != b.Rings[name].Train {
			return false
		}
	}
	return true
}

// write replaces the log, and checks what has moved.
func (w *world) write(next Log) {
	if next.Newest.Revision < w.log.Newest.Revision {
		w.t.Fatalf("at %s a replica that lags departs %s after %s", w.now, next.Newest.Revision, w.log.Newest.Revision)
	}
	for i, r := range w.policy.Rings {
		before, after := w.log.Rings[r.Name], next.Rings[r.Name]
		if before.Train == after.Train {
			continue
		}
		w.since[r.Name] = time.Time{}
		w.moves = append(w.moves, fmt.Sprintf("%s %s", r.Name, after.Train.Revision))
		if i > 0 && after.Train.Number > before.Train.Number && !w.passed[w.policy.Rings[i-1].Name][after.Train.Revision] && !w.overtakes(r.Name, after.Train) {
			w.t.Fatalf("at %s ring %s takes %s before it has passed the ring before it", w.now, r.Name, after.Train.Revision)
		}
	}
	w.log = next
	w.version++
}

func (w *world) overtakes(ring string, t Train) bool {
	return slices.ContainsFunc(w.policy.Approvals, func(a Approval) bool { return a.Ring == ring && a.Overtakes && names(a.Revision, t.Revision) }) ||
		slices.ContainsFunc(w.policy.Pins, func(p Pin) bool { return p.Ring == ring && names(p.Revision, t.Revision) })
}

// run lets time pass.
func (w *world) run(d, step time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.tick(step)
		w.advance()
	}
}

func (w *world) train(ring string) string { return w.log.Rings[ring].Train.Revision }

const fourRings = `
rings:
- {name: canary, selector: {}, soak: 5m, onFailure: back}
- {name: staging, selector: {}, soak: 10m, maxUnavailable: 1}
- {name: wave, selector: {}, soak: 10m, maxUnavailable: 10%, onFailure: back}
- {name: prod, selector: {}, soak: 10m}
`
