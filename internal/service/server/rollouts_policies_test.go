package server_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestPolicyThatComesBackBeginsAnew: while there was no policy, all members got the newest commit.
// A policy of the same name, as a revert brings it, does not take them back to what its rings had
// before. (G7)
func TestPolicyThatComesBackBeginsAnew(t *testing.T) {
	folder, err := store.NewFolder(t.TempDir())
	require.NoError(t, err)
	h, _ := steady(t, nil, func(o *server.Options) { o.Store = store.New(folder) })
	var last string
	h.say(repository(nil))
	h.until("the policy is gone", func(refresh.Status) bool { return len(h.Rollouts().Rollouts) == 0 })
	for n := range 20 {
		last = h.say(repository(map[string]string{valuesOfAll: "replicas: 2" + strconv.Itoa(n) + "\n"})).Revision
		h.looks()
	}
	h.healthy("dns-b", "dns-hub-1")
	// So that prod does not take the next commit.
	h.health(false, "dns-a")
	now := h.say(inRings(map[string]string{valuesOfAll: "replicas: 219\n"})).Revision // nothing but the policy
	h.answers()
	h.ring("canary", now)
	h.ring("prod", last)
	if now := h.texts(); !strings.Contains(now["b"], "replicas: 219") {
		t.Errorf("b goes back: %s", now["b"])
	}
}

