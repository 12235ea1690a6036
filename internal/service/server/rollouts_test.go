package server_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/rings"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	policyFile = "fleet/rollouts/all.yaml"
	// twoRings has member a in the first ring, and b in the second.
	twoRings = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
rings:
  - {name: canary, selector: {matchLabels: {environment: dev}}, onFailure: back}
  - {name: prod, selector: {matchLabels: {environment: prod}}}
`
	valuesOfAll = "addons/defaults/addons/dns/values.yaml"
)

// inRings is the fleet with a policy, and further files.
func inRings(more map[string]string) map[string]string {
	return repository(with(map[string]string{policyFile: twoRings}, more))
}

// texts are the parameter sets of dns as they are written, by member.
func (h *orderly) texts() map[string]string {
	h.Helper()
	return h.rows(ofDNS, askDNS)
}

// ring waits until a ring has a revision, and returns what is said of it.
func (h *orderly) ring(name, revision string) (out rings.Ring) {
	h.Helper()
	return h.ringSays(name, revision, "")
}

// ringSays waits until a ring has a revision, and a text that contains this one: the service looks
// at the rings after it has taken in the facts.
func (h *orderly) ringSays(name, revision, text string) (out rings.Ring) {
	h.Helper()
	h.until("ring "+name+" has "+revision+" and says "+text, func(refresh.Status) bool {
		h.looks()
		for _, x := range h.Rollouts().Rollouts {
			for _, r := range x.Rings {
				if r.Name == name {
					out = r
				}
			}
		}
		return out.Revision == revision && strings.Contains(out.Text, text)
	})
	h.published()
	return out
}

// published waits until the service answers from the revisions that the rings have.
func (h *orderly) published() {
	h.Helper()
	before := h.Refresher().State()
	h.Refresher().Reconsider()
	h.until("publishes the state again", func(refresh.Status) bool { return h.Refresher().State() != before })
}

// answers waits until there is a response.
func (h *orderly) answers() {
	h.Helper()
	h.until("answers", func(refresh.Status) bool { return h.askAs(ofDNS, askDNS).code == http.StatusOK })
}

// healthy applies what is answered and makes all of it healthy.
func (h *orderly) healthy(names ...string) {
	h.Helper()
	h.apply(ofDNS, askDNS)
	h.health(true, names...)
}

// steady is a hub with a policy whose members run and are healthy.
func steady(t *testing.T, more map[string]string, change ...func(*server.Options)) (*orderly, string) {
	t.Helper()
	h := newOrderly(t, change...)
	first := h.say(inRings(more)).Revision
	h.answers()
	h.healthy("dns-a", "dns-b", "dns-hub-1")
	h.ring("prod", first)
	return h, first
}

// TestLaterRingKeepsItsBytes: a commit reaches the first ring alone; the second keeps its response
// byte for byte, its revision included, until the first is healthy at the digest that it is
// answered. (G7, G8)
func TestLaterRingKeepsItsBytes(t *testing.T) {
	h, first := steady(t, nil)
	before := h.texts()
	second := h.say(inRings(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision
	h.ring("canary", second)
	now := h.texts()
	if now["b"] != before["b"] || !strings.Contains(now["b"], first) {
		t.Errorf("b has changed:\n%s\n%s", before["b"], now["b"])
	}
	if !strings.Contains(now["a"], "replicas: 7") || !strings.Contains(now["a"], second) {
		t.Error("a has not changed:", now["a"])
	}
	// Everything is green, from before.
	h.report()
	h.ringSays("prod", first, "waits for")
	h.apply(ofDNS, askDNS) // written, not healthy yet
	h.ringSays("canary", second, "waits for health on cluster a")
	h.ring("prod", first)
	h.health(true, "dns-a")
	h.ring("prod", second)
	if now = h.texts(); !strings.Contains(now["b"], "replicas: 7") || !strings.Contains(now["b"], second) {
		t.Error("b has not got it:", now["b"])
	}
	h.healthy("dns-a", "dns-b", "dns-hub-1")
	third := h.say(inRings(map[string]string{valuesOfAll: "replicas: 7\n", "README.yaml": "a: b\n"})).Revision
	h.ring("canary", third)
	h.ring("prod", third) // nothing differs, so that everything is what it is answered
}

// TestRingsGoOnWhileACommitIsRefused: a commit that is refused does not hold up the train before
// it.
func TestRingsGoOnWhileACommitIsRefused(t *testing.T) {
	h, _ := steady(t, nil)
	second := h.say(inRings(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision
	h.ring("canary", second)
	h.apply(ofDNS, askDNS)
	h.say(inRings(map[string]string{policyFile: "kind: Rollout\n"}))
	if r := h.Refresher().Status().Refused; len(r) != 1 || r[0].Reason != "invalid-rollout" {
		t.Fatal("a broken policy is not refused:", r)
	}
	h.health(true, "dns-a")
	h.ring("prod", second)
}

// TestFailedCanaryGoesBack: a canary that is degraded at the new digest is answered its last good
// revision, and the later ring has never seen the other. The next commit goes through.
func TestFailedCanaryGoesBack(t *testing.T) {
	h, first := steady(t, nil)
	before := h.texts()
	second := h.say(inRings(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision
	h.ring("canary", second)
	h.apply(ofDNS, askDNS)
	bad := h.apps["dns-a"]
	bad.Degraded = true
	h.apps["dns-a"] = bad
	h.report()
	if r := h.ring("canary", first); !strings.Contains(r.Rejection, "dns-a is degraded") {
		t.Error(r.Rejection)
	}
	if now := h.texts(); now["a"] != before["a"] || now["b"] != before["b"] {
		t.Error("not as before:", now)
	}
	third := h.say(inRings(map[string]string{valuesOfAll: "replicas: 8\n"})).Revision
	h.ring("canary", third)
	h.healthy("dns-a")
	h.ring("prod", third)
}

// TestRemovalPassesTheRings: what a commit removes stays in a later ring, its member file gone or
// its component switched off; and a member that joins gets what its ring has. (G7)
func TestRemovalPassesTheRings(t *testing.T) {
	h, first := steady(t, nil)
	before := h.texts()
	second := h.say(inRings(map[string]string{
		valuesOfAll: "replicas: 7\n",
		"addons/tenants/retail/clusters/b/application-sets/addons.yaml": "dns: {enabled: false}\n",
		"fleet/fleet-members/hub-1/new.yaml":                            "clusterName: new\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: hub-1/new\n",
		"addons/tenants/retail/clusters/new/addons/dns/values.yaml":     "own: true\n",
	})).Revision
	h.ring("canary", second)
	now := h.texts()
	if now["b"] != before["b"] {
		t.Error("b has changed:", now["b"])
	}
	if !strings.Contains(now["new"], "own: true") || strings.Contains(now["new"], "replicas: 7") || !strings.Contains(now["new"], first) {
		t.Error("the new member has not what its ring has:", now["new"])
	}
	h.healthy("dns-a", "dns-new")
	h.ring("prod", second)
	if now = h.texts(); !strings.Contains(now["b"], `"deletion":"cascade"`) || !strings.Contains(now["new"], "replicas: 7") {
		t.Error(now["b"], now["new"])
	}
}

// TestRestartHoldsTheRings: a restart answers each ring what it had before. Without the records
// there is no response in the scope, as nobody knows what the ring is to have, until a pin says it.
// (G9)
func TestRestartHoldsTheRings(t *testing.T) {
	folder, err := store.NewFolder(t.TempDir())
	require.NoError(t, err)
	stored := func(o *server.Options) { o.Store = store.New(folder) }
	h, first := steady(t, nil, stored)
	changed := inRings(map[string]string{valuesOfAll: "replicas: 7\n"})
	second := h.say(changed).Revision
	h.ring("canary", second)
	before := h.texts()
	apps := h.apps
	require.NoError(t, h.Stop(t.Context()))
	again := func(change ...func(*server.Options)) *orderly {
		h := newOrderly(t, append(change, func(o *server.Options) { o.Facts.(*changingFacts).set = factsOf(apps) })...)
		h.apps = apps
		h.say(changed)
		return h
	}
	h = again(stored)
	h.ring("prod", first)
	h.answers()
	if now := h.texts(); now["b"] != before["b"] || now["a"] != before["a"] {
		t.Error("another response after a restart:", now)
	}
	h = again()
	if r := h.askAs(ofDNS, askDNS); r.code != http.StatusServiceUnavailable || !strings.Contains(r.message(), "are lost") {
		t.Error("without records:", r.code, r.body)
	}
	if l := h.listHolds("reason=ring&cluster=b&component=addons/dns"); len(l.Items) != 1 || !strings.Contains(l.Items[0].Detail, "are lost") {
		t.Errorf("without records: %+v", l.Items)
	}
	pinned := strings.Replace(twoRings, "rings:", `pins: [{ring: canary, revision: "`+first+`"}]`+"\nrings:", 1)
	if r := h.say(with(changed, map[string]string{policyFile: pinned})); r.Revision == "" {
		t.Error("the pin is not taken in")
	}
}

func factsOf(apps map[string]facts.Application) facts.Set {
	var all []facts.Application
	for _, a := range apps {
		all = append(all, a)
	}
	return facts.NewSet(false).WithApplications(all...).WithHealth()
}

// ticking is a clock that stands until a test moves it.
type ticking struct{ at atomic.Int64 }

func newTicking() *ticking {
	c := &ticking{}
	c.at.Store(time.Now().UnixMilli())
	return c
}

func (c *ticking) now() time.Time            { return time.UnixMilli(c.at.Load()) }
func (c *ticking) wait(d time.Duration)      { c.at.Add(d.Milliseconds()) }
func (c *ticking) options(o *server.Options) { o.Now = c.now }

// watched lets time pass while the service looks, as often as a soak asks for.
func (h *orderly) watched(clock *ticking, d time.Duration) {
	h.Helper()
	for step := 30 * time.Second; d > 0; d -= step {
		clock.wait(min(step, d))
		h.LookAtRings(h.Context())
	}
}

const soaking = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
rings:
  - {name: canary, selector: {matchLabels: {environment: dev}}, soak: 10m}
  - {name: prod, selector: {matchLabels: {environment: prod}}}
`

