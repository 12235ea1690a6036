package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// fluxHub is a hub with Flux that is in the last of two rings, with member a in the first and b
// in the last.
type fluxHub struct{ *orderly }

func newFluxHub(t *testing.T, change ...func(*server.Options)) fluxHub {
	t.Helper()
	return fluxHub{newOrderly(t, append([]func(*server.Options){func(o *server.Options) {
		o.ApplicationSets = nil
		o.Facts.(*changingFacts).set = facts.NewSet(false).WithHelmReleases()
	}}, change...)...)}
}

func onFlux(more map[string]string) map[string]string {
	return inRings(with(map[string]string{
		"fleet/fleet-members/hub-1/hub-1.yaml": "clusterName: hub-1\nfleet_member: hub-cluster\ntenant: platform\nenvironment: prod\nremote_engine: flux\n",
	}, more))
}

// files are the artifact's, nil while there is none.
func (h fluxHub) files() map[string]string {
	h.Helper()
	if h.get("/v2/flux/hub-1/hub/manifests/latest").code != http.StatusOK {
		return nil
	}
	files, _ := h.pulled("flux/hub-1/hub", "latest")
	return files
}

var (
	deploys      = regexp.MustCompile(`(?s)kind: HelmRelease\n.*?argosy.dev/digest: "?(\w+)`)
	ofDNSInFiles = func(cluster string) string { return "components/dns-" + cluster + ".yaml" }
)

// flux has Flux apply the artifact: what it has written is not healthy yet.
func (h fluxHub) flux() {
	h.Helper()
	for file, text := range h.files() {
		name, is := strings.CutPrefix(strings.TrimSuffix(file, ".yaml"), "components/")
		if m := deploys.FindStringSubmatch(text); is && m != nil && h.apps[name].Digest != m[1] {
			component, cluster, _ := strings.Cut(name, "-")
			h.apps[name] = facts.Application{Name: name, Cluster: cluster, Group: "addons", Component: component, Owner: "hub-1/hub", Digest: m[1]}
		}
	}
	h.tell()
}

func (h fluxHub) tell() {
	h.Helper()
	var all []facts.Application
	for _, a := range h.apps {
		all = append(all, a)
	}
	set := facts.NewSet(false).WithHelmReleases(all...)
	h.orderly.facts.tell(set)
	h.settled(set)
}

func (h fluxHub) becomes(change func(*facts.Application), names ...string) {
	h.Helper()
	for _, name := range names {
		a := h.apps[name]
		change(&a)
		h.apps[name] = a
	}
	h.tell()
}

// steadyFluxHub is a hub that runs its first commit in both rings.
func steadyFluxHub(t *testing.T, change ...func(*server.Options)) (fluxHub, string) {
	t.Helper()
	h := newFluxHub(t, change...)
	first := h.say(onFlux(nil)).Revision
	h.until("answers", func(refresh.Status) bool { return h.files() != nil })
	h.flux()
	h.becomes(healthy, "dns-a", "dns-b", "dns-hub-1")
	h.ring("prod", first)
	return h, first
}

