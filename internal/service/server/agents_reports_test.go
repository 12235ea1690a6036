package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// everything sees all clusters and groups.
type everything struct{}

func (everything) Sees(string, string, string) bool { return true }
func (everything) SeesGroup(string) bool            { return true }
func (everything) SeesEverything() bool             { return true }

const (
	ofMonitor  = "monitoring-default-monitor"
	askMonitor = `{"view":"components","group":"monitoring","component":"monitor","release":"default"}`
)

// watched is the fleet with agent b, on which the hub deploys a component that depends on one of
// the agent's.
func watched(engine string, more map[string]string) map[string]string {
	return agentWith(engine, with(map[string]string{
		policyFile:                      "",
		"versions/applicationSets.yaml": repository(nil)["versions/applicationSets.yaml"] + "  monitoring:\n  - type: default\n",
		"addons/tenants/retail/clusters/b/application-sets/monitoring.yaml": "monitor: {enabled: true, dependsOn: [addons/dns], chart: {repoURL: r, path: p, version: v1}}\n",
	}, more))
}

const (
	valuesOfMonitor = "addons/tenants/retail/clusters/b/monitoring/monitor/values.yaml"
	catalogOfB      = "addons/tenants/retail/clusters/b/application-sets/addons.yaml"
)

// monitor is the hub's response for the component that depends on the agent's.
func (f *federation) monitor() string {
	f.hub.Helper()
	return f.hub.askAs(ofMonitor, askMonitor).body
}

// running is what the hub's matrix shows for dns of b.
func (f *federation) running() string {
	f.hub.Helper()
	m := new(overview.Cache).Of(f.hub.Refresher().State()).Matrix(everything{}, overview.Live{Hub: "hub-1"}, overview.Filter{Group: "addons"}, "", 1)
	for _, r := range m.Rows {
		if r.Name == "b" {
			text, err := json.Marshal(r.Cells[0].Running)
			require.NoError(f.hub, err)
			return string(text)
		}
	}
	return ""
}

// unheard has the hub not hear of the agent.
func (f *federation) unheard(why string) {
	f.hub.Helper()
	a := f.hub.apps["grant-addons-b"]
	a.Unheard = why
	f.hub.apps["grant-addons-b"] = a
	f.hub.report()
}

// TestHubKnowsWhatAnAgentRuns: the matrix shows version and health of an agent's component, and a
// component of the hub waits for it. An agent that does not report is unknown, and holds up nothing
// if it never has. Nothing that a report says removes anything. (P1, M3)
func TestHubKnowsWhatAnAgentRuns(t *testing.T) { withEachEngine(t, hubKnowsWhatAnAgentRuns) }

func hubKnowsWhatAnAgentRuns(t *testing.T, engine string) {
	t.Helper()
	f := newFederation(t, engine)
	shows := func(want string) {
		t.Helper()
		assert.Equal(t, want, f.running(), "the matrix")
	}
	isThere := func(what string, want bool) {
		t.Helper()
		if is := strings.Contains(f.monitor(), `"applicationName":"monitor-b"`); is != want {
			t.Errorf("%s: monitor-b is there: %t; expected %t", what, is, want)
		}
	}
	f.say(watched(engine, nil))
	f.hub.report()
	shows(`{"state":"unknown","detail":"the member's own engine runs it, and does not report to this service"}`)
	f.deliver()
	f.agent.until("answers", func(refresh.Status) bool { _, digest := f.answer(); return digest != "" })
	f.show()
	shows(`{"state":"absent"}`)
	isThere("dns is missing", false)
	f.sync(func(a *facts.Application) { a.Degraded = true })
	f.show()
	shows(`{"state":"present","version":"1.0.0","health":"Degraded"}`)
	isThere("dns is degraded", false)
	f.sync(healthy)
	f.show()
	shows(`{"state":"present","version":"1.0.0","sync":"Synced","health":"Healthy"}`)
	isThere("dns is healthy", true)
	f.hub.apply(ofMonitor, askMonitor)
	before := f.monitor()

	f.hub.say(watched(engine, map[string]string{valuesOfAll: "replicas: 3\n", valuesOfMonitor: "new: true\n"}))
	assert.Equal(t, before, f.monitor(), "the agent does not run the newest values")
	f.agent.say(watched(engine, map[string]string{valuesOfAll: "replicas: 3\n", valuesOfMonitor: "new: true\n"}))
	f.sync(healthy)
	f.show()
	assert.Contains(t, f.monitor(), "new: true")
	f.hub.apply(ofMonitor, askMonitor)
	before = f.monitor()

	next := map[string]string{catalogOfB: "dns: {chart: {version: 2.0.0}}\n", valuesOfAll: "replicas: 3\n", valuesOfMonitor: "newer: true\n"}
	f.hub.say(watched(engine, next))
	shows(`{"state":"present","version":"1.0.0","sync":"Synced","health":"Healthy","otherVersion":true}`)
	f.agent.say(watched(engine, next))
	f.tellAgent()
	f.show()
	shows(`{"state":"unknown","detail":"the member's own engine has not taken what it is answered"}`)
	f.sync(healthy)
	f.show()
	grants := f.hub.askAs("grants", allGrants).body
	for _, why := range []string{"its service has reported nothing since 2026-11-29 10:00:00 UTC", "its report is damaged"} {
		f.unheard(why)
		shows(`{"state":"unknown","detail":"the member's own engine runs it: ` + why + `"}`)
		assert.Equal(t, before, f.monitor(), "nobody hears of the agent")
		assert.Equal(t, grants, f.hub.askAs("grants", allGrants).body, "unheard: %q", why)
	}
	f.unheard("")
	shows(`{"state":"present","version":"2.0.0","sync":"Synced","health":"Healthy"}`)
	assert.Contains(t, f.monitor(), "newer: true", "the agent is back")
}

