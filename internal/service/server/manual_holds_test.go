package server_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

const holdFile = "fleet/holds/chg-1.yaml"

// holdOf is a hold until 2026-12-24, with further keys.
func holdOf(more string) string {
	return "apiVersion: argosy.dev/v1alpha1\nkind: Hold\nowner: platform\nreason: CHG-1\nuntil: 2026-12-24\n" + more
}

// clock is a clock that a test sets.
type clock struct{ atomic.Pointer[time.Time] }

func newClock(at string) *clock {
	c := &clock{}
	c.set(at)
	return c
}

func (c *clock) set(at string) {
	now, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err)
	}
	c.Store(&now)
}

func (c *clock) option(o *server.Options) { o.Now = func() time.Time { return *c.Load() } }

// values is a repository with a hold and a number of replicas everywhere.
func heldFleet(hold, replicas string, more map[string]string) map[string]string {
	files := map[string]string{valuesOfAll: "replicas: " + replicas + "\n"}
	if hold != "" {
		files[holdFile] = hold
	}
	return repository(with(files, more))
}

// hasTexts fails the test unless a member's parameter set has all texts.
func (h *orderly) hasTexts(member string, want ...string) {
	h.Helper()
	got := h.texts()[member]
	for _, text := range want {
		if !strings.Contains(got, text) {
			h.Errorf("%s has no %s: %s", member, text, got)
		}
	}
}

// TestManualHold: a hold keeps its cells at the revision that they were served from before its
// commit, until its last day is over or its file goes; everything else takes each commit.
// (HOLDS.md 17)
func TestManualHold(t *testing.T) {
	for name, hold := range map[string]string{
		"a component":    holdOf("clusters: [b]\ncomponents: [addons/dns]\n"),
		"a group":        holdOf("clusters: [b]\ncomponents: [addons/*]\n"),
		"all, by labels": holdOf("selector: {matchLabels: {environment: prod, tenant: retail}}\ncomponents: [\"*\"]\n"),
	} {
		t.Run(name, func(t *testing.T) {
			now := newClock("2026-12-01T12:00:00Z")
			h := newOrderly(t, now.option)
			first := h.say(heldFleet("", "1", nil)).Revision
			h.apply(ofDNS, askDNS)
			before := h.texts()["b"]
			second := h.say(heldFleet(hold, "2", nil)).Revision
			h.hasTexts("a", "replicas: 2", second)
			h.hasTexts("b", "replicas: 1", `"revision":"`+first+`","hold":"manual"`)
			if strings.Replace(h.texts()["b"], `"hold":"manual",`, "", 1) != before {
				t.Errorf("b has changed:\n%s\n%s", before, h.texts()["b"])
			}
			h.get("/api/v1/holds?cluster=b&component=addons/dns").is(t, http.StatusOK, "holds", `"reason":"manual"`, `"detail":"CHG-1 (platform)"`, `"file":"fleet/holds/chg-1.yaml"`, `"until":"2026-12-25T00:00:00Z"`, first)
			h.get("/metrics").is(t, http.StatusOK, "metrics", `argosy_hold_days_left{hold="chg-1"} 23.5`)
			h.say(heldFleet(hold, "3", nil))
			h.hasTexts("a", "replicas: 3")
			h.hasTexts("b", "replicas: 1")
			now.set("2026-12-24T23:59:59Z")
			h.LookAtRings(t.Context())
			h.hasTexts("b", "replicas: 1")
			now.set("2026-12-25T00:00:00Z")
			h.until("the hold has ended", func(refresh.Status) bool {
				h.LookAtRings(t.Context())
				return strings.Contains(h.texts()["b"], "replicas: 3")
			})
			if strings.Contains(h.texts()["b"], `"hold"`) {
				t.Error("b still names the hold:", h.texts()["b"])
			}
			now.set("2026-12-01T12:00:00Z")
			h.say(heldFleet(hold, "4", nil))
			h.hasTexts("b", "replicas: 3")
			h.say(heldFleet("", "5", nil))
			h.hasTexts("b", "replicas: 5")
		})
	}
}

