package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

const (
	askNext = `{"view":"components","group":"addons","component":"dns","release":"next"}`
	ofNext  = "addons-next-dns"
)

// moving is the release that a member of twoReleases is moved to.
func moving(from, to int) map[string]string {
	return each(from, to, func(s string) string { return s + "labels: {addonsRelease: next}\n" })
}

// twoReleases is a fleet whose second half is on release next.
func twoReleases(change ...map[string]string) map[string]string {
	return twelve(with(append([]map[string]string{moving(dozen/2+1, dozen)}, change...)...))
}

// twoOwners are the Applications of twoReleases.
func twoOwners() []facts.Application {
	apps, _ := running().Applications()
	var out []facts.Application
	for _, a := range apps {
		if a.Component == "dns" && a.Cluster > member(dozen/2) {
			a.Release, a.Controller = "next", ofNext
		}
		out = append(out, a)
	}
	return out
}

// bothAsk are the ApplicationSets of twoReleases.
func bothAsk() *asking {
	return &asking{refreshed: make(chan string, 1000), sets: []facts.ApplicationSet{
		{Name: ofDNS, Requests: []json.RawMessage{[]byte(askDNS)}}, {Name: ofNext, Requests: []json.RawMessage{[]byte(askNext)}},
	}}
}

// Rules D4 and G3: what moves to a release whose own answer is beyond the budget stays with the old
// one until that is approved, whichever requesters are known. It does not wait for what is held.
func TestMovedSetWaitsForARefusedResponse(t *testing.T) {
	const waits = `handover: addons/dns of 1 members moves, but release "next" has no answer: removal budget: 3 of 6 members would lose addons/dns; 1 may go without approval (docs/how-to/approve-a-removal.md)`
	const selected = `{"view":"components","group":"addons","component":"dns","release":"next","selector":{"matchLabels":{"ring":"a"}}}`
	gone := map[string]string{memberPath(8): "", memberPath(9): "", memberPath(10): ""}
	ring := func(from, to int) map[string]string {
		return each(from, to, func(s string) string { return s + "labels: {addonsRelease: next, ring: a}\n" })
	}
	rings, unlabelled, first := ring(dozen/2+1, dozen), moving(8, 10), ring(1, 1)
	allow := map[string]string{approval: "kind: RemovalApproval\nexpires: 2026-11-30\nremovals:\n- {clusters: [m08, m09, m10], component: \"*\", reason: r}\n"}
	for _, w := range []struct {
		name string
		set  func(*server.Options)
	}{
		{"Applications", func(o *server.Options) {
			o.Facts = &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications(twoOwners()...)}
			o.ApplicationSets = bothAsk()
			o.ApplicationSets.(*asking).sets[1].Requests[0] = []byte(selected)
		}},
		{"last answers", func(*server.Options) {}},
	} {
		t.Run(w.name, func(t *testing.T) {
			s := start(t, w.set, func(o *server.Options) { o.Now = func() time.Time { return today } })
			s.say(twoReleases(rings))
			s.gives(ofDNS, askDNS, dozen/2)
			s.gives(ofNext, selected, dozen/2)

			s.say(twoReleases(rings, unlabelled, first))
			if r := s.askAs(ofNext, selected); r.code != http.StatusServiceUnavailable {
				t.Fatalf("the new release: %d %s", r.code, r.body)
			}
			s.refuses(ofDNS, askDNS, waits)
			if all := inLines(s.listHolds("reason=handover&cluster=m01")); !strings.Contains(all, `handover retail m01 addons/dns: `) || !strings.Contains(all, `: moves (moved: it is on release "next"); `+waits) {
				t.Error(all)
			}
			if _, ready := s.readiness(); len(ready.RefusedRemovals) != 2 {
				t.Errorf("readyz: %+v", ready.RefusedRemovals)
			}
			s.say(twoReleases(rings, unlabelled))
			s.gives(ofDNS, askDNS, dozen/2) // nothing moves: it does not wait for anybody

			s.say(twoReleases(rings, unlabelled, first, allow))
			s.gives(ofDNS, askDNS, dozen/2-1)

			s.say(twoReleases(rings))
			s.gives(ofDNS, askDNS, dozen/2)
			s.gives(ofNext, selected, dozen/2)
			before := s.rows(ofNext, selected)
			s.say(twoReleases(rings, gone, first))
			s.holds(ofNext, selected, before, names(8, 10)...)
			s.gives(ofDNS, askDNS, dozen/2-1)
		})
	}
}

