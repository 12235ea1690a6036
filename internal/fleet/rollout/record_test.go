package rollout

import (
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// TestOldRevisionDepartsNoTrain: a train departs for a revision that is newer than the newest
// train, also for one that Git has gone back to, but not for what a replica that lags serves. (1)
func TestOldRevisionDepartsNoTrain(t *testing.T) {
	departed := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	log := Log{Newest: Train{2, "two"}, Departed: departed, Recent: []Train{{1, "one"}, {2, "two"}}}
	for name, c := range map[string]struct {
		newest, before string
		readAt         time.Duration // after the train departed
		want           bool
	}{
		"the same":                             {"two", "one", time.Hour, false},
		"the next commit":                      {"three", "two", time.Second, true},
		"the next commit, with a slow clock":   {"three", "two", -time.Hour, true},
		"Git goes back":                        {"one", "two", time.Second, true},
		"Git went back during a restart":       {"one", "", time.Hour, true},
		"Git went back, and nobody else looks": {"one", "one", time.Hour, true},
		"a replica lags":                       {"one", "one", -time.Second, false},
		"a replica lags, with a fast clock":    {"one", "one", time.Second, false},
		"a replica that lags restarts":         {"one", "", time.Second, false},
		"a replica takes in what it missed":    {"one", "zero", -time.Second, false},
		"a commit that no replica has seen":    {"three", "one", time.Second, true},
		"a commit of before that":              {"zero", "", -time.Second, false},
	} {
		f := Facts{Newest: c.newest, Before: c.before, ReadAt: departed.Add(c.readAt)}
		assert.Equal(t, c.want, log.IsOlderThan(f), "%s: older", name)
	}
	if !log.IsOlderThan(Facts{Newest: "three"}) || log.IsOlderThan(Facts{Newest: "one"}) {
		t.Error("without a time of reading, a revision counts as newer exactly when no train is of it")
	}
}

// TestRejectedTrainIsNotTakenAgain: the train that a ring goes back to may degrade as well, as in
// an outage. The ring does not take the newer one again then. (1)
func TestRejectedTrainIsNotTakenAgain(t *testing.T) {
	p := policy(t, "rings:\n- {name: canary, selector: {}, onFailure: back}\n")
	now := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	log := Begin(p, revision(1), now)
	look := func(newest int, s Status) {
		now = now.Add(time.Second)
		health := map[string]RingHealth{"canary": {Revision: log.Rings["canary"].Train.Revision, Members: []MemberHealth{{Member: "m", Status: s, Why: string(s)}}}}
		log, _ = Advance(p, log, Facts{Newest: revision(newest), Health: health}, now)
	}
	for n := 2; n <= 4; n++ {
		for range 3 {
			look(n, Healthy)
		}
	}
	look(5, Healthy)
	if r := log.Rings["canary"]; r.Train.Number != 5 {
		t.Fatalf("the ring has not taken train 5: %+v", r)
	}
	for range 2 {
		look(5, Degraded)
	}
	if r := log.Rings["canary"]; r.Train.Number >= 5 || r.Rejected != 5 {
		t.Errorf("train 5 was rejected and taken again: %+v", r)
	}
}

// TestRingDoesNotGoBackWhereItMayNot: a ring that fails stays, where its members may not become
// what they were: a cluster does not go back to an earlier version. (C2)
func TestRingDoesNotGoBackWhereItMayNot(t *testing.T) {
	for _, may := range []bool{true, false} {
		p := policy(t, "rings:\n- {name: canary, selector: {}, onFailure: back}\n")
		now := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
		log := Begin(p, revision(1), now)
		for _, s := range []Status{Healthy, Healthy, Healthy, Degraded} {
			now = now.Add(time.Second)
			log, _ = Advance(p, log, Facts{
				Newest: revision(2), MayFollow: func(_, from, to string) bool { return may || from < to },
				Health: map[string]RingHealth{"canary": {Revision: log.Rings["canary"].Train.Revision, Members: []MemberHealth{{Member: "m", Status: s}}}},
			}, now)
		}
		want := 2
		if may {
			want = 1
		}
		if r := log.Rings["canary"]; r.Train.Number != want {
			t.Errorf("may go back %t: %+v, want train %d", may, r, want)
		}
	}
}

// TestRejectedTrainsStayRejected: an approval that is valid still takes a ring to none of the
// trains that it went back from, and does not hide that the newest one needs an approval. (1)
func TestRejectedTrainsStayRejected(t *testing.T) {
	for _, overtakes := range []bool{true, false} {
		p := policy(t, "rings:\n- {name: canary, selector: {}}\n- {name: prod, selector: {}, approval: required, onFailure: back}\n")
		now := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
		log := Begin(p, revision(1), now)
		var waits []Wait
		look := func(newest int, prod Status) {
			now = now.Add(time.Second)
			health := map[string]RingHealth{}
			for ring, s := range map[string]Status{"canary": Healthy, "prod": prod} {
				health[ring] = RingHealth{Revision: log.Rings[ring].Train.Revision, Members: []MemberHealth{{Member: ring, Status: s, Why: string(s)}}}
			}
			log, waits = Advance(p, log, Facts{Newest: revision(newest), Health: health}, now)
		}
		last := 2
		if overtakes {
			last = 3
		}
		for n := 2; n <= last; n++ {
			p.Approvals = append(p.Approvals, Approval{Ring: "prod", Revision: revision(n), Expires: now, Overtakes: overtakes})
			look(n, Healthy)
			look(n, Healthy)
			if log.Rings["prod"].Train.Number != n {
				t.Fatalf("prod has not taken train %d: %+v", n, log.Rings["prod"])
			}
			look(n, Degraded)
		}
		if r := log.Rings["prod"]; r.Train.Number != 1 {
			t.Errorf("overtakes %t: prod takes what it went back from: %+v", overtakes, r)
		}
		look(4, Healthy)
		look(4, Healthy)
		if n := len(waits); n == 0 || waits[n-1].Ring != "prod" || waits[n-1].Reason != NeedsApproval {
			t.Errorf("overtakes %t: %v", overtakes, waits)
		}
	}
}

// TestPinnedRingStays: a ring that a pin keeps on a revision stays on it when it degrades, also
// with onFailure: back, and says that it has failed.
func TestPinnedRingStays(t *testing.T) {
	p := policy(t, "rings:\n- {name: canary, selector: {}, onFailure: back}\npins: [{ring: canary, revision: "+revision(2)+", reason: r}]\n")
	now := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	log := Begin(p, revision(1), now)
	for _, s := range []Status{Healthy, Healthy, Healthy, Degraded, Degraded} {
		now = now.Add(time.Second)
		log, _ = Advance(p, log, Facts{
			Newest: revision(2),
			Health: map[string]RingHealth{"canary": {Revision: log.Rings["canary"].Train.Revision, Members: []MemberHealth{{Member: "m", Status: s, Why: "it fails"}}}},
		}, now)
	}
	if r := log.Rings["canary"]; r.Train.Number != 2 || r.Failure == "" || r.Rejected != 0 {
		t.Errorf("%+v", r)
	}
}

// TestWhatAGroupHadIsKnown: an agent's group is back while it has had something newer, by its last
// eight revisions. (G7)
func TestWhatAGroupHadIsKnown(t *testing.T) {
	log := BeginFollowing("1", time.Time{})
	for _, step := range []struct {
		revision string
		isBack   bool
	}{{"2", false}, {"1", true}, {"2", false}, {"3", false}, {"1", true}, {"2", true}, {"4", false}, {"5", false}, {"6", false}, {"7", false}, {"8", false}, {"9", false}, {"2", true}, {"1", false}} {
		log = Follow(log, map[string]string{"addons": step.revision}, nil, func(string) bool { return true }, time.Time{})
		if r := log.Rings["addons"]; r.Train.Revision != step.revision || r.IsBack() != step.isBack || len(r.Had) > maxRecent {
			t.Fatalf("%s: %+v", step.revision, r)
		}
	}
}

// TestAnnouncementIsRead: an agent reads what its hub announces, and leaves out every word that
// lacks a policy or a revision.
func TestAnnouncementIsRead(t *testing.T) {
	assert.Equal(t, "canary=1 prod=3", ParseAnnouncement("canary=1 weekly =2 nightly= prod=3").String())
}

// TestRingIsBackByItsTrains: a hub's ring is back while it has had a train of a higher number, also
// one whose record is of an earlier version, and one that is new while another is back. (G7)
func TestRingIsBackByItsTrains(t *testing.T) {
	at := func(number int, revision string) Train { return Train{Number: number, Revision: revision} }
	one := Record{Train: at(1, "1")}
	for name, c := range map[string]struct {
		r      Record
		isBack bool
	}{
		"new":                       {one, false},
		"newer":                     {one.take(at(3, "3"), time.Time{}), false},
		"pinned to a skipped train": {one.take(at(3, "3"), time.Time{}).take(at(2, "2"), time.Time{}), true},
		"forward again":             {one.take(at(3, "3"), time.Time{}).take(at(1, "1"), time.Time{}).take(at(3, "3"), time.Time{}), false},
		"of an earlier version":     {Record{Train: at(3, "3"), Passed: []Train{at(2, "2")}}.take(at(2, "2"), time.Time{}), true},
		"rejected":                  {Record{Train: at(1, "1"), Rejected: 2}, true},
		"Git goes back":             {one.take(at(2, "2"), time.Time{}).take(at(3, "1"), time.Time{}), false},
	} {
		if c.r.IsBack() != c.isBack {
			t.Errorf("%s: %+v", name, c.r)
		}
	}
	p := &Policy{Rings: []Ring{{Name: "old"}, {Name: "new"}}}
	log := Log{Rings: map[string]Record{"old": one.take(at(2, "2"), time.Time{}).take(at(1, "1"), time.Time{})}}
	if !log.withRings(p, time.Time{}).Rings["new"].IsBack() {
		t.Error("a ring that begins where another is back is not back")
	}
}

// TestApprovalSkipsNoVersion: an approval lets a ring overtake gates and windows, and does not take
// its members to what they may not become. (C2)
func TestApprovalSkipsNoVersion(t *testing.T) {
	for _, may := range []bool{true, false} {
		p := policy(t, "rings:\n- {name: canary, selector: {}}\n- {name: prod, selector: {}, freezes: [{from: 2000-01-01, to: 2099-01-01}]}\n")
		now := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
		p.Approvals = []Approval{{Ring: "prod", Revision: revision(3), Expires: now, Overtakes: true}}
		log := Begin(p, revision(1), now)
		for _, newest := range []int{2, 3, 3} {
			now = now.Add(time.Second)
			log, _ = Advance(p, log, Facts{Newest: revision(newest), MayFollow: func(ring, from, to string) bool {
				return may || ring != "prod" || from != revision(1) || to != revision(3)
			}}, now)
		}
		want := 1
		if may {
			want = 3
		}
		if r := log.Rings["prod"]; r.Train.Number != want {
			t.Errorf("may follow %t: prod has train %d, want %d", may, r.Train.Number, want)
		}
	}
}

// TestDeadlineStandsStillWhileNobodyLooks: a ring whose members have not been seen since it took a
// train does not fail by that; one that is watched for the deadline does. The record is written
// meanwhile, so that a restart takes little of the time back. (3)
func TestDeadlineStandsStillWhileNobodyLooks(t *testing.T) {
	p := policy(t, "rings: [{name: canary, selector: {}, deadline: 10m, onFailure: back}, {name: prod, selector: {}}]\n")
	now := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	log := Begin(p, revision(1), now)
	look := func(after time.Duration, s Status) {
		now = now.Add(after)
		log, _ = Advance(p, log, Facts{Newest: revision(2), Health: map[string]RingHealth{
			"canary": {Revision: log.Rings["canary"].Train.Revision, Members: []MemberHealth{{Member: "m", Status: s}}},
		}}, now)
	}
	look(time.Second, Healthy)
	if log.Soaks(p) {
		t.Error("nobody has seen the ring at its train, and the record has to say so every few seconds")
	}
	look(time.Hour, Unknown) // the service was away
	if r := log.Rings["canary"]; r.Train.Number != 2 || r.Rejected != 0 {
		t.Fatalf("it fails by time in which nobody looked: %+v", r)
	}
	for range 10 {
		look(30*time.Second, Progressing)
	}
	if !log.Soaks(p) {
		t.Error("a restart would give it the whole deadline again")
	}
	look(time.Hour, Progressing) // away again
	for range 9 {
		look(30*time.Second, Progressing)
	}
	if r := log.Rings["canary"]; r.Train.Number != 2 {
		t.Errorf("it fails before its deadline: %+v", r)
	}
	for range 2 {
		look(30*time.Second, Progressing)
	}
	if r := log.Rings["canary"]; r.Train.Number != 1 || r.Rejected != 2 {
		t.Errorf("watched for its deadline, it does not fail: %+v", r)
	}
}