// TestShortFlapRestartsTheSoak: a member that was degraded for a moment at 90 % of the soak, and is
// healthy again when the service reads the facts, starts it anew. (G8)
func TestShortFlapRestartsTheSoak(t *testing.T) {
	clock := newTicking()
	h, first := steady(t, map[string]string{policyFile: soaking}, clock.options)
	h.watched(clock, 11*time.Minute)
	second := h.say(inRings(map[string]string{policyFile: soaking, valuesOfAll: "replicas: 7\n"})).Revision
	h.ring("canary", second)
	h.healthy("dns-a")
	h.watched(clock, 9*time.Minute)
	h.ringSays("prod", first, "waits for the ring before it")
	flapped := h.apps["dns-a"]
	flapped.Broken = clock.now().UnixMilli()
	h.apps["dns-a"] = flapped
	h.report()
	h.watched(clock, 9*time.Minute+50*time.Second)
	h.ring("prod", first)
	if since := h.ring("canary", second).HealthySince; since.Before(time.UnixMilli(flapped.Broken)) {
		t.Errorf("healthy since %s, broken at %s", since, time.UnixMilli(flapped.Broken))
	}
	h.watched(clock, time.Minute)
	h.ring("prod", second)
}

// TestRestartKeepsTheSoak: all replicas away for some seconds in the middle of a soak shift its end
// by no more than 5 seconds. (G9)
func TestRestartKeepsTheSoak(t *testing.T) {
	folder, err := store.NewFolder(t.TempDir())
	require.NoError(t, err)
	clock := newTicking()
	stored := func(o *server.Options) { o.Store, o.Now = store.New(folder), clock.now }
	h, first := steady(t, map[string]string{policyFile: soaking}, stored)
	h.watched(clock, 11*time.Minute)
	changed := inRings(map[string]string{policyFile: soaking, valuesOfAll: "replicas: 7\n"})
	second := h.say(changed).Revision
	h.ring("canary", second)
	h.healthy("dns-a")
	h.watched(clock, time.Second)
	began := h.ring("canary", second).HealthySince
	if began.IsZero() {
		t.Fatal("it does not soak")
	}
	h.watched(clock, 5*time.Minute)
	apps := h.apps
	require.NoError(t, h.Stop(t.Context()))
	clock.wait(20 * time.Second)
	h = newOrderly(t, stored, func(o *server.Options) { o.Facts.(*changingFacts).set = factsOf(apps) })
	h.apps = apps
	h.say(changed)
	h.ring("prod", first)
	h.watched(clock, 4*time.Minute)
	h.ring("prod", first)
	h.watched(clock, began.Add(10*time.Minute+5*time.Second).Sub(clock.now()))
	h.ring("prod", second)
}

