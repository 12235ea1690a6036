package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	// hourInFirst has members stay in the first ring for an hour.
	hourInFirst = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
rings:
  - {name: canary, selector: {matchLabels: {environment: dev}}, soak: 1h}
  - {name: prod, selector: {matchLabels: {environment: prod}}}
`
	otherPolicy = "fleet/rollouts/aaa.yaml"
	oneRing     = "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nrings: [{name: everybody, selector: {}}]\n"
)

// inForce is what is said of a policy that counts although its file has changed; empty for none.
func (h *orderly) inForce() string {
	h.Helper()
	for _, x := range h.Rollouts().Rollouts {
		if x.InForce != nil {
			return x.InForce.Text
		}
	}
	return ""
}

// has waits until dns of a and of b has so many replicas. It fails if one ever has more.
func (h *orderly) has(a, b, why string) {
	h.Helper()
	h.until(why, func(refresh.Status) bool {
		if h.askAs(ofDNS, askDNS).code != http.StatusOK {
			return false
		}
		isDone := true
		now := h.texts()
		for name, want := range map[string]string{"a": a, "b": b} {
			_, rest, _ := strings.Cut(now[name], "replicas: ")
			if is := rest[:1]; is > want {
				h.Fatalf("%s: %s has %s replicas; expected %s", why, name, is, want)
			} else if is < want {
				isDone = false
			}
		}
		return isDone
	})
}

// TestChangedPolicyStaysInForce: one commit changes or deletes a policy, and a value of all. It
// goes through the rings as they were before, over a restart, and says so. Once the last ring has
// taken it, the policy of the commit counts for the next one. (K7)
func TestChangedPolicyStaysInForce(t *testing.T) {
	for name, c := range map[string]struct {
		policies map[string]string // of the commit
		isQuiet  bool              // the policy under its name is as before, or another one goes on with it
		a, b     string            // what the next commit, which has 8 replicas, gives at once
	}{
		"deleted":                       {nil, false, "8", "8"},
		"narrower":                      {map[string]string{policyFile: strings.Replace(hourInFirst, "rings:", "scope: {components: [addons/web]}\nrings:", 1)}, false, "8", "8"},
		"in another order":              {map[string]string{policyFile: "kind: Rollout\nrings:\n- {name: prod, selector: {matchLabels: {environment: prod}}}\n- {name: canary, selector: {matchLabels: {environment: dev}}}\n"}, false, "7", "8"},
		"without its soak":              {map[string]string{policyFile: strings.Replace(hourInFirst, ", soak: 1h", "", 1)}, false, "8", "7"},
		"with one ring":                 {map[string]string{policyFile: oneRing}, false, "8", "8"},
		"with another selector":         {map[string]string{policyFile: strings.Replace(hourInFirst, "environment: dev", "tenant: platform", 1)}, false, "7", "7"},
		"under another name":            {map[string]string{otherPolicy: hourInFirst}, true, "8", "7"},
		"another one under another":     {map[string]string{otherPolicy: oneRing}, false, "8", "8"},
		"beside another one before it":  {map[string]string{otherPolicy: oneRing, policyFile: hourInFirst}, true, "8", "7"},
		"for another, with another one": {map[string]string{otherPolicy: oneRing, policyFile: strings.Replace(hourInFirst, "rings:", "scope: {components: [addons/web]}\nrings:", 1)}, false, "8", "8"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, err := store.NewFolder(t.TempDir())
			require.NoError(t, err)
			clock := newTicking()
			stored := func(o *server.Options) { o.Store, o.Now = store.New(folder), clock.now }
			h, first := steady(t, map[string]string{policyFile: hourInFirst}, stored)
			changed := repository(with(c.policies, map[string]string{valuesOfAll: "replicas: 7\n"}))
			second := h.say(changed).Revision
			h.looks()
			h.has("7", "1", "a commit sets its own rules")
			if want := "is in force, as its file"; !c.isQuiet {
				assert.Contains(t, h.inForce(), "the policy of revision "+short(first)+" "+want)
				assert.Contains(t, h.inForce(), "until ring prod has taken "+short(second))
			}
			apps := h.apps
			require.NoError(t, h.Stop(t.Context()))
			h = h.beside(t, apps, stored)
			h.say(changed)
			h.answers()
			h.looks()
			h.has("7", "1", "a restart ends what is in force")
			h.healthy("dns-a")
			h.watched(clock, 59*time.Minute)
			h.has("7", "1", "the soak is over before its time")
			h.watched(clock, 3*time.Minute)
			h.has("7", "7", "prod takes it")
			h.healthy("dns-a", "dns-b", "dns-hub-1")
			h.watched(clock, time.Minute)
			h.until("the new policy is in force", func(refresh.Status) bool { return h.inForce() == "" })
			h.healthy("dns-a", "dns-b", "dns-hub-1")
			h.watched(clock, 61*time.Minute)
			h.say(repository(with(c.policies, map[string]string{valuesOfAll: "replicas: 8\n"})))
			h.has(c.a, c.b, "the next commit")
			h.looks()
			h.has(c.a, c.b, "the next commit, later")
		})
	}
}

func short(revision string) string { return revision[:len("sha256:")+8] }

// TestSteeringCountsAtOnce: pins, approvals and a pause of the newest file count while an earlier
// policy is in force, and so does a further freeze. (K7)
func TestSteeringCountsAtOnce(t *testing.T) {
	const frozen = ", freezes: [{from: 2000-01-01, to: 2099-01-01}]"
	ofProd := func(more string) string {
		return strings.Replace(twoRings, "environment: prod}}", "environment: prod}}"+more, 1)
	}
	steer := func(policy, how string) string { return strings.Replace(policy, "rings:", how+"\nrings:", 1) }
	h, first := steady(t, map[string]string{policyFile: ofProd(frozen)})
	change := map[string]string{valuesOfAll: "replicas: 7\n"}
	say := func(policy string) string {
		t.Helper()
		revision := h.say(inRings(with(change, map[string]string{policyFile: policy}))).Revision
		h.looks()
		return revision
	}
	second := say(twoRings) // the freeze goes with the commit that it would stop
	h.ring("canary", second)
	h.healthy("dns-a")
	h.ringSays("prod", first, "waits for the end of a freeze")

	third := say(steer(twoRings, `paused: true`))
	h.ring("canary", second)
	h.ringSays("prod", first, "waits for the policy to be resumed")
	say(steer(twoRings, `approvals: [{ring: prod, revision: "`+second+`", expires: 2099-01-01, overtake: true, reason: r}]`))
	h.ring("prod", second)
	h.until("the file of the second commit is in force", func(refresh.Status) bool { return h.inForce() == "" })
	h.healthy("dns-a", "dns-b", "dns-hub-1")
	fourth := say(twoRings)
	h.ring("prod", fourth) // nothing differs
	if fourth == third {
		t.Fatal("nothing has changed")
	}

	// It loosens one gate, and freezes another ring.
	change[valuesOfAll] = "replicas: 8\n"
	fifth := say(strings.Replace(ofProd(frozen), "onFailure: back", "maxUnavailable: 1", 1))
	h.ring("canary", fifth)
	h.healthy("dns-a")
	h.ringSays("prod", fourth, "waits for the end of a freeze")
	say(steer(twoRings, `pins: [{ring: prod, revision: "`+first+`"}]`))
	h.ring("prod", first)
}
