package server_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// agentsInRings has member a in the first ring, agent b in the second, and the hub itself in the
// last.
const agentsInRings = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
agents: true
rings:
  - {name: first, selector: {matchLabels: {cluster: a}}}
  - {name: agents, selector: {matchLabels: {cluster: b}}}
  - {name: last, selector: {matchLabels: {cluster: hub-1}}}
`

const dnsOfB = `{"view":"components","group":"addons","component":"dns","release":"default","owner":"b"}`

// agentWith is the fleet with agent b, whose addons its own engine deploys.
func agentWith(engine string, more map[string]string) map[string]string {
	return repository(with(map[string]string{
		policyFile:                         agentsInRings,
		"fleet/fleet-members/hub-1/b.yaml": memberB + "use_remote_argo: true\nremote_engine: " + engine + "\n" + remoteAddons,
	}, more))
}

// withEachEngine runs a test with an agent that has Argo CD, and with one that has Flux.
func withEachEngine(t *testing.T, test func(t *testing.T, engine string)) {
	t.Helper()
	for _, engine := range []string{fleet.EngineArgoCD, fleet.EngineFlux} {
		t.Run(engine, func(t *testing.T) { test(t, engine) })
	}
}

// reports are the grants of agent b, and what its service reports on their groups.
type reports struct {
	cession
	said map[string]facts.GroupReport
	lock sync.Mutex
}

func (*reports) Member() string { return "b" }
func (r *reports) Report(said map[string]facts.GroupReport) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.said = said
}

func (r *reports) of(group string) facts.GroupReport {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.said[group]
}

// federation is a hub with Argo CD, which has the health check of grants, and its agent b.
type federation struct {
	engine     string // the agent's
	hub, agent *orderly
	says       *reports
	asking     *asking              // the agent's ApplicationSet
	grant      facts.OwnershipGrant // as it is on the agent
	// noHealthCheck says that the hub's Argo CD has no health check of grants.
	noHealthCheck string
}

func newFederation(t *testing.T, engine string, change ...func(*server.Options)) *federation {
	t.Helper()
	f := &federation{engine: engine, grant: facts.OwnershipGrant{Group: "addons", UID: "7", Held: true}}
	f.hub = newOrderly(t, func(o *server.Options) {
		o.GrantHealth = func(context.Context) string { return f.noHealthCheck }
		o.ApplicationSets = &asking{refreshed: make(chan string, 1000), sets: []facts.ApplicationSet{
			{Name: ofDNS, Requests: []json.RawMessage{[]byte(askDNS)}}, {Name: "grants", Requests: []json.RawMessage{[]byte(allGrants)}},
		}}
	})
	f.startAgent(t, change...)
	return f
}

func (f *federation) startAgent(t *testing.T, change ...func(*server.Options)) {
	t.Helper()
	f.says = &reports{}
	apps := map[string]facts.Application{}
	if f.agent != nil { // a restart
		apps = f.agent.apps
	}
	f.agent = newOrderly(t, append([]func(*server.Options){func(o *server.Options) {
		o.Grants = f.says
		f.asking = &asking{refreshed: make(chan string, 1000), sets: []facts.ApplicationSet{{Name: ofDNS, Requests: []json.RawMessage{[]byte(dnsOfB)}}}}
		o.ApplicationSets = f.asking
		o.Facts.(*changingFacts).set = f.onAgent(apps)
	}}, change...)...)
	f.agent.apps = apps
}

// onAgent are the facts of the agent's service.
func (f *federation) onAgent(apps map[string]facts.Application) facts.Set {
	set, all := facts.NewSet(false).WithGrants("b", f.grant), slices.Collect(maps.Values(apps))
	if f.engine == fleet.EngineFlux {
		return set.WithHelmReleases(all...)
	}
	return set.WithApplications(all...).WithHealth()
}

// answer is what the agent's engine gets for dns, or the message of a refusal, and the digest in
// it.
func (f *federation) answer() (text, digest string) {
	f.agent.Helper()
	if f.engine == fleet.EngineFlux {
		if r := f.agent.get("/v2/flux/hub-1/b/manifests/latest"); r.code != http.StatusOK {
			return r.body, ""
		}
		files, _ := f.agent.pulled("flux/hub-1/b", "latest")
		text = files["components/dns-b.yaml"]
		_, rest, _ := strings.Cut(text, "kind: HelmRelease")
		_, rest, _ = strings.Cut(rest, "argosy.dev/digest: ")
		digest, _, _ = strings.Cut(rest, "\n")
		return text, strings.Trim(digest, `"`)
	}
	r := f.agent.askAs(ofDNS, dnsOfB)
	if r.code != http.StatusOK {
		return r.message(), ""
	}
	return r.body, querytest.Sets(f.agent, []byte(r.body))[0].Text("digest")
}

