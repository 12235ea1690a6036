package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/rings"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// ofTenants is a fleet with a rollout for each of two tenants: a and b are retail's, c and d are
// payments'. Payments' last ring wants approvals.
func ofTenants(more map[string]string) map[string]string {
	const policy = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
scope: {tenants: [TENANT], components: [addons/dns]}
rings:
  - {name: TENANT-canary, selector: {matchLabels: {environment: dev}}, onFailure: back}
  - {name: TENANT-prod, selector: {matchLabels: {environment: prod}}}
`
	of := func(tenant string) string { return strings.ReplaceAll(policy, "TENANT", tenant) }
	return repository(with(map[string]string{
		"fleet/fleet-members/hub-1/c.yaml": strings.NewReplacer(": a\n", ": c\n", "/a\n", "/c\n", "retail", "payments").Replace(memberA),
		"fleet/fleet-members/hub-1/d.yaml": strings.NewReplacer(": b\n", ": d\n", "/b\n", "/d\n", "retail", "payments").Replace(memberB),
		"fleet/rollouts/retail.yaml":       of("retail"),
		"fleet/rollouts/payments.yaml":     strings.Replace(of("payments"), "environment: prod}}}", "environment: prod}}, approval: required}", 1),
	}, more))
}

// ofTenant waits until a ring of any policy is as ok says, and returns it.
func (h *orderly) ofTenant(ring, what string, ok func(rings.Ring) bool) (out rings.Ring) {
	h.Helper()
	h.until(ring+" "+what, func(refresh.Status) bool {
		h.looks()
		for _, x := range h.Rollouts().Rollouts {
			for _, r := range x.Rings {
				if r.Name == ring {
					out = r
				}
			}
		}
		return ok(out)
	})
	h.published()
	return out
}

func has(revision string) func(rings.Ring) bool {
	return func(r rings.Ring) bool { return r.Revision == revision }
}

// tenantsRun is a hub with a rollout for each tenant, whose members are healthy.
func tenantsRun(t *testing.T, change ...func(*server.Options)) (h *orderly, first string) {
	t.Helper()
	h = newOrderly(t, change...)
	first = h.say(ofTenants(nil)).Revision
	h.answers()
	h.healthy("dns-a", "dns-b", "dns-c", "dns-d", "dns-hub-1")
	for _, ring := range []string{"retail-canary", "retail-prod", "payments-canary", "payments-prod"} {
		h.ofTenant(ring, "begins", has(first))
	}
	return h, first
}

// TestTenantMovesNoRingOfAnother: whatever a tenant writes into its own folders, and whatever its
// own members' files say, no ring of another tenant has another member, an approval or a pin, and
// the responses of another tenant's members stay as they are. (G7)
func TestTenantMovesNoRingOfAnother(t *testing.T) {
	const hostile = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
scope: {tenants: [payments]}
paused: false
rings:
  - {name: payments-canary, selector: {matchLabels: {environment: prod}}}
  - {name: payments-prod, selector: {matchLabels: {environment: dev}}}
approvals: [{ring: payments-prod, revision: REVISION, expires: 2099-01-01, overtake: true, reason: none}]
pins: [{ring: payments-canary, revision: REVISION, reason: none}]
`
	h, first := tenantsRun(t)
	before := h.texts()
	second := h.say(ofTenants(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision
	h.ofTenant("payments-canary", "has the change", has(second))
	h.healthy("dns-c")
	h.ofTenant("payments-prod", "wants an approval", func(r rings.Ring) bool { return strings.Contains(r.Text, "approval") })
	for _, c := range []struct {
		what  string
		files map[string]string
	}{
		{"policies in its folders", map[string]string{
			"addons/tenants/retail/fleet/rollouts/payments.yaml":               hostile,
			"addons/tenants/retail/defaults/fleet/rollouts/payments.yaml":      hostile,
			"addons/tenants/retail/clusters/b/fleet/rollouts/payments.yaml":    hostile,
			"addons/tenants/retail/clusters/b/fleet/rollouts/all.yaml":         hostile,
			"addons/tenants/retail/defaults/application-sets/rollouts.yaml":    hostile,
			"resources/tenants/retail/clusters/b/fleet/rollouts/payments.yaml": hostile,
		}},
		{"labels of its registration", map[string]string{
			"addons/tenants/retail/defaults/fleet/fleet-secret/values.yaml":   "externalSecret: {labels: {environment: dev, tenant: payments}}\n",
			"addons/tenants/retail/clusters/b/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {cluster: d, tenant: payments}}\n",
		}},
		{"labels of its members", map[string]string{
			fileB: memberB + "labels: {cluster: d, ring: payments-canary, hub: hub-1}\n",
		}},
		{"broken files", map[string]string{
			"addons/tenants/retail/clusters/b/addons/dns/values.yaml":     "a: [\n",
			"addons/tenants/retail/defaults/application-sets/addons.yaml": "dns: [\n",
		}},
		{"its component goes", map[string]string{
			"addons/tenants/retail/defaults/application-sets/addons.yaml": "dns: {enabled: false}\n",
		}},
	} {
		files := with(map[string]string{valuesOfAll: "replicas: 7\n"}, nil)
		for path, text := range c.files {
			files[path] = strings.ReplaceAll(text, "REVISION", second)
		}
		revision := h.say(ofTenants(files)).Revision
		h.ofTenant("payments-canary", "takes part in "+c.what, has(revision))
		h.LookAtRings(h.Context())
		now := h.texts()
		if now["d"] != before["d"] || !strings.Contains(now["d"], first) {
			t.Errorf("%s: d changes\n%s\n%s", c.what, before["d"], now["d"])
		}
		if !strings.Contains(now["c"], "replicas: 7") || !strings.Contains(now["c"], revision) {
			t.Errorf("%s: c has not what its own ring has: %s", c.what, now["c"])
		}
		for _, ring := range []string{"payments-canary", "payments-prod"} {
			if r := h.ofTenant(ring, "is there", func(r rings.Ring) bool { return r.Name == ring }); r.Members != 1 || r.Rejection != "" {
				t.Errorf("%s: %+v", c.what, r)
			}
		}
	}
}

// TestTenantHoldsNoRolloutOfAnother: with a policy for each tenant, members of one that degrade,
// break or go hold no ring of another, and take none back. (G7)
func TestTenantHoldsNoRolloutOfAnother(t *testing.T) {
	h, first := tenantsRun(t)
	files := map[string]string{valuesOfAll: "replicas: 7\n"}
	second := h.say(ofTenants(files)).Revision
	h.ofTenant("retail-canary", "has the change", has(second))
	h.apply(ofDNS, askDNS)
	a := h.apps["dns-a"]
	a.Degraded = true
	h.apps["dns-a"] = a
	h.health(true, "dns-c")
	h.ofTenant("retail-canary", "goes back", func(r rings.Ring) bool { return strings.Contains(r.Rejection, "dns-a is degraded") })
	files["addons/tenants/retail/clusters/b/addons/dns/values.yaml"] = "a: [\n"
	third := h.say(ofTenants(files)).Revision
	h.ofTenant("payments-canary", "goes on", has(third))
	files["fleet/rollouts/payments.yaml"] = ofTenants(nil)["fleet/rollouts/payments.yaml"] +
		"approvals: [{ring: payments-prod, revision: " + third + ", expires: 2099-01-01, reason: it is good}]\n"
	h.healthy("dns-c")
	h.say(ofTenants(files))
	h.ofTenant("payments-prod", "goes on", has(third))
	h.ofTenant("retail-prod", "stays", has(first))
}

// TestTenantReadsItsOwnRolloutsAlone: with a token of one tenant, /api/v1/rollouts says nothing of
// rollouts that concern others, nor of their members, and the open metrics name no cluster.
func TestTenantReadsItsOwnRolloutsAlone(t *testing.T) {
	k := tokensOf(t, map[string]string{
		"retail": "{routes: [fleet], tenants: [retail]}", "nobody": "{routes: [fleet], tenants: [none]}", "query": "{routes: [getparams], tenants: [retail]}",
	})
	h, _ := tenantsRun(t, k.use)
	shared := strings.Replace(twoRings, "rings:", "scope: {components: [addons/web], tenants: [retail, payments]}\nrings:", 1)
	shared = strings.Replace(shared, "onFailure: back}", "checks: [{name: payments-errors, url: \"https://payments.example/ok\"}]}", 1)
	second := h.say(ofTenants(map[string]string{valuesOfAll: "replicas: 7\n", "fleet/rollouts/shared.yaml": shared})).Revision
	h.ofTenant("payments-canary", "has the change", has(second))
	var full reply
	h.until("tells of the new rollout", func(refresh.Status) bool {
		h.LookAtRings(h.Context())
		full = h.get("/api/v1/rollouts")
		return strings.Contains(full.body, `"name":"shared"`)
	})
	for _, text := range []string{"payments", "cluster"} {
		assert.Contains(t, full.body, text, "the platform's token does not see")
	}
	r := caller{h.service, k.values["retail"]}.get("/api/v1/rollouts")
	r.is(t, http.StatusOK, "retail does not see its own", "retail-prod", `"name":"shared"`)
	for _, text := range []string{"payments", `"cluster":"c"`, `"cluster":"d"`, "cluster c", "cluster d", "hub-1/", `"members":2`} {
		if strings.Contains(r.body, text) {
			t.Errorf("retail sees %q: %s", text, r.body)
		}
	}
	(caller{h.service, k.values["nobody"]}).get("/api/v1/rollouts").is(t, http.StatusOK, "a tenant without members sees", `"rollouts":[]`)
	(caller{h.service, k.values["query"]}).get("/api/v1/rollouts").is(t, http.StatusForbidden, "a token for queries sees")
	for line := range strings.SplitSeq(h.get("/metrics").body, "\n") {
		if strings.HasPrefix(line, "argosy_rollout") && (strings.Contains(line, "cluster") || strings.Contains(line, second)) {
			t.Errorf("the metrics say %s", line)
		}
	}
}

// TestMovedMemberIsNotShownInRollouts: a member whose broken file names another tenant is served as
// it was, and its former tenant sees nothing of it any more.
func TestMovedMemberIsNotShownInRollouts(t *testing.T) {
	k := tokensOf(t, map[string]string{"retail": "{routes: [fleet], tenants: [retail]}"})
	h, _ := tenantsRun(t, k.use)
	members := func() int {
		var report rings.Report
		if r := (caller{h.service, k.values["retail"]}).get("/api/v1/rollouts"); r.code != http.StatusOK || json.Unmarshal([]byte(r.body), &report) != nil {
			t.Fatalf("%d %s", r.code, r.body)
		}
		n := 0
		for _, one := range report.Rollouts {
			for _, ring := range one.Rings {
				if ring.Name == "retail-prod" {
					n += ring.Members
				}
			}
		}
		return n
	}
	if n := members(); n != 1 {
		t.Fatalf("%d members", n)
	}
	h.say(ofTenants(map[string]string{fileB: strings.Replace(memberB, "tenant: retail", "tenant: payments", 1) + "lifecycle: broken\n"}))
	h.until("keeps b as it was", func(st refresh.Status) bool { return len(st.Quarantined) == 1 && st.Computing.IsZero() })
	h.LookAtRings(h.Context())
	if n := members(); n != 0 {
		t.Errorf("retail still sees %d members", n)
	}
}