// TestCheckHoldsTheRing: a ring with a check waits until it holds at the ring's own train, and says
// what is wrong; where the service carries out none, it waits.
func TestCheckHoldsTheRing(t *testing.T) {
	policy := strings.Replace(twoRings, "onFailure: back}", `onFailure: back, checks: [{name: smoke, url: "https://smoke.example/"}]}`, 1)
	var checks sync.Mutex
	outcome := rollout.CheckOutcome{}
	checking := func(o *server.Options) {
		o.RolloutCheckInterval = time.Hour
		o.RolloutCheck = func(_ context.Context, c rollout.Check) rollout.CheckOutcome {
			if c.URL != "https://smoke.example/" || c.Timeout != 10*time.Second {
				t.Errorf("%+v", c)
			}
			checks.Lock()
			defer checks.Unlock()
			return outcome
		}
	}
	found := func(now rollout.CheckOutcome) {
		checks.Lock()
		outcome = now
		checks.Unlock()
	}
	h, first := steady(t, map[string]string{policyFile: policy}, checking)
	h.LookAtRings(t.Context())
	found(rollout.CheckOutcome{Why: `check "smoke": no response`})
	second := h.say(inRings(map[string]string{policyFile: policy, valuesOfAll: "replicas: 7\n"})).Revision
	h.LookAtRings(t.Context())
	h.ring("canary", second)
	h.healthy("dns-a")
	for range 5 {
		h.LookAtRings(t.Context())
	}
	if text := h.ring("canary", second).Text; !strings.Contains(text, `waits for its checks to hold since`) || !strings.HasSuffix(text, "no response") {
		t.Error(text)
	}
	h.ring("prod", first)
	found(rollout.CheckOutcome{})
	h.LookAtRings(t.Context())
	h.ring("prod", second)
	h.healthy("dns-a", "dns-b", "dns-hub-1")
	found(rollout.CheckOutcome{Why: `check "smoke": status 500`, Fails: true})
	h.ring("canary", h.say(inRings(map[string]string{policyFile: policy, valuesOfAll: "replicas: 8\n"})).Revision)
	h.healthy("dns-a")
	for range 3 {
		h.LookAtRings(t.Context())
	}
	if r := h.ring("canary", second); !strings.Contains(r.Rejection, "status 500") {
		t.Error(r)
	}

	h, first = steady(t, map[string]string{policyFile: policy})
	second = h.say(inRings(map[string]string{policyFile: policy, valuesOfAll: "replicas: 7\n"})).Revision
	h.ring("canary", second)
	h.healthy("dns-a")
	h.LookAtRings(t.Context())
	assert.Contains(t, h.ring("canary", second).Text, "the service carries out no checks")
	h.ring("prod", first)
}

