package server_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// failing is a store of which some reads fail.
type failing struct {
	*storetest.Memory
	fails atomic.Pointer[func(name string) bool]
}

func (f *failing) failIf(fails func(name string) bool) { f.fails.Store(&fails) }

func (f *failing) Get(ctx context.Context, name string) ([]byte, string, error) {
	if fails := f.fails.Load(); fails != nil && (*fails)(name) {
		return nil, "", errors.New("etcdserver: request timed out")
	}
	return f.Memory.Get(ctx, name)
}

// once fails the first read of a ring's files.
func (f *failing) once() {
	var failed atomic.Bool
	f.failIf(func(name string) bool {
		return strings.HasPrefix(name, "rollout-files-") && failed.CompareAndSwap(false, true)
	})
}

func stored(in store.Objects) func(*server.Options) {
	return func(o *server.Options) { o.Store = store.New(in) }
}

// beside is another replica, which knows the same Applications.
func (h *orderly) beside(t *testing.T, apps map[string]facts.Application, change ...func(*server.Options)) *orderly {
	t.Helper()
	out := newOrderly(t, append(change, func(o *server.Options) { o.Facts.(*changingFacts).set = factsOf(apps) })...)
	out.apps = apps
	return out
}

// TestReplicaThatLagsTakesNoRingBack: a replica that does not read Git any more answers what the
// rings have, and departs no old revision anew. (G9)
func TestReplicaThatLagsTakesNoRingBack(t *testing.T) {
	_, memory := storetest.New()
	h, first := steady(t, nil, stored(memory))
	lag := h.beside(t, h.apps, stored(memory))
	lag.say(inRings(nil))
	lag.ring("prod", first)
	second := h.say(inRings(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision
	h.ring("canary", second)
	h.healthy("dns-a")
	h.looks()
	h.ring("prod", second)
	h.healthy("dns-a", "dns-b", "dns-hub-1")
	lag.apps = h.apps
	lag.report()
	lag.looks()
	lag.ring("prod", second)
	if ring := h.ring("canary", second); ring.Train != 2 {
		t.Errorf("the ring has train %d; expected 2, that of the only new commit", ring.Train)
	}
	if now := lag.texts(); !strings.Contains(now["a"], second) {
		t.Errorf("the replica that lags answers another revision than %s: %s", second, now["a"])
	}
}

// TestFilesAreReadAgain: a read of a ring's files that fails once is tried again. Meanwhile there
// is no response after a restart, and nothing is written by a replica that has not taken in what
// others have. (G9)
func TestFilesAreReadAgain(t *testing.T) {
	change := map[string]string{valuesOfAll: "replicas: 7\n"}
	t.Run("after a restart", func(t *testing.T) {
		_, memory := storetest.New()
		kept := &failing{Memory: memory}
		h, first := steady(t, nil, stored(kept))
		h.ring("canary", h.say(inRings(change)).Revision)
		require.NoError(t, h.Stop(t.Context()))
		kept.once()
		h = h.beside(t, h.apps, stored(kept))
		h.say(inRings(change))
		h.looks()
		h.answers()
		h.ring("prod", first)
	})
	t.Run("of a replica that goes on", func(t *testing.T) {
		_, memory := storetest.New()
		kept := &failing{Memory: memory}
		h, first := steady(t, nil, stored(memory))
		late := h.beside(t, h.apps, stored(kept))
		late.say(inRings(nil))
		late.ring("prod", first)
		var away atomic.Bool
		away.Store(true)
		kept.failIf(func(name string) bool { // what others have written, and nothing else
			return away.Load() && strings.HasPrefix(name, "rollout-files-") && slices.Contains(memory.Names(), name)
		})
		second := h.say(inRings(change)).Revision
		h.ring("canary", second)
		h.healthy("dns-a")
		h.ring("prod", second)
		h.healthy("dns-a", "dns-b", "dns-hub-1")
		late.apps = h.apps
		late.looks()
		late.say(inRings(with(change, map[string]string{"README.yaml": "a: b\n"})))
		late.looks()
		away.Store(false)
		late.looks()
		h.looks()
		if now := h.texts(); !strings.Contains(now["b"], "replicas: 7") {
			t.Errorf("b goes back from %s to %s: %s", second, first, now["b"])
		}
	})
}

// TestPolicyKeepsTheFilesOfOthers: a policy whose record cannot be read keeps its files, whatever
// another one in the same store does. (G9)
func TestPolicyKeepsTheFilesOfOthers(t *testing.T) {
	const other = "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nscope: {groups: [resources], tenants: [nobody]}\nrings:\n" +
		"  - {name: one, selector: {matchLabels: {environment: none}}}\n  - {name: rest, selector: {matchExpressions: [{key: environment, operator: Exists}]}}\n"
	policies := map[string]string{"fleet/rollouts/another.yaml": other, policyFile: strings.Replace(twoRings, "rings:", "scope: {groups: [addons]}\nrings:", 1)}
	saying := func(n int) map[string]string {
		return inRings(with(policies, map[string]string{valuesOfAll: "replicas: " + strconv.Itoa(n) + "\n"}))
	}
	_, memory := storetest.New()
	kept := &failing{Memory: memory}
	h, first := steady(t, policies, stored(kept))
	h.ring("canary", h.say(saying(7)).Revision)
	for n := range 6 { // the ring waits, and those of the other policy go on
		h.ring("one", h.say(saying(10+n)).Revision)
	}
	h.looks() // it has passed: nothing is known of health while the record of a policy cannot be read
	require.NoError(t, h.Stop(t.Context()))
	var away atomic.Bool
	away.Store(true)
	kept.failIf(func(name string) bool { return strings.HasPrefix(name, "rollout-all") && away.Load() })
	h = h.beside(t, h.apps, stored(kept))
	last := h.say(saying(99)).Revision
	h.looks()
	h.ring("one", last) // written
	away.Store(false)
	h.looks()
	h.answers()
	h.ring("prod", first)
}

// TestRestartKeepsLastKnownGoodOfARing: at a ring's revision a member has an error, and is served
// from its last known good snapshot. A later commit mends it. A restart answers the same as before:
// the member does not get the later commit early. (G4, G7)
func TestRestartKeepsLastKnownGoodOfARing(t *testing.T) {
	_, memory := storetest.New()
	h, _ := steady(t, nil, stored(memory))
	const own = "addons/tenants/retail/clusters/b/addons/dns/values.yaml"
	broken := h.say(inRings(map[string]string{own: "a: [\n"})).Revision
	h.ring("canary", broken)
	h.healthy("dns-a", "dns-b", "dns-hub-1")
	h.ring("prod", broken)
	changed := inRings(map[string]string{valuesOfAll: "replicas: 7\n"})
	h.ring("canary", h.say(changed).Revision)
	before := h.texts()
	require.NoError(t, h.Stop(t.Context()))
	h = h.beside(t, h.apps, stored(memory))
	h.say(changed)
	h.ring("prod", broken)
	h.answers()
	if now := h.texts(); now["b"] != before["b"] || !strings.Contains(now["b"], "replicas: 1") {
		t.Errorf("another response after a restart:\n%s\n%s", before["b"], now["b"])
	}
}

// TestLostRecordIsFoundAgain: a policy without a record begins once all Applications are what is
// answered, though they were not at the first look. (G9)
func TestLostRecordIsFoundAgain(t *testing.T) {
	_, memory := storetest.New()
	for name, change := range map[string][]func(*server.Options){"in memory": nil, "in a store": {stored(memory)}} {
		t.Run(name, func(t *testing.T) {
			h, _ := steady(t, nil)
			others := map[string]facts.Application{}
			for name, app := range h.apps {
				app.Digest = "another"
				others[name] = app
			}
			right := h.apps
			h = h.beside(t, others, change...)
			h.say(inRings(nil))
			h.looks()
			if r := h.askAs(ofDNS, askDNS); r.code != http.StatusServiceUnavailable {
				t.Fatalf("an answer without a record: %d %s", r.code, r.body)
			}
			h.apps = right
			h.report()
			h.until("an answer", func(refresh.Status) bool {
				h.LookAtRings(t.Context())
				return h.askAs(ofDNS, askDNS).code == http.StatusOK
			})
		})
	}
}
