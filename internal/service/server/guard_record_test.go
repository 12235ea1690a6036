package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/service/server"
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
			if err := guarded(t, c.known, keep).Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
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
			s.refuses(ofDNS, askDNS, refusedDNS)
			s.refuses(ofMembers, askMembers, refusedMembers)
		})
	}
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
			if err := guarded(t, nil, keep).Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "responses-v3.record")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			s := start(t, keep)
			s.say(twelve(half()))
			s.gives(ofDNS, askDNS, dozen/2)
			if log := s.log.String(); strings.Count(log, "remembered responses cannot be used") != 1 {
				t.Errorf("the log does not tell it once: %s", log)
			}
			if m := s.get("/metrics").body; !strings.Contains(m, `argosy_removal_baseline_failures_total{failure="damaged"} 1`) {
				t.Error("no metric tells it")
			}
		})
	}
}