// TestSilentMemberIsNoEvidence: what the engine says of a member whose API server is silent opens
// no gate, and counts against maxUnavailable. (G8)
func TestSilentMemberIsNoEvidence(t *testing.T) {
	var silent atomic.Bool
	h, first := steady(t, nil, func(o *server.Options) {
		o.Silent = func(cluster string) string {
			if cluster == "a" && silent.Load() {
				return "no response in time"
			}
			return ""
		}
	})
	silent.Store(true)
	changed := map[string]string{valuesOfAll: "replicas: 7\n"}
	second := h.say(inRings(changed)).Revision
	h.ring("canary", second)
	h.healthy("dns-a") // by the engine's cache
	h.LookAtRings(t.Context())
	h.ring("prod", first)
	if text := h.ring("canary", second).Text; !strings.Contains(text, "on cluster a") || !strings.Contains(text, "its API server does not respond: no response in time") {
		t.Error(text)
	}
	silent.Store(false)
	h.LookAtRings(t.Context())
	h.ring("prod", second)
}

// TestLaterRingKeepsItsInputs: Flux Operator's inputs go by the rings as Argo CD's responses do
// (G7).
func TestLaterRingKeepsItsInputs(t *testing.T) {
	h, first := steady(t, nil)
	second := h.say(inRings(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision
	h.ring("canary", second)
	got := h.inputs(provider{query: dnsInputs})
	for name, want := range map[string]string{"dns-a": second, "dns-b": first, "dns-hub-1": first} {
		if got[name]["revision"] != want {
			t.Errorf("%s has revision %v, want %s", name, got[name]["revision"], want)
		}
	}
}