// say pushes a commit that both services read.
func (f *federation) say(files map[string]string) string {
	f.hub.Helper()
	revision := f.hub.say(files).Revision
	f.agent.say(files)
	return revision
}

// deliver has the hub's Argo CD apply the grants, and show the health that the agent reports.
func (f *federation) deliver() {
	f.hub.Helper()
	r := f.hub.askAs("grants", allGrants)
	if r.code != http.StatusOK {
		f.hub.Fatal(r.code, r.body)
	}
	for _, s := range querytest.Sets(f.hub, []byte(r.body)) {
		if old := f.hub.apps["grant-addons-b"]; old.Digest != s.Text("digest") {
			f.hub.apps["grant-addons-b"] = facts.Application{
				Name: "grant-addons-b", Cluster: "b", Group: "addons", Grant: true, Cascade: true, Controller: "grants", Digest: s.Text("digest"),
			}
		}
		f.grant.Rings = s.Text("rings")
	}
	f.tellAgent()
	f.show()
}

// show has the hub's Argo CD show what the agent says now, by the health check and by the link.
func (f *federation) show() {
	f.hub.Helper()
	f.agent.LookAtRings(f.agent.Context())
	a := f.hub.apps["grant-addons-b"]
	said := f.says.of("addons")
	a.Healthy, a.Degraded = f.grant.Rings == "" || said.Rings == "Healthy "+f.grant.Rings, said.Rings == "Degraded "+f.grant.Rings
	a.Report = said.Components
	f.hub.apps["grant-addons-b"] = a
	f.hub.report()
}

func (f *federation) tellAgent() {
	f.agent.Helper()
	set := f.onAgent(f.agent.apps)
	f.agent.facts.tell(set)
	f.agent.settled(set)
	f.agent.LookAtRings(f.agent.Context())
}

// sync has the agent's Argo CD apply what it is answered, and become healthy or not.
func (f *federation) sync(change func(*facts.Application)) {
	f.agent.Helper()
	_, digest := f.answer()
	a := facts.Application{Name: "dns-b", Cluster: "b", Group: "addons", Component: "dns", Release: "default", Digest: digest}
	if f.engine == fleet.EngineFlux {
		a.Owner = "hub-1/b"
	} else {
		a.Controller = ofDNS
	}
	change(&a)
	f.agent.apps["dns-b"] = a
	f.tellAgent()
}

func healthy(a *facts.Application) { a.Healthy = true }

// body is what the agent's engine gets for dns.
func (f *federation) body() string {
	f.agent.Helper()
	text, _ := f.answer()
	return text
}

// revision is what the agent is answered from, empty while there is no answer.
func (f *federation) revision() string {
	f.agent.Helper()
	if _, digest := f.answer(); digest == "" {
		return ""
	}
	return f.agent.Rollouts().Rollouts[0].Rings[0].Revision
}

// steadyFederation is a federation that runs its first commit in all rings.
func steadyFederation(t *testing.T, engine string, change ...func(*server.Options)) (*federation, string) {
	t.Helper()
	f := newFederation(t, engine, change...)
	return f, f.settle(agentWith(engine, nil))
}

// settle pushes a commit, and waits until everything runs it and is healthy.
func (f *federation) settle(files map[string]string) (revision string) {
	f.hub.Helper()
	revision = f.say(files)
	f.hub.answers()
	f.hub.healthy("dns-a", "dns-hub-1")
	f.deliver()
	f.agent.until("answers", func(refresh.Status) bool { return f.revision() == revision })
	f.sync(healthy)
	f.show()
	return revision
}

// TestAgentFollowsItsRing: one policy orders a member of the hub, an agent and the hub itself. The
// agent's service has read the commit, and keeps its bytes until the hub's grant names the
// revision; and the ring after the agent's waits until the agent says that it is healthy at it.
// (G7, G8)
func TestAgentFollowsItsRing(t *testing.T) { withEachEngine(t, agentFollowsItsRing) }

