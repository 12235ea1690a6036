package response_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/querytest"
)

// TestRetiredAgentKeepsItsEngine: the hub does not uninstall the engine that still has workloads of
// its own to remove. (D3)
func TestRetiredAgentKeepsItsEngine(t *testing.T) {
	files := agentOne(argoOne + "lifecycle: retired\ndeletion: cascade\n").With(fleettest.Tree{
		"addons/defaults/application-sets/fleet.yaml": "argo-cd: {enabled: true, namespace: argocd, " + fleettest.DNSChart + "}\n",
	})
	engine := facts.Application{Name: "argo-cd-one", Cluster: "one", Group: "fleet", Component: "argo-cd", Release: "default"}
	st := state(t, files, facts.NewSet(false).WithApplications(engine, fleettest.GrantOfOne))
	if got := querytest.Ask(t, st, `{"view":"components","group":"fleet"}`)["argo-cd-one"].Text("deletion"); got == fleet.Cascade {
		t.Error("the agent's Argo CD is removed while the agent has the group addons")
	}
	back := agentOne(hubsOne + "lifecycle: retired\ndeletion: cascade\n").With(fleettest.Tree{
		"addons/defaults/application-sets/fleet.yaml": "argo-cd: {enabled: true, namespace: argocd, " + fleettest.DNSChart + "}\n",
	})
	deletion := func(apps ...facts.Application) string {
		return querytest.Ask(t, state(t, back, facts.NewSet(false).WithApplications(apps...)), `{"view":"components","group":"fleet"}`)["argo-cd-one"].Text("deletion")
	}
	if deletion(engine, fleettest.GrantOfOne) == fleet.Cascade {
		t.Error("the agent's Argo CD is removed while it hands the group addons back")
	}
	if got := deletion(engine); got != fleet.Cascade {
		t.Errorf("the hub owns all groups, and the engine stays: %q", got)
	}
}

// TestAgentThatChangesItsEngineKeepsTheFormerOne: the hub does not uninstall an engine that has its
// groups to hand over. When nothing depends on it any more, it is removed. (M3, D4)
func TestAgentThatChangesItsEngineKeepsTheFormerOne(t *testing.T) {
	components := map[string]string{"flux": "flux2", "argocd": "argo-cd"}
	for former, next := range map[string]string{"flux": "argocd", "argocd": "flux"} {
		component := components[former]
		engine := facts.Application{Name: component + "-one", Cluster: "one", Group: "fleet", Component: component, Release: "default"}
		changed := func(keys string, apps ...facts.Application) *fleetstate.State {
			return state(t, agentOne(keys+"remote_engine: "+next+"\n").With(fleettest.Tree{
				"addons/defaults/application-sets/fleet.yaml": component + ": {enabled: true, namespace: engine, " + fleettest.DNSChart +
					", selector: {matchLabels: {remote_engine: " + former + "}}}\n",
			}), facts.NewSet(false).WithApplications(apps...))
		}
		deletion := func(keys string, apps ...facts.Application) string {
			st := changed(keys, apps...)
			return querytest.Ask(t, st, `{"view":"components","group":"fleet"}`)[component+"-one"].Text("deletion")
		}
		if deletion(argoOne, engine, fleettest.GrantOfOne) == fleet.Cascade {
			t.Errorf("%s is removed while it has the group addons", component)
		}
		d, err := lifecycle.RemovalsOf(changed(argoOne, engine, fleettest.GrantOfOne), querytest.Query(t, `{"view":"components","group":"fleet"}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Of("one", component); got.Reason != lifecycle.Disabled || got.Deletion != fleet.Orphan {
			t.Errorf("%s: %+v", component, got)
		}
		if deletion(hubsOne, engine, fleettest.GrantOfOne) == fleet.Cascade {
			t.Errorf("%s is removed while it hands the group addons back", component)
		}
		if got := deletion(hubsOne, engine); got != fleet.Cascade {
			t.Errorf("nothing depends on %s any more: %q", component, got)
		}
	}
}
