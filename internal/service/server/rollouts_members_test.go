package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	// memberOfFirst is in the first ring, as a is.
	memberOfFirst = "clusterName: c\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: hub-1/c\n"
	noYAML        = "clusterName: a\ntenant: [\n"
)

// looks lets the service look at its rings until nothing can move any more by what it knows.
func (h *orderly) looks() {
	h.Helper()
	for range 5 {
		h.LookAtRings(h.Context())
	}
}

// TestBrokenMemberStaysInItsRing: a file that cannot be read, or that has lost what a ring selects
// it by, takes its member neither to another ring nor out of the policy. It keeps what it has, and
// the ring waits for it. (G2, G8)
func TestBrokenMemberStaysInItsRing(t *testing.T) {
	inScope := strings.Replace(twoRings, "rings:", "scope: {tenants: [retail]}\nrings:", 1)
	for name, c := range map[string]struct {
		more         map[string]string // beside the policy
		file, broken string
		member, want string // what the member has all the same
		waits, kept  string // a member of the later ring, and what it keeps
	}{
		"the only one of a ring":    {nil, fileA, noYAML, "a", "replicas: 7", "b", "replicas: 1"},
		"without its environment":   {nil, fileA, strings.Replace(memberA, "environment:", "enviroment:", 1), "a", "replicas: 7", "b", "replicas: 1"},
		"one of two":                {map[string]string{fileC: memberOfFirst}, fileA, noYAML, "a", "replicas: 7", "b", "replicas: 1"},
		"of a ring that comes late": {map[string]string{policyFile: inScope}, fileB, strings.ReplaceAll(noYAML, ": a", ": b"), "a", "replicas: 7", "b", "replicas: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newOrderly(t)
			first := h.say(inRings(c.more)).Revision
			h.answers()
			h.healthy("dns-a", "dns-b", "dns-c", "dns-hub-1")
			h.ring("prod", first)
			change := with(c.more, map[string]string{valuesOfAll: "replicas: 7\n"})
			h.ring("canary", h.say(inRings(change)).Revision)
			h.apply(ofDNS, askDNS) // written, and never healthy
			h.say(inRings(with(change, map[string]string{c.file: c.broken})))
			h.looks()
			h.answers()
			now := h.texts()
			assert.Contains(t, now[c.member], c.want, "%s has lost", c.member)
			if !strings.Contains(now[c.waits], c.kept) {
				t.Errorf("%s does not have %q any more, though the first ring was never healthy: %s", c.waits, c.kept, now[c.waits])
			}
		})
	}
}

// TestBrokenMemberKeepsItsApplications: a member of the first ring has a component that the later
// ring does not have yet. An error in its file does not take it away. (G2)
func TestBrokenMemberKeepsItsApplications(t *testing.T) {
	const catalog, withWeb = "addons/defaults/application-sets/addons.yaml", "dns:\n  enabled: true\n  namespace: dns\n  chart: {repoURL: https://example.org/charts, name: dns, version: 1.0.0}\n" +
		"web:\n  enabled: true\n  namespace: web\n  chart: {repoURL: https://example.org/charts, name: web, version: 1.0.0}\n"
	more := map[string]string{fileC: memberOfFirst}
	h := newOrderly(t)
	first := h.say(inRings(more)).Revision
	h.answers()
	h.healthy("dns-a", "dns-b", "dns-c", "dns-hub-1")
	h.ring("prod", first)
	change := with(more, map[string]string{catalog: withWeb})
	h.ring("canary", h.say(inRings(change)).Revision)
	isThere := func() bool {
		r := h.askAs(ofWeb, askWeb)
		return r.code == http.StatusOK && strings.Contains(r.body, `"applicationName":"web-a"`)
	}
	if h.apply(ofDNS, askDNS); !isThere() {
		t.Fatal("the first ring does not get the new component")
	}
	h.apply(ofWeb, askWeb)
	h.say(inRings(with(change, map[string]string{fileA: noYAML})))
	h.looks()
	if !isThere() {
		t.Errorf("Argo CD would delete web-a: %s", h.askAs(ofWeb, askWeb).body)
	}
}

// TestRemovedMemberHoldsNoRing: a member of the first ring never becomes healthy at a commit, and
// is removed. The ring waits for the others alone.
func TestRemovedMemberHoldsNoRing(t *testing.T) {
	more := map[string]string{fileC: memberOfFirst}
	h, _ := steady(t, more)
	change := map[string]string{valuesOfAll: "replicas: 7\n"}
	h.ring("canary", h.say(inRings(with(more, change))).Revision)
	h.healthy("dns-a", "dns-b", "dns-hub-1") // c is dead
	h.looks()
	h.ring("canary", h.say(inRings(change)).Revision)
}

// TestRestartKeepsWhatAMemberJoinedWith: a member joins a later ring. What a further commit says of
// it waits for the first ring, also after a restart. (G7, G9)
func TestRestartKeepsWhatAMemberJoinedWith(t *testing.T) {
	folder, err := store.NewFolder(t.TempDir())
	require.NoError(t, err)
	stored := func(o *server.Options) { o.Store = store.New(folder) }
	h, first := steady(t, nil, stored)
	files := func(own string) map[string]string {
		return inRings(map[string]string{
			valuesOfAll:                          "replicas: 7\n",
			"fleet/fleet-members/hub-1/new.yaml": "clusterName: new\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: hub-1/new\n",
			"addons/tenants/retail/clusters/new/addons/dns/values.yaml": "own: " + own + "\n",
		})
	}
	h.ring("canary", h.say(files("joined")).Revision) // and is never healthy there
	h.answers()
	h.say(files("later"))
	h.looks()
	before := h.texts()["new"]
	if !strings.Contains(before, "own: joined") || !strings.Contains(before, first) {
		t.Fatal("the new member has not what its ring has:", before)
	}
	apps := h.apps
	require.NoError(t, h.Stop(t.Context()))
	h = newOrderly(t, stored, func(o *server.Options) { o.Facts.(*changingFacts).set = factsOf(apps) })
	h.apps = apps
	h.say(files("later"))
	h.ring("prod", first)
	h.answers()
	if now := h.texts()["new"]; now != before {
		t.Errorf("its ring stays at %s, and it changes with a restart:\n%s\n%s", first, before, now)
	}
}