// TestFluxHubMovesRingByRing: the objects of a later ring stay byte for byte in the artifact of a
// hub with Flux, until Flux reports the ring before it healthy at the digest that it is answered;
// and a canary that fails goes back to its objects. (G7, G8)
func TestFluxHubMovesRingByRing(t *testing.T) {
	h, first := steadyFluxHub(t)
	before := h.files()
	second := h.say(onFlux(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision
	h.ring("canary", second)
	now := h.files()
	if now[ofDNSInFiles("b")] != before[ofDNSInFiles("b")] || now[ofDNSInFiles("hub-1")] != before[ofDNSInFiles("hub-1")] {
		t.Error("a later ring has changed:", now[ofDNSInFiles("b")])
	}
	assert.Contains(t, now[ofDNSInFiles("a")], "replicas: 7", "the first ring has not changed")
	h.dnsAtRing("a", "")
	h.dnsAtRing("b", first)
	h.tell() // everything is green, from before
	h.flux() // written, not healthy yet
	h.ring("prod", first)
	h.becomes(healthy, "dns-a")
	h.ring("prod", second)
	assert.Contains(t, h.files()[ofDNSInFiles("b")], "replicas: 7", "b has not got it")
	h.flux()
	h.becomes(healthy, "dns-b", "dns-hub-1")
	before = h.files()
	third := h.say(onFlux(map[string]string{valuesOfAll: "replicas: 8\n"})).Revision
	h.ring("canary", third)
	h.flux()
	h.becomes(func(a *facts.Application) { a.Degraded = true }, "dns-a")
	h.ring("canary", second)
	if now := h.files(); now[ofDNSInFiles("a")] != before[ofDNSInFiles("a")] || now[ofDNSInFiles("b")] != before[ofDNSInFiles("b")] {
		t.Error("the canary has not gone back to what it had:", now[ofDNSInFiles("a")])
	}
}

// TestFluxHoldsRemovals: what a commit may not remove stays in the artifact as it is. After a
// restart with another commit that removes it, there is no artifact until an approval. (G3, K3)
func TestFluxHoldsRemovals(t *testing.T) {
	dir := t.TempDir()
	h, _ := steadyFluxHub(t, atToday, storedIn(t, dir))
	before := h.files()
	h.say(onFlux(with(dnsOff, map[string]string{"addons/defaults/addons/web/values.yaml": "x: 1\n"})))
	now := h.files()
	for _, m := range []string{"a", "b"} {
		if path := ofDNSInFiles(m); before[path] == "" || now[path] != before[path] {
			t.Errorf("%s is not held: %s", path, now[path])
		}
	}
	restarted := func(change ...func(*server.Options)) fluxHub {
		h := newFluxHub(t, append(change, atToday)...)
		h.say(onFlux(dnsOff))
		h.LookAtRings(t.Context())
		return h
	}
	require.NoError(t, h.Stop(t.Context()))
	h = restarted(storedIn(t, dir))
	h.until("answers", func(refresh.Status) bool { h.LookAtRings(t.Context()); return h.files() != nil })
	if path := ofDNSInFiles("a"); h.files()[path] != before[path] {
		t.Errorf("after a restart: %s", h.files()[path])
	}
	require.NoError(t, h.Stop(t.Context()))
	require.NoError(t, os.Remove(filepath.Join(dir, "rollout-_holds-v1.record")))
	h = restarted(storedIn(t, dir))
	if files := h.files(); files != nil {
		t.Errorf("without the record of holds: %v", files)
	}
}

// TestFluxRemovesRingByRing: what a commit switches off is marked for removal where the ring has
// the commit, and is there elsewhere until it is gone in the ring before. (D3, G7)
func TestFluxRemovesRingByRing(t *testing.T) {
	h, _ := steadyFluxHub(t, atToday)
	before := h.files()
	off := onFlux(with(dnsOff, map[string]string{approval: approvalOf("- {clusters: [a, b], component: addons/dns, reason: r}")}))
	second := h.say(off).Revision
	h.ring("canary", second)
	now := h.files()
	assert.Contains(t, now[ofDNSInFiles("a")], "argosy.dev/deletion: cascade", "the first ring keeps it")
	if now[ofDNSInFiles("b")] != before[ofDNSInFiles("b")] {
		t.Error("the last ring has lost it:", now[ofDNSInFiles("b")])
	}
	delete(h.apps, "dns-a")
	h.tell()
	h.ring("prod", second)
}

// TestFluxRingsSurviveARestart: after a restart without records there is no artifact while what
// runs is not the newest commit; with records, later rings keep their objects. (G9)
func TestFluxRingsSurviveARestart(t *testing.T) {
	folder, err := store.NewFolder(t.TempDir())
	require.NoError(t, err)
	stored := func(o *server.Options) { o.Store = store.New(folder) }
	h, _ := steadyFluxHub(t, stored)
	changed := onFlux(map[string]string{valuesOfAll: "replicas: 7\n"})
	second := h.say(changed).Revision
	h.ring("canary", second)
	before := h.files()
	h.flux()
	require.NoError(t, h.Stop(t.Context()))
	for name, keep := range map[string]func(*server.Options){"with its records": stored, "without": func(*server.Options) {}} {
		t.Run(name, func(t *testing.T) {
			again := newFluxHub(t, keep, func(o *server.Options) {
				var all []facts.Application
				for _, a := range h.apps {
					all = append(all, a)
				}
				o.Facts.(*changingFacts).set = facts.NewSet(false).WithHelmReleases(all...)
			})
			again.say(changed)
			if name == "without" {
				again.until("says why", func(refresh.Status) bool {
					r := again.get("/v2/flux/hub-1/hub/manifests/latest")
					return r.code == http.StatusServiceUnavailable && strings.Contains(r.body, "lost")
				})
				return
			}
			again.until("answers", func(refresh.Status) bool { return again.files() != nil })
			if now := again.files(); now[ofDNSInFiles("b")] != before[ofDNSInFiles("b")] || now[ofDNSInFiles("a")] != before[ofDNSInFiles("a")] {
				t.Error("after a restart:", now[ofDNSInFiles("b")])
			}
		})
	}
}

// TestMemberThatTheArtifactLeavesOutHoldsItsRing: a member of the first ring is left out of the
// artifact, as Flux cannot express a component of it. Its ring waits for it, whatever the policy's
// scope names. (G8)
func TestMemberThatTheArtifactLeavesOutHoldsItsRing(t *testing.T) {
	for name, scope := range map[string]string{"all": "", "components": "scope: {components: [addons/dns]}\n"} {
		t.Run(name, func(t *testing.T) {
			of := func(more map[string]string) map[string]string {
				return onFlux(with(map[string]string{policyFile: strings.Replace(twoRings, "rings:", scope+"rings:", 1), fileC: memberOfFirst}, more))
			}
			h := newFluxHub(t)
			first := h.say(of(nil)).Revision
			h.until("answers", func(refresh.Status) bool { return h.files() != nil })
			h.flux()
			h.becomes(healthy, "dns-a", "dns-b", "dns-c", "dns-hub-1")
			h.ring("prod", first)
			second := h.say(of(map[string]string{
				valuesOfAll: "replicas: 7\n",
				"addons/tenants/retail/clusters/c/application-sets/addons.yaml": "dns: {namespace: Kube_System}\n",
			})).Revision
			h.ring("canary", second)
			h.flux()
			h.becomes(healthy, "dns-a")
			h.looks()
			h.ringSays("canary", second, "waits for health on cluster c")
			h.ring("prod", first)
		})
	}
}

// TestLaterRingKeepsItsGitCredentials: what a later ring has from Git is read with the credentials
// that it has, though the newest commit leaves nothing on its member that needs them, or makes
// others. (G7)
func TestLaterRingKeepsItsGitCredentials(t *testing.T) {
	const values = "addons/defaults/fleet/fleet-secret/values.yaml"
	private := map[string]string{
		policyFile: strings.Replace(twoRings, "rings:", "scope: {groups: [addons, fleet]}\nrings:", 1),
		"addons/defaults/application-sets/addons.yaml": "dns:\n  enabled: true\n  namespace: dns\n" +
			"  chart: {repoURL: https://git.example/x, path: charts/dns, version: main}\n",
		values: "gitCredentials: {team: {type: http, url: 'https://git.example', secretName: s}}\n",
	}
	for name, commit := range map[string]map[string]string{
		"nothing needs them": {"addons/tenants/retail/clusters/b/application-sets/addons.yaml": "dns: {enabled: false}\n"},
		"other credentials":  {values: "gitCredentials: {others: {type: http, url: 'https://git.example', secretName: s}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFluxHub(t)
			first := h.say(onFlux(private)).Revision
			h.until("answers", func(refresh.Status) bool { return h.files() != nil })
			h.flux()
			h.becomes(healthy, "dns-a", "dns-b", "dns-hub-1")
			h.ring("prod", first)
			before := h.files()[ofDNSInFiles("b")]
			require.Contains(t, before, "name: b-git-team")
			second := h.say(onFlux(with(private, commit, map[string]string{valuesOfAll: "replicas: 7\n"}))).Revision // the first ring waits
			h.ring("canary", second)
			if now := h.files()[ofDNSInFiles("b")]; now != before {
				t.Errorf("the later ring has changed:\n%s\n%s", before, now)
			}
		})
	}
}
