package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestNoRingBeforeTheGate: 1,000 commits, some of them bad, on 40 members in 4 rings, with replicas
// that are killed and that overtake each other; members go down, flap and come back. No ring takes
// what has not passed the ring before it, and the last ring goes on. (G8)
func TestNoRingBeforeTheGate(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) { // 250 commits each
		w := newWorld(t, seed, fourRings, 10)
		for commit := range 250 {
			w.newest++
			w.bad[w.newest] = commit%7 == 3
			for _, m := range w.members {
				switch w.random.IntN(400) {
				case 0:
					m.isDown = true
				case 1:
					m.flapped = true
				case 2, 3, 4, 5:
					m.isDown = false
				}
			}
			w.run(time.Duration(w.random.IntN(600))*time.Second, 20*time.Second)
		}
		for _, m := range w.members {
			m.isDown = false
		}
		w.newest++
		w.run(4*time.Hour, 20*time.Second)
		if got := w.train("prod"); got != revision(w.newest) || len(w.waits) > 0 {
			t.Errorf("seed %d: prod is at %s, want %s: %v", seed, got, revision(w.newest), w.waits)
		}
	}
}

// TestFlapRestartsTheSoak: a member that breaks at 90 % of the soak, between two looks, starts it
// anew; all replicas away for a while shift its end by that while alone.
func TestFlapRestartsTheSoak(t *testing.T) {
	t.Parallel()
	const text = "rings: [{name: canary, selector: {}, soak: 10m}, {name: prod, selector: {}}]\n"
	end := func(disturb func(w *world)) time.Duration {
		w := newWorld(t, 1, text, 3)
		w.newest++
		w.run(2*time.Minute, time.Second)
		start := w.log.Rings["canary"].HealthySince
		for w.now.Sub(start) < 9*time.Minute {
			w.run(time.Second, time.Second)
		}
		disturb(w)
		for w.train("prod") != revision(2) {
			w.run(time.Second, time.Second)
		}
		return w.now.Sub(start)
	}
	if got := end(func(*world) {}); got < 10*time.Minute || got > 10*time.Minute+10*time.Second {
		t.Error("undisturbed:", got)
	}
	if got := end(func(w *world) {
		w.members["m0-01"].flapped = true
		w.tick(time.Second) // nobody looks while it is broken
		w.tick(time.Second)
	}); got < 19*time.Minute || got > 19*time.Minute+10*time.Second {
		t.Error("a flap between two looks:", got)
	}
	if got := end(func(w *world) { w.tick(30 * time.Second) }); got > 10*time.Minute+5*time.Second {
		t.Error("a restart:", got)
	}
	if got := end(func(w *world) { w.tick(20 * time.Minute) }); got < 30*time.Minute {
		t.Error("what nobody watched counts for the soak:", got)
	}
}

// TestMembersComeAndGo: five join and five leave in the middle; the train arrives.
func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, fourRings, 10)
	w.newest++
	w.run(12*time.Minute, 5*time.Second)
	for i := range 5 {
		delete(w.members, fmt.Sprintf("m%d-0%d", i%4, i))
		ring := w.policy.Rings[i%4].Name
		w.members[fmt.Sprintf("m%d-new%d", i%4, i)] = &simulated{ring: i % 4, revision: w.train(ring), written: w.now, due: w.now.Add(time.Minute)}
	}
	w.run(90*time.Minute, 5*time.Second)
	if got := w.train("prod"); got != revision(2) || len(w.waits) > 0 {
		t.Error(got, w.waits)
	}
}

// TestUnreachableMemberWithinTheBudget: one dead member blocks nobody where one may be unavailable;
// where none may, the ring says for whom it waits.
func TestUnreachableMemberWithinTheBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5, fourRings, 10)
	w.members["m1-03"].isDown = true
	w.newest++
	w.run(90*time.Minute, 5*time.Second)
	if got := w.train("prod"); got != revision(2) {
		t.Error(got, w.waits)
	}
	w = newWorld(t, 5, fourRings, 10)
	w.members["m0-03"].isDown = true
	w.newest++
	w.run(90*time.Minute, 5*time.Second)
	w.advance()
	if w.train("staging") != revision(1) || len(w.waits) == 0 || w.waits[0].Cluster != "m0-03" || w.waits[0].Reason != Unhealthy {
		t.Error(w.train("staging"), w.waits)
	}
}