func agentFollowsItsRing(t *testing.T, engine string) {
	t.Helper()
	f, first := steadyFederation(t, engine)
	before := f.body()
	second := f.say(agentWith(engine, map[string]string{valuesOfAll: "replicas: 7\n"}))
	f.hub.ring("first", second)
	f.deliver()
	if now := f.body(); now != before {
		t.Errorf("the agent is ahead of its ring:\n%s\n%s", before, now)
	}
	f.hub.ring("agents", first)
	f.hub.dnsAtRing("b", first)
	f.hub.dnsAtRing("hub-1", first)
	f.agent.dnsAtRing("b", first)
	f.agent.dnsAtRing("hub-1", "")
	f.hub.healthy("dns-a")
	f.hub.ring("agents", second)
	f.hub.ring("last", first)
	f.hub.dnsAtRing("b", "")
	f.show() // the grant is healthy, from before
	f.hub.ring("last", first)
	f.deliver()
	f.agent.until("follows", func(refresh.Status) bool { return f.revision() == second })
	f.show() // it follows, and runs what it had
	f.hub.ringSays("agents", second, "waits for health on cluster b")
	f.sync(func(*facts.Application) {})
	f.show()
	f.hub.ring("last", first)
	f.sync(healthy)
	f.show()
	f.hub.ring("last", second)
}

// TestFailedAgentGoesBack: an agent that reports that it is degraded fails its ring, and is
// announced its last good revision, which its service has kept.
func TestFailedAgentGoesBack(t *testing.T) { withEachEngine(t, failedAgentGoesBack) }

func failedAgentGoesBack(t *testing.T, engine string) {
	t.Helper()
	back := strings.Replace(agentsInRings, "cluster: b}}", "cluster: b}}, onFailure: back", 1)
	f, _ := steadyFederation(t, engine)
	first := f.say(agentWith(engine, map[string]string{policyFile: back}))
	f.hub.ring("agents", first)
	f.deliver()
	f.agent.until("follows", func(refresh.Status) bool { return f.revision() == first })
	f.sync(healthy)
	f.show()
	f.hub.ring("last", first)
	second := f.say(agentWith(engine, map[string]string{policyFile: back, valuesOfAll: "replicas: 7\n"}))
	f.hub.ring("first", second)
	f.hub.healthy("dns-a")
	f.hub.ring("agents", second)
	f.deliver()
	f.agent.until("follows", func(refresh.Status) bool { return f.revision() == second })
	f.sync(func(a *facts.Application) { a.Degraded = true })
	f.show()
	if r := f.hub.ring("agents", first); !strings.Contains(r.Rejection, "grant-addons-b is degraded") {
		t.Error(r.Rejection)
	}
	f.deliver()
	f.agent.until("goes back", func(refresh.Status) bool { return f.revision() == first })
	f.hub.ring("last", first)
}

// TestAgentThatHearsNothingHolds: an agent that its hub does not reach keeps what it has, over
// commits and over a restart; it blocks nobody within maxUnavailable, and catches up. (G7, G9)
func TestAgentThatHearsNothingHolds(t *testing.T) { withEachEngine(t, agentThatHearsNothingHolds) }

func agentThatHearsNothingHolds(t *testing.T, engine string) {
	t.Helper()
	folder, err := store.NewFolder(t.TempDir())
	require.NoError(t, err)
	stored := func(o *server.Options) { o.Store = store.New(folder) }
	tolerant := strings.Replace(agentsInRings, "cluster: b}}", "cluster: b}}, maxUnavailable: 1", 1)
	f, _ := steadyFederation(t, engine, stored)
	first := f.say(agentWith(engine, map[string]string{policyFile: tolerant}))
	f.hub.ring("agents", first)
	f.deliver()
	f.agent.until("follows", func(refresh.Status) bool { return f.revision() == first })
	f.sync(healthy)
	f.show()
	f.hub.ring("last", first)
	f.hub.until("the tolerant policy is in force", func(refresh.Status) bool { return f.hub.Rollouts().Rollouts[0].InForce == nil })
	f.deliver()
	f.agent.until("follows", func(refresh.Status) bool { return f.revision() == first })
	before := f.body()
	changed := agentWith(engine, map[string]string{policyFile: tolerant, valuesOfAll: "replicas: 7\n"})
	second := f.say(changed)
	f.hub.ring("first", second)
	f.hub.healthy("dns-a")
	f.hub.ring("last", second) // over the agent, which is away
	if now := f.body(); now != before {
		t.Errorf("the agent has heard nothing, and answers\n%s\n%s", before, now)
	}
	require.NoError(t, f.agent.Stop(t.Context()))
	f.startAgent(t, stored)
	f.agent.say(changed)
	f.agent.until("answers", func(refresh.Status) bool { return f.revision() != "" })
	if now := f.body(); now != before {
		t.Errorf("after a restart the agent answers\n%s\n%s", before, now)
	}
	f.deliver()
	f.agent.until("catches up", func(refresh.Status) bool { return f.revision() == second })
}

