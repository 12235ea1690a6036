package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestBaselineSurvivesARestart: a baseline survives a restart, in the state's folder or as
// Applications; without either, the first answer is compared with nothing. (G3)
func TestBaselineSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name    string
		known   *facts.Set
		dir     string
		refused bool
	}{{"state folder", nil, dir, true}, {"Applications", ptr(running()), "", true}, {"neither", nil, "", false}} {
		t.Run(c.name, func(t *testing.T) {
			keep := func(*server.Options) {}
			if c.dir != "" {
				keep = storedIn(t, c.dir)
			}
			require.NoError(t, guarded(t, c.known, keep).Stop(t.Context()))
			s := start(t, keep, func(o *server.Options) {
				o.Now = func() time.Time { return today }
				if c.known != nil {
					o.Facts = &changingFacts{running: make(chan struct{}), set: *c.known}
				}
			})
			s.say(twelve(half()))
			if !c.refused {
				s.gives(ofDNS, askDNS, dozen/2)
				return
			}
			s.hasHolds() // nobody here has the rows
			s.refuses(ofDNS, askDNS, refusedDNS)
			s.refuses(ofMembers, askMembers, refusedMembers)
			s.gives(ofWeb, askWeb, 1)
			s.say(twelve(with(half(), map[string]string{"README.yaml": "x: 1\n"})))
			s.refuses(ofDNS, askDNS, refusedDNS)
			s.say(twelve(with(half(), approved("2026-11-30"))))
			s.gives(ofDNS, askDNS, dozen/2)
		})
	}
}

// hasHolds waits until the service has read the record of holds.
func (s *service) hasHolds() {
	s.Helper()
	s.until("the record of holds is read", func(refresh.Status) bool {
		s.LookAtRings(s.Context())
		return !strings.Contains(s.askAs(ofDNS, askDNS).body, "the record of holds has not been read")
	})
}

// Rule G3: a record that is damaged or cut off is reported and not used.
func TestDamagedBaselineIsReportedAndNotUsed(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a byte":  func(b []byte) []byte { b[len(b)-10] ^= 1; return b },
		"cut off": func(b []byte) []byte { return b[:len(b)-1] },
		"empty":   func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			keep := storedIn(t, dir)
			require.NoError(t, guarded(t, nil, keep).Stop(t.Context()))
			path := filepath.Join(dir, "responses-v3.record")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, damage(data), 0o600))
			s := start(t, keep)
			s.say(twelve(half()))
			s.gives(ofDNS, askDNS, dozen/2)
			if log := s.log.String(); strings.Count(log, "remembered responses cannot be used") != 1 {
				t.Errorf("the log does not tell it once: %s", log)
			}
			assert.Contains(t, s.get("/metrics").body, `argosy_removal_baseline_failures_total{failure="damaged"} 1`, "no metric tells it")
		})
	}
}

// asking are ApplicationSets that a test makes up.
type asking struct {
	mu        sync.Mutex
	sets      []facts.ApplicationSet
	refreshed chan string
}

func (a *asking) Run(ctx context.Context, changed func()) { changed(); <-ctx.Done() }
func (a *asking) List() ([]facts.ApplicationSet, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sets, true
}

func (a *asking) Refresh(_ context.Context, name string) error {
	a.refreshed <- name
	return nil
}

// TestRequesterIsJudgedByAllItsQueries: an ApplicationSet that asks by two generators is judged by
// both answers, and one whose questions Argo CD alone knows by its last answers. Either is
// refreshed when an approval lets its answer pass. (G3)
func TestRequesterIsJudgedByAllItsQueries(t *testing.T) {
	const some, others = `{"view":"components","group":"addons","component":"dns","selector":{"matchLabels":{"ring":"a"}}}`,
		`{"view":"components","group":"addons","component":"dns","selector":{"matchExpressions":[{"key":"ring","operator":"NotIn","values":["a"]}]}}`
	ring := each(1, 4, func(s string) string { return s + "labels: {ring: a}\n" })
	known := running()
	for _, templated := range []bool{false, true} {
		asks := facts.ApplicationSet{Name: ofDNS, Requests: []json.RawMessage{[]byte(some), []byte(others)}}
		if templated {
			asks = facts.ApplicationSet{Name: ofDNS, Templated: true}
		}
		sets := &asking{refreshed: make(chan string, 100), sets: []facts.ApplicationSet{asks}}
		s := start(t, func(o *server.Options) {
			o.Facts, o.ApplicationSets = &changingFacts{running: make(chan struct{}), set: known}, sets
			o.Now = func() time.Time { return today }
		})
		refreshed := func(why string) {
			t.Helper()
			select {
			case <-sets.refreshed:
			case <-time.After(patient):
				t.Fatalf("nobody was refreshed for %s", why)
			}
		}
		s.say(twelve(ring))
		refreshed("the first state")
		s.gives(ofDNS, some, 4)
		s.gives(ofDNS, others, 8)
		s.say(twelve(with(ring, each(1, 2, func(s string) string { return s })))) // two change their ring
		refreshed("answers that changed")
		if !templated {
			s.gives(ofDNS, some, 2)
			s.gives(ofDNS, others, 10)
		}
		before := s.rows(ofDNS, others)
		s.say(twelve(with(ring, half())))
		refreshed("a hold")
		s.holds(ofDNS, others, before, "m01", "m02", "m05", "m06")
		s.say(twelve(with(ring, half(), approved("2026-11-30"))))
		refreshed("an approval")
		s.gives(ofDNS, some, 0)
		s.gives(ofDNS, others, 6)
	}
}

// unlisted are ApplicationSets that have not been read yet.
type unlisted struct{ *asking }

func (unlisted) List() ([]facts.ApplicationSet, bool) { return nil, false }

// A query with a selector has the last response as its baseline also after a restart, before its
// ApplicationSet has been read. (G3, G4)
func TestSelectorKeepsItsBaselineOverARestart(t *testing.T) {
	const some, others = `{"view":"components","group":"addons","component":"dns","selector":{"matchLabels":{"ring":"a"}}}`,
		`{"view":"components","group":"addons","component":"dns","selector":{"matchExpressions":[{"key":"ring","operator":"NotIn","values":["a"]}]}}`
	ring := each(1, 4, func(s string) string { return s + "labels: {ring: a}\n" })
	dir := t.TempDir()
	sets := &asking{refreshed: make(chan string, 1000), sets: []facts.ApplicationSet{
		{Name: ofDNS, Requests: []json.RawMessage{[]byte(some), []byte(others)}},
	}}
	run := func(set func(*server.Options)) *service {
		return start(t, storedIn(t, dir), set, func(o *server.Options) {
			o.Facts = &changingFacts{running: make(chan struct{}), set: running()}
			o.Now = func() time.Time { return today }
		})
	}
	s := run(func(o *server.Options) { o.ApplicationSets = sets })
	s.say(twelve(ring))
	s.answered(ofDNS, some)
	s.gives(ofDNS, some, 4)
	s.gives(ofDNS, others, 8)
	require.NoError(t, s.Stop(t.Context()))
	s = run(func(o *server.Options) { o.ApplicationSets = unlisted{sets} })
	s.say(twelve(with(ring, half())))
	s.answered(ofDNS, some)
	s.hasHolds()
	for _, ask := range []string{some, others} {
		s.askAs(ofDNS, ask).is(t, http.StatusServiceUnavailable, ask, "members would lose addons/dns")
	}
}