// Rules D4 and G1: so does what moves to a release, or to an engine, that cannot be answered.
func TestMovedSetWaitsForAnOwnerThatCanAnswer(t *testing.T) {
	var secrets []facts.Cluster
	for i := 1; i <= dozen; i++ {
		if i != 8 {
			secrets = append(secrets, facts.Cluster{Name: member(i)})
		}
	}
	lost := facts.NewSet(true, secrets...).WithApplications(twoOwners()...)
	known := &changingFacts{running: make(chan struct{}), set: lost}
	s := start(t, func(o *server.Options) { o.Facts, o.ApplicationSets = known, bothAsk() })
	s.say(twoReleases())
	s.gives(ofDNS, askDNS, dozen/2)
	s.say(twoReleases(moving(1, 1)))
	if r := s.askAs(ofDNS, askDNS); r.code != http.StatusServiceUnavailable || !strings.HasPrefix(r.message(), `handover: addons/dns of 1 members moves, but release "next" has no answer: `) ||
		!strings.Contains(r.message(), `cluster "m08"`) {
		t.Errorf("%d %s", r.code, r.message())
	}
	known.tell(facts.NewSet(true, append(secrets, facts.Cluster{Name: member(8)})...).WithApplications(twoOwners()...))
	s.until("its Secret is back", func(refresh.Status) bool { return s.askAs(ofDNS, askDNS).code == http.StatusOK })
	s.gives(ofDNS, askDNS, dozen/2-1)
}

// Rule D4: what moves to a release that no ApplicationSet asks for yet stays with the old one until
// one does: they are made by an Application that may not be synced, or cannot be. The root's own
// answer, by which they are made, does not wait; nor does what an approval names, nor anything
// where it is not known who asks.
func TestMovedSetWaitsForARequester(t *testing.T) {
	const (
		waits       = `handover: addons/dns of 1 members moves, but release "next" has no answer: no ApplicationSet asks for it`
		askReleases = `{"view":"releases","group":"addons"}`
	)
	allow := map[string]string{approval: "kind: RemovalApproval\nexpires: 2026-11-30\nremovals:\n- {clusters: [m01], component: \"*\", reason: r}\n"}
	old := facts.ApplicationSet{Name: ofDNS, Requests: []json.RawMessage{[]byte(askDNS)}}
	root := facts.ApplicationSet{Name: "addons", Requests: []json.RawMessage{[]byte(askReleases)}}
	moved := func(t *testing.T, known *changingFacts, sets ...facts.ApplicationSet) (*service, *asking) {
		t.Helper()
		asks := &asking{refreshed: make(chan string, 1000), sets: sets}
		s := start(t, func(o *server.Options) {
			o.Facts, o.ApplicationSets, o.Now = known, asks, func() time.Time { return today }
		})
		s.say(twelve(nil))
		s.gives(ofDNS, askDNS, dozen)
		s.say(twelve(moving(1, 1)))
		return s, asks
	}
	made := func(s *service) {
		s.Helper()
		_, next, is := strings.Cut(s.askAs("addons", askReleases).body, "application-sets-addons-next")
		if !is || !strings.Contains(next, `dns:\n    enabled: true`) {
			s.Errorf("nobody would make what asks: %s", next)
		}
	}
	knows := func(set facts.Set) *changingFacts { return &changingFacts{running: make(chan struct{}), set: set} }
	for name, set := range map[string]facts.Set{"Applications": running(), "last answers": facts.NewSet(false)} {
		t.Run(name, func(t *testing.T) {
			known := knows(set)
			s, asks := moved(t, known, old, root)
			s.refuses(ofDNS, askDNS, waits)
			made(s)
			asks.mu.Lock()
			asks.sets = []facts.ApplicationSet{old, root, {Name: ofNext, Requests: []json.RawMessage{[]byte(askNext)}}}
			asks.mu.Unlock()
			if _, all := set.Applications(); all {
				s.gives(ofNext, askNext, 0) // as long as it is the old one's (0011)
			}
			s.gives(ofDNS, askDNS, dozen-1)
			if apps, all := set.Applications(); all {
				known.tell(facts.NewSet(false).WithApplications(slices.DeleteFunc(slices.Clone(apps), func(a facts.Application) bool { return a.Name == "dns-m01" })...))
				s.until("the old one has let go", func(refresh.Status) bool { return len(s.deletions(s.askAs(ofNext, askNext))) == 1 })
			}
		})
	}
	t.Run("all of a release", func(t *testing.T) {
		s, _ := moved(t, knows(running()), old, root)
		s.say(twelve(moving(1, dozen)))
		s.refuses(ofDNS, askDNS, strings.Replace(waits, "of 1", "of 12", 1))
		made(s)
	})
	t.Run("approved", func(t *testing.T) {
		s, _ := moved(t, knows(running()), old, root)
		s.say(twelve(with(moving(1, 1), allow)))
		s.gives(ofDNS, askDNS, dozen-1)
	})
	for name, sets := range map[string][]facts.ApplicationSet{
		"one asks what Argo CD alone knows": {old, root, {Name: "x", Templated: true}},
		"one asks for all releases":         {old, {Name: "x", Requests: []json.RawMessage{[]byte(`{"view":"components","group":"addons"}`)}}},
		"the caller is not known":           {root},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := moved(t, knows(running()), sets...)
			s.gives(ofDNS, askDNS, dozen-1)
		})
	}
}