// TestLastRingDoesNotStarve: a commit a minute, with a soak of ten; the last ring advances at least
// every sum of soaks, and a hotfix overtakes.
func TestLastRingDoesNotStarve(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 7, `
rings:
- {name: canary, selector: {}, soak: 10m}
- {name: staging, selector: {}, soak: 10m}
- {name: prod, selector: {}, soak: 10m}
`, 5)
	last, at, longest := w.train("prod"), w.now, time.Duration(0)
	for range 600 {
		w.newest++
		w.run(time.Minute, 10*time.Second)
		if now := w.train("prod"); now != last {
			if last != revision(1) {
				longest = max(longest, w.now.Sub(at))
			}
			last, at = now, w.now
		}
	}
	if longest > 33*time.Minute || longest == 0 {
		t.Errorf("the last ring waited %s", longest)
	}
	w.policy.Approvals = []Approval{{Ring: "prod", Revision: revision(w.newest), Expires: w.now, Overtakes: true}}
	w.run(time.Minute, 10*time.Second)
	if got := w.train("prod"); got != revision(w.newest) {
		t.Errorf("a hotfix does not overtake: %s, newest %d", got, w.newest)
	}
	w.run(time.Hour, 10*time.Second)
	if got := w.train("prod"); got < revision(w.newest) {
		t.Errorf("what passed before the hotfix replaces it: %s", got)
	}
}

// TestFailedRing: back answers the last passed train and takes no rejected one again; hold stays;
// either lets the next good commit through.
func TestFailedRing(t *testing.T) {
	t.Parallel()
	for onFailure, want := range map[string]string{"back": revision(1), "hold": revision(2)} {
		w := newWorld(t, 9, "rings: [{name: canary, selector: {}, soak: 5m, onFailure: "+onFailure+"}, {name: prod, selector: {}, soak: 5m}]\n", 3)
		w.newest, w.bad[2] = 2, true
		w.run(30*time.Minute, 10*time.Second)
		w.run(time.Minute, 10*time.Second)
		if w.train("canary") != want || w.train("prod") != revision(1) {
			t.Errorf("%s: canary at %s, prod at %s", onFailure, w.train("canary"), w.train("prod"))
		}
		if len(w.waits) == 0 || w.waits[0].Reason != Failed {
			t.Errorf("%s: %v", onFailure, w.waits)
		}
		w.newest = 3
		w.run(30*time.Minute, 10*time.Second)
		if w.train("prod") != revision(3) {
			t.Errorf("%s: the fix does not get through: %s", onFailure, w.train("prod"))
		}
	}
}

// TestLateFailureStopsTheNextRing: what passed and then broke is not taken by the next ring, which
// waited for its window.
func TestLateFailureStopsTheNextRing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 11, `
rings:
- {name: canary, selector: {}, soak: 5m}
- {name: prod, selector: {}, windows: [{from: "08:00", to: "09:00"}]}
`, 3)
	w.newest = 2
	w.run(time.Hour, 10*time.Second)
	if r := w.log.Rings["canary"]; !r.HasPassed() || w.train("prod") != revision(1) {
		t.Fatal(r, w.train("prod"))
	}
	if x := w.waits; len(x) != 1 || x[0].Reason != Closed || x[0].Earliest.Hour() != 8 {
		t.Error(x)
	}
	w.bad[2] = true
	w.run(90*time.Minute, 10*time.Second)
	if w.train("prod") != revision(1) {
		t.Error("prod has taken what fails on canary")
	}
}