// TestAgentsFollowNobodyWithoutTheSwitch: where the policy does not say that agents take part, they
// follow the newest commit, and the hub announces nothing.
func TestAgentsFollowNobodyWithoutTheSwitch(t *testing.T) {
	withEachEngine(t, agentsFollowNobodyWithoutTheSwitch)
}

func agentsFollowNobodyWithoutTheSwitch(t *testing.T, engine string) {
	t.Helper()
	f := newFederation(t, engine)
	without := map[string]string{policyFile: strings.Replace(agentsInRings, "agents: true\n", "", 1)}
	f.say(agentWith(engine, without))
	f.hub.answers()
	f.hub.healthy("dns-a", "dns-hub-1")
	f.deliver()
	assert.Equal(t, "", f.grant.Rings, "the hub announces")
	without[valuesOfAll] = "replicas: 7\n"
	f.say(agentWith(engine, without))
	f.agent.until("follows", func(refresh.Status) bool { return strings.Contains(f.body(), "replicas: 7") })
}

// TestGrantsWithoutTheirHealthCheckAreNoEvidence: an Argo CD without the health check calls a grant
// healthy as soon as it is applied. Then no ring goes past an agent, and the status says why. (G8)
func TestGrantsWithoutTheirHealthCheckAreNoEvidence(t *testing.T) {
	const engine = fleet.EngineArgoCD
	f := newFederation(t, engine)
	f.noHealthCheck = "the hub's Argo CD has no health check of ownership grants"
	first := f.say(agentWith(engine, nil))
	f.hub.answers()
	f.hub.healthy("dns-a", "dns-hub-1")
	f.deliver()
	f.hub.ring("last", first)
	second := f.say(agentWith(engine, map[string]string{valuesOfAll: "replicas: 7\n"}))
	f.hub.ring("first", second)
	f.hub.healthy("dns-a")
	f.hub.ring("agents", second)
	f.deliver()
	a := f.hub.apps["grant-addons-b"]
	a.Healthy = true // whatever the agent says
	f.hub.apps["grant-addons-b"] = a
	f.hub.report()
	f.hub.LookAtRings(t.Context())
	f.hub.ringSays("agents", second, f.noHealthCheck)
	f.hub.ring("last", first)
}

// TestGroupThatComesBackFollowsTheHub: while the hub deploys a group, the agent forgets what it had
// of it. When the group comes back, there is no response about it until the agent has the files of
// what the hub announces. (G7)
func TestGroupThatComesBackFollowsTheHub(t *testing.T) {
	const engine = fleet.EngineArgoCD
	f, first := steadyFederation(t, engine)
	f.grant.Held, f.grant.Rings = false, ""
	f.agent.apps = map[string]facts.Application{}
	of := func(n int, more string) map[string]string {
		return agentWith(engine, map[string]string{
			valuesOfAll: "replicas: " + strconv.Itoa(n) + "\n", fileB: memberB + "use_remote_argo: true\nremote_engine: " + engine + "\n" + more,
		})
	}
	for n := range 20 {
		f.agent.say(of(10+n, ""))
		f.tellAgent()
		f.agent.looks()
	}
	f.agent.say(of(31, remoteAddons))
	f.grant.Held, f.grant.Rings = true, "all=sha256:0123456789" // a commit that the agent's poll has skipped
	f.tellAgent()
	f.agent.looks()
	r := f.agent.askAs(ofDNS, dnsOfB)
	if r.code != http.StatusServiceUnavailable || strings.Contains(r.body, first) {
		t.Errorf("the agent takes the group over with what it had long ago: %d %s", r.code, r.body)
	}
}

// TestAgentThatHasLostItsRecordsCatchesUp: an agent's service starts without its records while the
// agent is behind the newest commit. It has no answer, and catches up with the next revision that
// its hub announces for its group; groups of the hub are never announced. (G9)
func TestAgentThatHasLostItsRecordsCatchesUp(t *testing.T) {
	withEachEngine(t, func(t *testing.T, engine string) {
		t.Helper()
		f, _ := steadyFederation(t, engine)
		changed := agentWith(engine, map[string]string{valuesOfAll: "replicas: 7\n"})
		second := f.say(changed)
		require.NoError(t, f.agent.Stop(t.Context()))
		f.startAgent(t) // an emptyDir
		f.agent.say(changed)
		f.hub.ring("first", second)
		f.hub.healthy("dns-a")
		f.hub.ring("agents", second)
		f.deliver()
		f.agent.until("catches up", func(refresh.Status) bool { return f.revision() == second })
	})
}