// Rule D4: releases that exchange members do not wait for each other.
func TestReleasesExchangeMembersWithoutDeadlock(t *testing.T) {
	s := start(t, func(o *server.Options) {
		o.Facts = &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications(twoOwners()...)}
		o.ApplicationSets = bothAsk()
	})
	s.say(twoReleases())
	s.say(twoReleases(moving(1, 2), each(11, 12, func(text string) string { return text })))
	s.gives(ofDNS, askDNS, dozen/2-2) // those that come wait until they are let go of
	s.gives(ofNext, askNext, dozen/2-2)
}

// Rules D2 and G3: a member file that goes from one hub's folder to another's in one commit is no
// removal; one that goes while the other hub had a cluster of that name all along is.
func TestMoveToAnotherHubIsNoRemoval(t *testing.T) {
	there := func(to int) map[string]string {
		out := map[string]string{}
		for i := 1; i <= to; i++ {
			out[strings.Replace(memberPath(i), "hub-1", "hub-2", 1)] = twelve(nil)[memberPath(i)]
		}
		return out
	}
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			s := guarded(t, w.known)
			s.say(twelve(with(half(), there(dozen/2))))
			s.gives(ofDNS, askDNS, dozen/2)
			s.gives(ofMembers, askMembers, dozen/2)
		})
		t.Run(w.name+", a later commit", func(t *testing.T) {
			s := guarded(t, w.known)
			s.say(twelve(with(half(), there(dozen/2))))
			s.say(twelve(with(half(), there(dozen/2), map[string]string{"README.yaml": "x: 1\n"})))
			s.gives(ofDNS, askDNS, dozen/2)
		})
		t.Run(w.name+", called the same", func(t *testing.T) {
			s := guarded(t, w.known)
			s.say(twelve(there(dozen / 2)))
			held := s.holding(names(1, dozen/2)...)
			s.say(twelve(with(half(), there(dozen/2))))
			held()
		})
		t.Run(w.name+", in two commits", func(t *testing.T) {
			s := guarded(t, w.known)
			held := s.holding(names(1, dozen/2)...)
			s.say(twelve(half()))
			held()
			listing := func() string { return s.get("/api/v1/fleet").body }
			assert.Contains(t, listing(), `"detail":"its member file is gone"`)
			s.say(twelve(with(half(), there(dozen/2))))
			held()
			if got := listing(); !strings.Contains(got, `"detail":"its member file is gone, and hub \"hub-2\" has one of that name"`) || !strings.Contains(got, "fleet/fleet-members/hub-2/m01.yaml") {
				t.Error(got)
			}
			s.say(twelve(with(half(), there(dozen/2), approved("2026-11-30"))))
			s.gives(ofDNS, askDNS, dozen/2)
		})
		t.Run(w.name+", broken there", func(t *testing.T) {
			s := guarded(t, w.known)
			moved := there(dozen / 2)
			for path := range moved {
				moved[path] += "label: {}\n"
			}
			held := s.holding(names(1, dozen/2)...)
			s.say(twelve(with(half(), moved)))
			held()
		})
		t.Run(w.name+", and switched off there", func(t *testing.T) {
			s := guarded(t, w.known)
			off := map[string]string{"addons/tenants/defaults/application-sets/addons.yaml": "dns: {enabled: false}\n"}
			before := s.rows(ofDNS, askDNS)
			s.say(twelve(with(half(), there(dozen/2), off)))
			s.holds(ofDNS, askDNS, before, names(1, dozen)...)
			s.gives(ofMembers, askMembers, dozen/2)
		})
	}
}

// Rule G3: a folder without a hub is nowhere to move to.
func TestMoveToNoHubIsALoss(t *testing.T) {
	moved := map[string]string{}
	for i := 1; i <= dozen/2; i++ {
		moved[strings.Replace(memberPath(i), "hub-1", "hub-11", 1)] = twelve(nil)[memberPath(i)]
	}
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			s := guarded(t, w.known)
			held := s.holding(names(1, dozen/2)...)
			s.say(twelve(with(half(), moved)))
			held()
		})
	}
}