// TestNoWriteOutsideWindows: in a simulated week with a commit an hour no ring starts outside of
// its window or inside a freeze.
func TestNoWriteOutsideWindows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8, `
rings:
- {name: canary, selector: {}, soak: 10m}
- name: prod
  selector: {}
  windows: [{days: [mon, tue, wed, thu], from: "09:00", to: "16:00", timeZone: America/New_York}]
  freezes: [{from: 2026-11-26, to: 2026-11-26, timeZone: America/New_York, reason: holiday}]
`, 3)
	zone, _ := time.LoadLocation("America/New_York")
	moves := 0
	for range 7 * 24 {
		w.newest++
		for range 30 {
			before := w.train("prod")
			w.run(2*time.Minute, time.Minute) // no longer: what nobody watches does not count
			if w.train("prod") == before {
				continue
			}
			moves++
			if local := w.now.In(zone); local.Hour() < 9 || local.Hour() >= 16 || local.Day() == 26 || local.Weekday() > time.Thursday || local.Weekday() == time.Sunday {
				t.Errorf("prod moves at %s", local)
			}
		}
	}
	if moves < 15 {
		t.Error("only moves:", moves)
	}
}

// TestApprovalNamesRingAndRevision: a ring that needs one takes the approved train alone, until it
// expires.
func TestApprovalNamesRingAndRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, "rings: [{name: canary, selector: {}, soak: 1m}, {name: prod, selector: {}, approval: required}]\n", 2)
	w.newest = 2
	w.run(10*time.Minute, 10*time.Second)
	w.newest = 3
	w.run(10*time.Minute, 10*time.Second)
	if w.train("prod") != revision(1) || len(w.waits) != 1 || w.waits[0].Reason != NeedsApproval {
		t.Error(w.train("prod"), w.waits)
	}
	w.policy.Approvals = []Approval{{Ring: "prod", Revision: revision(3), Expires: w.now.AddDate(0, 0, -1)}, {Ring: "canary", Revision: revision(3), Expires: w.now}}
	w.run(time.Minute, 10*time.Second)
	if w.train("prod") != revision(1) {
		t.Error("an expired approval, or that of another ring, counts")
	}
	w.policy.Approvals = []Approval{{Ring: "prod", Revision: revision(2), Expires: w.now}}
	w.run(time.Minute, 10*time.Second)
	if w.train("prod") != revision(2) {
		t.Error("the approved train, which has passed, is not taken:", w.train("prod"))
	}
}

// TestPausedAndPinned: neither lets a ring move; a pin is taken at once, also backwards.
func TestPausedAndPinned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 13, "rings: [{name: canary, selector: {}}, {name: prod, selector: {}}]\n", 2)
	w.policy.Paused = true
	w.newest = 2
	w.run(10*time.Minute, 10*time.Second)
	if w.train("canary") != revision(1) || len(w.waits) != 2 || w.waits[0].Reason != Paused {
		t.Error(w.train("canary"), w.waits)
	}
	w.policy.Paused = false
	w.run(10*time.Minute, 10*time.Second)
	w.policy.Pins = []Pin{{Ring: "prod", Revision: revision(1)}}
	w.newest = 3
	w.run(10*time.Minute, 10*time.Second)
	if w.train("prod") != revision(1) || w.train("canary") != revision(3) || len(w.waits) != 1 || w.waits[0].Reason != Pinned {
		t.Error(w.train("canary"), w.train("prod"), w.waits)
	}
}

// TestLostRecordHolds: a log that is gone takes nothing, until a pin says what the ring is to have.
// (G9)
func TestLostRecordHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, "rings: [{name: canary, selector: {}}, {name: prod, selector: {}}]\n", 2)
	w.log = Log{}
	w.newest = 5
	w.run(time.Hour, time.Minute)
	for _, x := range w.waits {
		if x.Reason != Lost {
			t.Error(x)
		}
	}
	if len(w.moves) > 0 || len(w.waits) != 2 {
		t.Error(w.moves, w.waits)
	}
	w.policy.Pins = []Pin{{Ring: "prod", Revision: revision(5)}}
	w.run(time.Minute, 10*time.Second)
	if w.train("prod") != revision(5) || w.train("canary") != "" {
		t.Error(w.train("prod"), w.train("canary"))
	}
}