// TestAgentThatNeverReportsHoldsUpNothing: nobody waits for an agent of an earlier version.
func TestAgentThatNeverReportsHoldsUpNothing(t *testing.T) {
	f := newFederation(t, fleet.EngineArgoCD)
	f.say(watched(fleet.EngineArgoCD, nil))
	f.hub.apps["grant-addons-b"] = facts.Application{Name: "grant-addons-b", Cluster: "b", Group: "addons", Grant: true, Healthy: true}
	f.hub.report()
	assert.Contains(t, f.monitor(), `"applicationName":"monitor-b"`)
}

// TestSilentAgentHoldsItsRing: the health of a grant is what the agent's service wrote last. It is
// no evidence once the service is silent; the reason names what is not healthy. (G8)
func TestSilentAgentHoldsItsRing(t *testing.T) {
	f, first := steadyFederation(t, fleet.EngineArgoCD)
	second := f.say(agentWith(fleet.EngineArgoCD, map[string]string{valuesOfAll: "replicas: 7\n"}))
	f.hub.ring("first", second)
	f.hub.healthy("dns-a")
	f.hub.ring("agents", second)
	f.deliver()
	f.agent.until("follows", func(refresh.Status) bool { return f.revision() == second })
	f.sync(func(*facts.Application) {})
	f.show()
	f.hub.LookAtRings(t.Context())
	f.hub.ringSays("agents", second, "dns is Progressing")
	f.sync(healthy)
	f.unheard("its service has reported nothing since 2026-11-29 10:00:00 UTC")
	f.show()
	f.hub.LookAtRings(t.Context())
	f.hub.ringSays("agents", second, "grant-addons-b: its service has reported nothing since 2026-11-29 10:00:00 UTC")
	f.hub.ring("last", first)
	f.unheard("")
	f.hub.ring("last", second)
}

// TestDependencyOnAnAgentInRings: while its ring lags, an agent does not run what the newest commit
// says. A component of the hub does not wait for that, but for the agent's ring. (P1, G7)
func TestDependencyOnAnAgentInRings(t *testing.T) {
	const engine = fleet.EngineArgoCD
	files := func(more map[string]string) map[string]string {
		return watched(engine, with(map[string]string{policyFile: strings.Replace(agentsInRings, "agents: true", "agents: true\nscope: {groups: [addons]}", 1)}, more))
	}
	f := newFederation(t, engine)
	f.settle(files(nil))
	f.hub.apply(ofMonitor, askMonitor)
	second := f.say(files(map[string]string{valuesOfAll: "replicas: 7\n", valuesOfMonitor: "new: true\n"}))
	assert.Contains(t, f.monitor(), "new: true", "the agent's ring lags")
	f.hub.apply(ofMonitor, askMonitor)
	before := f.monitor()
	f.hub.ring("first", second)
	f.hub.healthy("dns-a")
	f.hub.ring("agents", second)
	f.say(files(map[string]string{valuesOfAll: "replicas: 7\n", valuesOfMonitor: "newer: true\n"}))
	assert.Equal(t, before, f.monitor(), "the agent has not heard of its ring's revision")
	for n := 0; !strings.Contains(f.monitor(), "newer: true"); n++ {
		if n == 100 {
			t.Fatal("the agent runs what its ring has, and the hub's component waits")
		}
		f.deliver()
		f.sync(healthy)
		f.show()
		f.hub.LookAtRings(t.Context())
	}
}