// TestAgentKeepsThePolicyInForce: a commit deletes a policy, or takes an agent's component or all
// agents out of it, and changes a value. The agent keeps what it has as long as its hub announces
// the policy, also when its service starts again without records. (K7)
func TestAgentKeepsThePolicyInForce(t *testing.T) {
	for name, policy := range map[string]string{
		"deleted":        "",
		"narrower":       strings.Replace(agentsInRings, "rings:", "scope: {components: [addons/web]}\nrings:", 1),
		"without agents": strings.Replace(agentsInRings, "agents: true", "agents: false", 1),
	} {
		t.Run(name, func(t *testing.T) {
			withEachEngine(t, func(t *testing.T, engine string) {
				t.Helper()
				agentKeepsThePolicy(t, engine, policy)
			})
		})
	}
}

// TestEndOfAPolicyReachesTheLastRing: a commit deletes a policy and changes a value. When the
// agent's ring, the last one, takes it, the policy ends; the agent follows the newest commit then,
// and its Argo CD is made to ask.
func TestEndOfAPolicyReachesTheLastRing(t *testing.T) {
	f := newFederation(t, fleet.EngineArgoCD)
	order := strings.Replace(agentsInRings, "  - {name: last, selector: {matchLabels: {cluster: hub-1}}}\n", "", 1)
	first := f.settle(agentWith(f.engine, map[string]string{policyFile: order}))
	f.hub.ring("agents", first)
	files := agentWith(f.engine, map[string]string{valuesOfAll: "replicas: 7\n"})
	delete(files, policyFile)
	second := f.say(files)
	f.hub.ring("first", second)
	f.deliver()
	for len(f.asking.refreshed) > 0 {
		<-f.asking.refreshed
	}
	f.hub.healthy("dns-a")
	f.hub.until("the policy ends", func(refresh.Status) bool {
		f.hub.looks()
		return len(f.hub.Rollouts().Rollouts) == 0
	})
	f.deliver()
	f.agent.until("follows", func(refresh.Status) bool {
		f.agent.looks()
		return strings.Contains(f.body(), "replicas: 7")
	})
	if name := <-f.asking.refreshed; name != ofDNS {
		t.Errorf("%s is refreshed", name)
	}
}

func agentKeepsThePolicy(t *testing.T, engine, policy string) {
	t.Helper()
	f, first := steadyFederation(t, engine)
	files := func(replicas string) map[string]string {
		out := agentWith(engine, map[string]string{valuesOfAll: "replicas: " + replicas + "\n", policyFile: policy})
		if policy == "" {
			delete(out, policyFile)
		}
		return out
	}
	before := f.body()
	second := f.say(files("7"))
	f.hub.ring("first", second)
	f.deliver()
	f.agent.looks()
	assert.Equal(t, before, f.body(), "the agent's own commit takes it out of its rings")
	assert.Equal(t, "all="+first+" all!", f.grant.Rings, "the hub announces")

	apps := f.agent.apps
	require.NoError(t, f.agent.Stop(t.Context()))
	f.startAgent(t) // an emptyDir
	f.agent.apps = apps
	f.agent.say(files("7"))
	f.agent.looks()
	if now := f.body(); strings.Contains(now, "replicas: 7") {
		t.Errorf("without records, the agent follows its newest commit: %s", now)
	}

	f.hub.healthy("dns-a")
	f.hub.ring("agents", second)
	f.deliver()
	f.agent.until("follows", func(refresh.Status) bool { return strings.Contains(f.body(), "replicas: 7") })
	f.sync(healthy)
	f.show()
	f.hub.until("the change is in force", func(refresh.Status) bool { return f.hub.inForce() == "" })
	want := map[bool]string{true: "all=" + second}[strings.Contains(policy, "web")]
	f.hub.until("announces "+want, func(refresh.Status) bool { // once it serves what is in force
		f.deliver()
		return f.grant.Rings == want
	})
	f.agent.looks()
	f.say(files("8"))
	f.agent.until("follows no ring any more", func(refresh.Status) bool { return strings.Contains(f.body(), "replicas: 8") })
}