// TestManualHoldKeepsWhatGoes: a held component that is switched off stays, and so does all that a
// retired or renamed member has of it; what is new on a held cell waits. (HOLDS.md 17, 29; K2)
func TestManualHoldKeepsWhatGoes(t *testing.T) {
	hold := holdOf("clusters: [b, c]\ncomponents: [addons/dns]\n")
	off := "addons/tenants/retail/clusters/b/application-sets/addons.yaml"
	for name, more := range map[string]map[string]string{
		"switched off":        {off: "dns: {enabled: false}\n"},
		"retired":             {"fleet/fleet-members/hub-1/b.yaml": memberB + "lifecycle: retired\n"},
		"another environment": {"fleet/fleet-members/hub-1/b.yaml": strings.Replace(memberB, "prod", "test", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			now := newClock("2026-12-01T12:00:00Z")
			h := newOrderly(t, now.option)
			h.say(heldFleet(hold, "1", nil))
			h.apply(ofDNS, askDNS)
			h.say(heldFleet(hold, "2", more))
			h.hasTexts("b", "replicas: 1", `"deletion":"orphan"`)
			h.hasTexts("a", "replicas: 2")
			now.set("2026-12-25T00:00:00Z")
			h.until("the hold has ended", func(refresh.Status) bool {
				h.LookAtRings(t.Context())
				return !strings.Contains(h.texts()["b"], "replicas: 1\\n")
			})
		})
	}
	t.Run("a new member", func(t *testing.T) {
		now := newClock("2026-12-01T12:00:00Z")
		h := newOrderly(t, now.option)
		h.say(heldFleet(hold, "1", nil))
		joined := map[string]string{"fleet/fleet-members/hub-1/c.yaml": strings.ReplaceAll(memberB, "b\n", "c\n")}
		h.say(heldFleet(hold, "2", joined))
		if c, is := h.texts()["c"]; is {
			t.Error("c does not wait:", c)
		}
		h.say(heldFleet("", "2", joined))
		h.hasTexts("c", "replicas: 2")
	})
}

// TestManualHoldIsNotLeft: a commit that changes a held value does not end the hold by what it
// changes beside it: the member's labels, or the hold's own clusters as far as it still names some.
func TestManualHoldIsNotLeft(t *testing.T) {
	now := newClock("2026-12-01T12:00:00Z")
	h := newOrderly(t, now.option)
	hold := holdOf("selector: {matchLabels: {environment: prod}}\ncomponents: [addons/dns]\n")
	h.say(heldFleet("", "1", nil))
	h.apply(ofDNS, askDNS)
	h.say(heldFleet(hold, "1", nil))
	h.say(heldFleet(hold, "2", map[string]string{"fleet/fleet-members/hub-1/b.yaml": strings.Replace(memberB, "prod", "dev", 1)}))
	h.hasTexts("b", "replicas: 1")
	second := strings.Replace(hold, "CHG-1", "CHG-2", 1)
	h.say(heldFleet("", "3", map[string]string{"fleet/holds/chg-2.yaml": second}))
	h.hasTexts("b", "replicas: 1")
}

// TestManualHoldOutlivesARestart: a restart and another replica keep the revision of the record; a
// service that has lost the record keeps what it serves first. Without the files of the revision,
// there is no response. (HOLDS.md 19, 21; K3)
func TestManualHoldOutlivesARestart(t *testing.T) {
	now := newClock("2026-12-01T12:00:00Z")
	_, memory := storetest.New()
	h := newOrderly(t, now.option, stored(memory))
	h.say(heldFleet("", "1", nil))
	h.answers()
	h.apply(ofDNS, askDNS)
	changed := heldFleet(holdOf("clusters: [b]\ncomponents: [\"*\"]\n"), "2", nil)
	h.say(changed)
	h.looks()
	before := h.texts()
	if !strings.Contains(before["b"], "replicas: 1") {
		t.Fatal("b is not held:", before["b"])
	}
	replica := h.beside(t, h.apps, now.option, stored(memory))
	replica.say(changed)
	replica.answers()
	if got := replica.texts(); got["b"] != before["b"] || got["a"] != before["a"] {
		t.Errorf("a replica says otherwise:\n%s\n%s", before["b"], got["b"])
	}
	require.NoError(t, h.Stop(t.Context()))
	h = h.beside(t, h.apps, now.option, stored(memory))
	h.say(heldFleet(holdOf("clusters: [b]\ncomponents: [\"*\"]\n"), "3", nil))
	h.answers()
	if got := h.texts()["b"]; got != before["b"] {
		t.Errorf("another response after a restart:\n%s\n%s", before["b"], got)
	}
	require.NoError(t, h.Stop(t.Context()))
	gone := &failing{Memory: memory}
	gone.failIf(func(name string) bool { return strings.HasPrefix(name, "rollout-files-") })
	h = h.beside(t, h.apps, now.option, stored(gone))
	h.say(heldFleet(holdOf("clusters: [b]\ncomponents: [\"*\"]\n"), "3", nil))
	h.looks()
	if r := h.askAs(ofDNS, askDNS); r.code != http.StatusServiceUnavailable {
		t.Errorf("an answer without the files that a hold needs: %d %s", r.code, r.body)
	}
}