// TestRenamedPolicyKeepsItsRings: another name for the file of a policy is not a way past its gate.
// (G7)
func TestRenamedPolicyKeepsItsRings(t *testing.T) {
	for name, change := range map[string]func(t *testing.T) []func(*server.Options){
		"in memory": func(*testing.T) []func(*server.Options) { return nil },
		"in a store": func(t *testing.T) []func(*server.Options) {
			folder, err := store.NewFolder(t.TempDir())
			require.NoError(t, err)
			return []func(*server.Options){func(o *server.Options) { o.Store = store.New(folder) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, first := steady(t, nil, change(t)...)
			second := h.say(inRings(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision
			h.ring("canary", second)
			h.ring("prod", first)
			h.say(repository(map[string]string{valuesOfAll: "replicas: 7\n", "fleet/rollouts/other.yaml": twoRings}))
			h.looks()
			h.answers()
			h.ring("prod", first)
			if now := h.texts(); strings.Contains(now["b"], "replicas: 7") {
				t.Errorf("b has a commit that was never healthy: %s", now["b"])
			}
		})
	}
}

// TestWiderScopeTakesNothingBack: what a policy is about only since a commit followed the newest
// one until then. A ring that lags does not take it back to what the ring has, and takes it along
// from the next revision on.
func TestWiderScopeTakesNothingBack(t *testing.T) {
	wide := strings.Replace(twoRings, "environment: prod}}", "environment: prod}}, approval: required", 1)
	for what, narrow := range map[string]string{
		"components": strings.Replace(wide, "rings:", "scope: {components: [addons/web]}\nrings:", 1),
		"tenants":    strings.Replace(wide, "rings:", "scope: {tenants: [other]}\nrings:", 1),
	} {
		t.Run(what, func(t *testing.T) {
			h, _ := steady(t, map[string]string{policyFile: narrow})
			change := map[string]string{valuesOfAll: "replicas: 7\n"}
			h.ring("canary", h.say(inRings(with(change, map[string]string{policyFile: narrow}))).Revision)
			h.healthy("dns-a", "dns-b", "dns-hub-1")
			require.Contains(t, h.texts()["b"], "replicas: 7", "dns is in no policy, and b does not have the newest commit")
			h.say(inRings(with(change, map[string]string{policyFile: wide})))
			h.looks()
			h.answers()
			assert.Contains(t, h.texts()["b"], "replicas: 7", "b is taken back by a wider scope")
		})
	}
}

// TestRollbackBeforeAWiderScopeFollowsNothing: a ring that is put back to before its policy was
// about a component gets nothing that it has never taken. (G7)
func TestRollbackBeforeAWiderScopeFollowsNothing(t *testing.T) {
	narrow := strings.Replace(twoRings, "rings:", "scope: {components: [addons/web]}\nrings:", 1)
	h, first := steady(t, map[string]string{policyFile: narrow})
	second := h.say(inRings(nil)).Revision
	h.ring("canary", second)
	h.healthy("dns-a", "dns-b", "dns-hub-1")
	h.ring("prod", second)
	change := map[string]string{valuesOfAll: "replicas: 7\n"}
	h.ring("canary", h.say(inRings(change)).Revision)
	h.ring("prod", second)
	pinned := strings.Replace(twoRings, "rings:", `pins: [{ring: prod, revision: "`+first+`"}]`+"\nrings:", 1)
	h.say(inRings(with(change, map[string]string{policyFile: pinned})))
	h.ring("prod", first)
	h.answers()
	if now := h.texts()["b"]; strings.Contains(now, "replicas: 7") {
		t.Errorf("prod is put back, and gets the newest commit: %s", now)
	}
}

// TestScopeTakenOverKeepsTheGate: what another policy was about follows no newest commit when a
// policy takes it over. (G7)
func TestScopeTakenOverKeepsTheGate(t *testing.T) {
	const other = "fleet/rollouts/web.yaml"
	scoped := func(scope string) string {
		approved := strings.Replace(twoRings, "environment: prod}}", "environment: prod}}, approval: required", 1)
		return strings.Replace(approved, "rings:", "scope: "+scope+"\nrings:", 1)
	}
	policies := map[string]string{policyFile: scoped("{components: [addons/dns]}"), other: scoped("{components: [addons/web]}")}
	h, _ := steady(t, policies)
	change := map[string]string{valuesOfAll: "replicas: 7\n"}
	h.say(inRings(with(policies, change)))
	h.looks()
	h.answers()
	if now := h.texts()["b"]; strings.Contains(now, "replicas: 7") {
		t.Fatal(now)
	}
	h.say(repository(with(change, map[string]string{other: scoped("{groups: [addons]}")})))
	h.looks()
	h.answers()
	if now := h.texts()["b"]; strings.Contains(now, "replicas: 7") {
		t.Errorf("another policy takes dns over, and b has a commit that nobody approved: %s", now)
	}
}

// TestRingSkipsNoVersionOfACluster: two commits pass the first ring while the second is frozen. The
// second takes them one after the other: a control plane goes one minor version at a time. (C2)
func TestRingSkipsNoVersionOfACluster(t *testing.T) {
	const ofEKS, askEKS = "provisioning-eks", `{"view":"components","group":"provisioning","component":"eks"}`
	const freeze = ", freezes: [{from: 2000-01-01, to: 2099-01-01}]"
	at := func(version, freeze string) map[string]string {
		member := func(name, environment string) string {
			return "clusterName: " + name + "\ntenant: retail\nenvironment: " + environment + "\nsecretManagerSecretName: hub-1/" + name +
				"\nprovision: {class: eks, version: \"" + version + "\"}\n"
		}
		return repository(map[string]string{
			"fleet/layout.yaml":          "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  provisioning: {catalog: catalogs/provisioning.yaml}\n",
			"catalogs/provisioning.yaml": "eks: {enabled: true, chart: {repoURL: r, path: p, version: v}}\n",
			fileA:                        member("a", "dev"), fileB: member("b", "prod"),
			policyFile: "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nscope: {groups: [provisioning]}\nrings:\n" +
				"- {name: canary, selector: {matchLabels: {environment: dev}}}\n- {name: prod, selector: {matchLabels: {environment: prod}}" + freeze + "}\n",
		})
	}
	h := newOrderly(t)
	h.sets.mu.Lock()
	h.sets.sets = []facts.ApplicationSet{{Name: ofEKS, Requests: []json.RawMessage{[]byte(askEKS)}}}
	h.sets.mu.Unlock()
	first := h.say(at("1.31", "")).Revision
	h.until("answers", func(refresh.Status) bool { return h.askAs(ofEKS, askEKS).code == http.StatusOK })
	h.apply(ofEKS, askEKS)
	h.health(true, "eks-a", "eks-b")
	h.ring("prod", first)
	revisions := map[string]string{}
	for _, version := range []string{"1.32", "1.33"} {
		revisions[version] = h.say(at(version, freeze)).Revision
		h.ring("canary", revisions[version])
		h.apply(ofEKS, askEKS)
		h.health(true, "eks-a")
		h.looks()
		h.ringSays("prod", first, "the end of a freeze")
	}
	h.say(at("1.33", ""))
	h.ring("prod", revisions["1.32"])
	h.looks()
	found := false
	for _, s := range querytest.Sets(t, []byte(h.askAs(ofEKS, askEKS).body)) {
		if s.Text("name") != "b" {
			continue
		}
		if found = true; !strings.Contains(s.Text("helmValues"), "1.32") {
			t.Errorf("b goes from 1.31 to:\n%s", s.Text("helmValues"))
		}
	}
	if !found {
		t.Error("b has no parameter set")
	}
}

// TestQueriesThatNobodyKnowsOpenNoGate: what an ApplicationSet asks for that Argo CD alone knows
// may be broken. Without it no ring goes on. (G8)
func TestQueriesThatNobodyKnowsOpenNoGate(t *testing.T) {
	const catalog = "addons/defaults/application-sets/addons.yaml"
	withWeb := repository(nil)[catalog] + "web:\n  enabled: true\n  namespace: web\n  chart: {repoURL: https://example.org/charts, name: web, version: 1.0.0}\n"
	h, first := steady(t, nil)
	h.sets.mu.Lock()
	h.sets.sets = []facts.ApplicationSet{{Name: ofDNS, Requests: []json.RawMessage{[]byte(askDNS)}}, {Name: "matrix", Templated: true}}
	h.sets.mu.Unlock()
	second := h.say(inRings(map[string]string{catalog: withWeb})).Revision
	h.ring("canary", second)
	h.apply("matrix", askWeb) // web-a is made, and never healthy
	h.looks()
	for _, x := range h.Rollouts().Rollouts {
		for _, r := range x.Rings {
			if r.Name == "prod" && r.Revision != first {
				t.Errorf("prod has %s, though web-a was never healthy on canary", r.Revision)
			}
		}
	}
}
