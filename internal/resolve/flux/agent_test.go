package flux_test

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// agentOfFluxHub is a fleet whose hub runs Flux, with an agent and a centralized member.
func agentOfFluxHub(more map[string]string) map[string]string {
	files := fleetOf(map[string]string{"one": agent, "two": ""}, "dns: {enabled: true, chart: {repoURL: \"https://c.example\", name: dns, version: 1.0.0}}\n", map[string]string{
		"fleet/fleet-members/hub/hub.yaml": "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n",
		"addons/defaults/application-sets/fleet.yaml": "flux2: {chart: {repoURL: \"https://c.example\", name: flux2, version: 2.0.0}, namespace: flux-system}\n" +
			"external-secrets: {chart: {repoURL: \"https://c.example\", name: external-secrets, version: 1.0.0}}\n",
	})
	for name, text := range more {
		if files[name] = text; text == "" {
			delete(files, name)
		}
	}
	return files
}

// A hub that runs Flux has no grants to wait for: whatever becomes of an agent, the hub has neither
// the agent nor its Flux uninstalled, and keeps the kubeconfig.
func TestAgentOfFluxHubIsNotUninstalled(t *testing.T) {
	t.Parallel()
	const one, hub = "fleet/fleet-members/hub/one.yaml", "fleet/fleet-members/hub/hub.yaml"
	file := agentOfFluxHub(nil)[one]
	for name, more := range map[string]map[string]string{
		"as it is":                nil,
		"centralized":             {one: "clusterName: one\ntenant: retail\nenvironment: prod\n"},
		"retired":                 {one: file + "lifecycle: retired\n"},
		"retired, cascade":        {one: file + "lifecycle: retired\ndeletion: cascade\n"},
		"of another hub":          {one: "", "fleet/fleet-members/other/one.yaml": file},
		"lost":                    {one: ""},
		"of an Argo CD hub":       {hub: "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n"},
		"of a hub without a file": {hub: ""},
	} {
		var there []facts.Application
		for _, component := range []string{"agent", "agent-credentials", "flux2", "fleet-secret"} {
			there = append(there, facts.Application{
				Name: component + "-one", Cluster: "one", Group: "fleet", Component: strings.TrimSuffix(component, "-credentials"), Owner: "hub/hub",
			})
		}
		st, err := fleetstate.Build(nil, snapshot.FromMap(agentOfFluxHub(more)), facts.NewSet(false).WithHelmReleases(there...))
		require.NoError(t, err)
		owned, err := flux.OwnedBy(st, "hub", fleet.OwnerHub)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, c := range append(owned.Removals, owned.RegistrationRemovals...) {
			if c.Deletion != fleet.Orphan || c.Component != "flux2" {
				t.Errorf("%s: %s is marked %s", name, c.ApplicationName, c.Deletion)
			}
		}
	}
}

// What is wrong with an agent's own components, or its engine, withholds nothing from the hub's
// other members.
func TestBrokenAgentHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	argo := strings.Replace(agentOfFluxHub(nil)["fleet/fleet-members/hub/one.yaml"], "engine: flux", "engine: argocd", 1)
	for want, more := range map[string]map[string]string{
		"dns-hub agent-one external-secrets-one flux2-one dns-two": {"addons/tenants/retail/clusters/one/addons/dns/values.yaml": "[\n"},
		"dns-hub external-secrets-one dns-two":                     {"fleet/fleet-members/hub/one.yaml": argo},
	} {
		st, err := fleetstate.Build(nil, snapshot.FromMap(agentOfFluxHub(more)), facts.Set{})
		require.NoError(t, err)
		if len(st.Problems) == 0 {
			t.Errorf("%v: no problem", more)
		}
		if got := owned(t, st, "hub", fleet.OwnerHub); got != want {
			t.Errorf("got %q (%v), want %q", got, problem.List(st.Problems), want)
		}
	}
}

// An artifact with components of an earlier revision that cannot be computed is an error, and not
// an artifact without components: Flux would remove what runs.
func TestEarlierStateWithAnErrorIsNoArtifact(t *testing.T) {
	t.Parallel()
	files := agentOfFluxHub(nil)
	newest, one := state(t, files), "fleet/fleet-members/hub/one.yaml"
	earlier, err := fleetstate.Build(nil, snapshot.FromMap(agentOfFluxHub(map[string]string{one: files[one] + "enviroment: prod\n"})), facts.Set{})
	require.NoError(t, err)
	held := flux.Held{States: []*fleetstate.State{earlier}, Pick: func(lifecycle.Item) int { return 1 }}
	if out, err := flux.OwnedIn(newest, "hub", "one", held); err == nil || !strings.Contains(err.Error(), "enviroment") {
		t.Errorf("%d components, %v", len(out.Components), err)
	}
}