// TestFlapsOfWhatMayBeUnavailable: as many members as may be unavailable may flap at different
// times in one soak; one more at the same time starts it anew. (G8)
func TestFlapsOfWhatMayBeUnavailable(t *testing.T) {
	t.Parallel()
	const text = "rings: [{name: canary, selector: {}, maxUnavailable: 1, soak: 10m}, {name: prod, selector: {}}]\n"
	for between, want := range map[time.Duration]time.Duration{3 * time.Minute: 10 * time.Minute, 30 * time.Second: 14 * time.Minute} {
		w := newWorld(t, 1, text, 3)
		w.newest++
		w.run(2*time.Minute, time.Second)
		start := w.log.Rings["canary"].HealthySince
		for _, m := range []string{"m0-00", "m0-01"} {
			for w.now.Sub(start) < 4*time.Minute {
				w.run(time.Second, time.Second)
			}
			w.members[m].flapped = true
			w.tick(time.Second) // nobody looks while it is broken
			w.tick(time.Second)
			w.run(between, time.Second)
		}
		for w.train("prod") != revision(2) {
			w.run(time.Second, time.Second)
		}
		if got := w.now.Sub(start); got < want || got > want+10*time.Second {
			t.Errorf("flaps %s apart: the soak ended after %s, want %s", between, got, want)
		}
	}
}

// TestChecksAreEvidenceOfTheirTrain: a ring passes by results that are of its train and its checks,
// newer than the train and not old, and unbroken for the soak. (G8)
func TestChecksAreEvidenceOfTheirTrain(t *testing.T) {
	t.Parallel()
	const text = "rings: [{name: canary, selector: {}, soak: 10m, checks: [{name: up, url: \"https://h\"}]}, {name: prod, selector: {}}]\n"
	holds, breaks, fails := CheckOutcome{}, CheckOutcome{Why: "check \"up\": no response"}, CheckOutcome{Why: "check \"up\": status 500", Fails: true}
	run := func(d time.Duration, w *world, r *CheckResult, outcome CheckOutcome) {
		for end := w.now.Add(d); w.now.Before(end); {
			*r = r.Add(w.log.Rings["canary"].Train.Number, w.policy.Rings[0].ChecksText(), w.now, []CheckOutcome{outcome})
			w.checks = map[string]CheckResult{"canary": *r}
			w.run(10*time.Second, 10*time.Second)
		}
	}
	for name, c := range map[string]struct {
		disturb func(w *world, r *CheckResult)
		at      string // what prod has 9 minutes after
		reason  WaitReason
	}{
		"they hold": {func(*world, *CheckResult) {}, revision(2), ""},
		"a break":   {func(w *world, r *CheckResult) { run(10*time.Second, w, r, breaks) }, revision(1), Soaking},
		"a break, seen later": {func(w *world, r *CheckResult) {
			*r = r.Add(2, w.policy.Rings[0].ChecksText(), w.now, []CheckOutcome{breaks})
		}, revision(1), Soaking},
		"two failures": {func(w *world, r *CheckResult) { run(20*time.Second, w, r, fails) }, revision(1), Soaking},
		"failures":     {func(w *world, r *CheckResult) { run(40*time.Second, w, r, fails) }, revision(1), Soaking},
		"other checks": {func(w *world, _ *CheckResult) {
			w.policy.Rings[0].Checks[0].URL = "https://other"
			w.run(10*time.Second, 10*time.Second)
		}, revision(1), Soaking},
		"nobody looks": {func(w *world, _ *CheckResult) { w.run(3*time.Minute, 10*time.Second) }, revision(1), Soaking},
	} {
		w, r := newWorld(t, 1, text, 3), CheckResult{}
		run(time.Minute, w, &r, holds)
		w.newest++
		run(2*time.Minute, w, &r, holds)
		run(6*time.Minute, w, &r, holds)
		c.disturb(w, &r)
		run(9*time.Minute, w, &r, holds)
		if got := w.train("prod"); got != c.at || c.reason != "" && (len(w.waits) == 0 || w.waits[0].Reason != c.reason) {
			t.Errorf("%s: prod is at %s, want %s: %v", name, got, c.at, w.waits)
		}
		run(5*time.Minute, w, &r, holds)
		if got := w.train("prod"); got != revision(2) {
			t.Errorf("%s: prod never takes what holds: %s, %v", name, got, w.waits)
		}
	}
	w, r := newWorld(t, 1, strings.Replace(text, "soak: 10m", "soak: 10m, onFailure: back", 1), 3), CheckResult{}
	run(time.Minute, w, &r, holds)
	w.newest++
	run(4*time.Minute, w, &r, holds)
	run(time.Minute, w, &r, breaks)
	if w.train("canary") != revision(2) || w.waits[0].Reason != ChecksFail {
		t.Errorf("an endpoint that cannot be reached: %s, %v", w.train("canary"), w.waits)
	}
	run(20*time.Second, w, &r, fails)
	if w.train("canary") != revision(2) {
		t.Error("a check that fails twice in a row fails its ring")
	}
	run(10*time.Second, w, &r, fails)
	if x := w.log.Rings["canary"]; w.train("canary") != revision(1) || !strings.Contains(x.Rejection, "status 500") {
		t.Errorf("a check that fails: %s, %+v", w.train("canary"), x)
	}
}

