package response_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
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
	if got := deletion(engine, fleettest.GrantOfOne); got != fleet.Orphan {
		t.Errorf("while it hands the group addons back, the agent's Argo CD is %q; expected it to stay", got)
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
		require.NoError(t, err)
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

// TestMemberThatStopsBeingAnAgentHandsBackFirst: its engine, the operator of its credentials, its
// service and its credentials stay as they are while it has a group to give back. Then they are
// removed with their workloads, in two steps. (M3, D3)
func TestMemberThatStopsBeingAnAgentHandsBackFirst(t *testing.T) {
	const of = `{"view":"components","group":"fleet"}`
	catalog := fleettest.Tree{
		"addons/defaults/application-sets/fleet.yaml": "argo-cd: {namespace: argocd, " + fleettest.DNSChart + "}\n" +
			"external-secrets: {namespace: external-secrets, " + fleettest.DNSChart + "}\n" +
			"argocd-ingress: {namespace: argocd, " + fleettest.DNSChart + "}\n",
	}
	left := agentOne("use_remote_argo: false\nuse_argocd_ingress: true\nenable_remote_addons: true\n").With(catalog)
	app := func(component string) facts.Application {
		return facts.Application{Name: component + "-one", Cluster: "one", Group: "fleet", Component: component, Release: "default"}
	}
	agent := facts.Application{Name: "agent-one", Cluster: "one"}
	there := []facts.Application{app("argo-cd"), app("external-secrets"), app("argocd-ingress"), agent}
	marked := func() (out []facts.Application) {
		for _, a := range there {
			out = append(out, fleettest.WithFinalizer(a))
		}
		return out
	}
	for _, c := range []struct {
		name string
		apps []facts.Application
		want map[string]string // by Application, its deletion
	}{
		{"it has a grant", append(slices.Clone(there), fleettest.GrantOfOne), map[string]string{
			"agent-one": fleet.Orphan, "argo-cd-one": fleet.Orphan, "external-secrets-one": fleet.Orphan, "argocd-ingress-one": fleet.Cascade,
		}},
		{"it has given back what it had", there, map[string]string{
			"agent-one": fleet.Cascade, "argo-cd-one": fleet.Cascade, "external-secrets-one": fleet.Cascade, "argocd-ingress-one": fleet.Cascade,
		}},
		{"they have the finalizer", marked(), nil},
		{"nothing is there", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := state(t, left, facts.NewSet(false).WithApplications(c.apps...))
			got := map[string]string{}
			for _, view := range []string{of, `{"view":"agents"}`} {
				for name, s := range querytest.Ask(t, st, view) {
					if strings.HasSuffix(name, "-one") {
						got[name] = s.Text("deletion")
					}
				}
			}
			if len(got)+len(c.want) > 0 && !maps.Equal(got, c.want) {
				t.Errorf("%v; expected %v", got, c.want)
			}
		})
	}
	agents := querytest.Ask(t, state(t, left, facts.NewSet(false).WithApplications(agent, fleettest.GrantOfOne)), `{"view":"agents"}`)["agent-one"]
	was := querytest.Ask(t, state(t, agentOne("use_remote_argo: true\nuse_argocd_ingress: true\n").With(catalog), facts.NewSet(false)), `{"view":"agents"}`)["agent-one"]
	if now, before := agents.Text("credentialValues"), was.Text("credentialValues"); now != before {
		t.Errorf("the credentials of its service are\n%s\nand were\n%s", now, before)
	}
	for name, keys := range map[string]string{ // of which no file says so, or which the hub lets be
		"a line that has gone": "", "Flux": "use_remote_argo: false\nremote_engine: flux\n", "a retired member": "use_remote_argo: false\nlifecycle: retired\n",
	} {
		if s := querytest.Ask(t, state(t, agentOne(keys).With(catalog), facts.NewSet(false).WithApplications(agent)), `{"view":"agents"}`); len(s) > 0 {
			t.Errorf("%s: %v", name, s)
		}
	}
}

// TestAgentWithoutSecretsOperator: the flag removes the operator from a member that stays an agent.
// (L3, D3)
func TestAgentWithoutSecretsOperator(t *testing.T) {
	files := agentOne(argoOne + "use_external_secrets: false\n").With(fleettest.Tree{
		"addons/defaults/application-sets/fleet.yaml": "external-secrets: {namespace: external-secrets, " + fleettest.DNSChart + "}\n" +
			"argo-cd: {namespace: argocd, " + fleettest.DNSChart + "}\n",
	})
	operator := facts.Application{Name: "external-secrets-one", Cluster: "one", Group: "fleet", Component: "external-secrets", Release: "default"}
	st := state(t, files, facts.NewSet(false).WithApplications(operator, fleettest.GrantOfOne))
	if got := querytest.Ask(t, st, `{"view":"components","group":"fleet"}`)["external-secrets-one"].Text("deletion"); got != fleet.Cascade {
		t.Errorf("the deletion of its operator is %q; expected cascade", got)
	}
}
