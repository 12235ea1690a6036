package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

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