// TestApprovedTrainIsNotForgotten: a ring takes what was approved when its window opens, however
// many trains have passed the ring before it meanwhile.
func TestApprovedTrainIsNotForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, "rings: [{name: canary, selector: {}}, {name: prod, selector: {}, approval: required, windows: [{from: \"20:00\", to: \"21:00\"}]}]\n", 2)
	w.newest = 2
	w.run(10*time.Minute, 10*time.Second)
	w.policy.Approvals = []Approval{{Ring: "prod", Revision: revision(2), Expires: w.now}}
	for range 6 {
		w.newest++
		w.run(30*time.Minute, 10*time.Second)
	}
	w.run(12*time.Hour, 10*time.Second)
	if w.train("prod") != revision(2) {
		t.Errorf("prod is at %s in its window, and %s is approved: %v", w.train("prod"), revision(2), w.waits)
	}
}

// TestDeadlineEndsWithHealth: a ring that was healthy in time does not fail by a break in its soak,
// however long ago it took the train: the break starts the soak anew. One that does not become
// healthy again within the deadline fails. (3)
func TestDeadlineEndsWithHealth(t *testing.T) {
	t.Parallel()
	const text = "rings: [{name: canary, selector: {}, soak: 1h, deadline: 10m, onFailure: back}, {name: prod, selector: {}}]\n"
	for _, c := range []struct {
		away time.Duration
		want string
	}{{time.Minute, revision(2)}, {9 * time.Minute, revision(2)}, {11 * time.Minute, revision(1)}} {
		w := newWorld(t, 1, text, 3)
		w.newest++
		w.run(20*time.Minute, 10*time.Second)
		if w.log.Rings["canary"].HealthySince.IsZero() {
			t.Fatal("it does not soak")
		}
		w.members["m0-01"].isDown = true
		w.run(c.away, 10*time.Second)
		w.members["m0-01"].isDown = false
		w.run(2*time.Hour, 10*time.Second)
		if canary, prod := w.train("canary"), w.train("prod"); canary != c.want || prod != c.want {
			t.Errorf("away for %s: canary at %s, prod at %s, want %s: %v", c.away, canary, prod, c.want, w.waits)
		}
	}
}

// TestRollbackStopsTheNextRing: what a ring was put back from by a pin is not taken by the next
// ring, which waited for its window.
func TestRollbackStopsTheNextRing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 11, `
rings:
- {name: canary, selector: {}, soak: 5m}
- {name: prod, selector: {}, windows: [{from: "08:00", to: "09:00"}]}
`, 3)
	w.newest = 2
	w.run(time.Hour, 10*time.Second)
	if r := w.log.Rings["canary"]; !r.HasPassed() || w.train("prod") != revision(1) {
		t.Fatal(r, w.train("prod"))
	}
	w.newest, w.policy.Pins = 3, []Pin{{Ring: "canary", Revision: revision(1)}}
	w.run(90*time.Minute, 10*time.Second)
	if w.train("canary") != revision(1) || w.train("prod") != revision(1) {
		t.Errorf("canary at %s, prod at %s", w.train("canary"), w.train("prod"))
	}
	w.policy.Pins = nil
	w.run(24*time.Hour, 10*time.Second)
	if w.train("canary") != revision(3) || w.train("prod") != revision(3) {
		t.Errorf("without the pin: canary at %s, prod at %s", w.train("canary"), w.train("prod"))
	}
}
