package order_test

import (
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// TestMoveIsNoNewComponent: a component that moves to another release has no Application for a
// moment. It is not held back like a new one: a dependency that fails would leave it without. (D4,
// P1)
func TestMoveIsNoNewComponent(t *testing.T) {
	o := newOrdering(t, "{enabled: true, "+webEntry+"}")
	of := func(release, component string) query.Query {
		q := querytest.Query(o, `{"view":"components","group":"addons","component":"`+component+`","release":"`+release+`"}`)
		q.ApplicationSet = release + "-" + component
		return q
	}
	o.sets = map[string][]query.Query{}
	for _, release := range []string{"default", "canary"} {
		for _, component := range []string{"dns", "web"} {
			q := of(release, component)
			o.sets[q.ApplicationSet] = []query.Query{q}
		}
	}
	first := o.state("first", nil)
	apps := append(o.applied(first, of("default", "dns"), true), o.applied(first, of("default", "web"), true)...)
	first = o.state("first", nil, apps...)
	o.Serving(first)
	given, _ := o.compose(first, of("default", "web"))
	o.Given(first, of("default", "web"), given)

	moved := o.state("second", fleettest.Tree{fleettest.Member("one"): "{clusterName: one, tenant: retail, environment: prod, labels: {addonsRelease: canary}}\n"}, apps...)
	o.Serving(moved)
	if _, is := o.compose(moved, of("default", "web")); is["web-one"].Item().Name != "" {
		t.Fatal("the old release still has it")
	}
	apps = slices.DeleteFunc(apps, func(a facts.Application) bool { return a.Cluster == "one" })
	gone := o.state("second", nil, apps...)
	o.Serving(gone)
	if _, is := o.compose(gone, of("canary", "web")); is["web-one"].Item().Name == "" {
		t.Errorf("web-one was deleted by its old release, and its new one leaves it out: %v", o.Waits(gone))
	}
}

// TestSecretsOperatorGoesAfterItsAgentLetsGo: the operator of a member's credentials is removed
// when the member's agent has none of its objects any more, since without the operator their
// finalizers would stay. (P2)
func TestSecretsOperatorGoesAfterItsAgentLetsGo(t *testing.T) {
	const agent = "use_remote_argo: true\nenable_remote_addons: true\n"
	agents := querytest.Query(t, `{"view":"agents"}`)
	operator := querytest.Query(t, `{"view":"components","group":"fleet","component":"external-secrets"}`)
	operator.ApplicationSet = "fleet-default-external-secrets"
	for name, c := range map[string]struct {
		keys string
		// delivers are the Applications that deliver the agent, by what the newest state asks for.
		delivers func(newest facts.Application) []facts.Application
		want     string
	}{
		"the agent has let go":     {agent + "use_external_secrets: false\n", func(a facts.Application) []facts.Application { return []facts.Application{a} }, fleet.Cascade},
		"the agent is older":       {agent + "use_external_secrets: false\n", func(a facts.Application) []facts.Application { a.Digest = "old"; return []facts.Application{a} }, fleet.Orphan},
		"the agent is not healthy": {agent + "use_external_secrets: false\n", func(a facts.Application) []facts.Application { a.Healthy = false; return []facts.Application{a} }, fleet.Orphan},
		"the agent is being removed": {"use_remote_argo: false\n", func(facts.Application) []facts.Application {
			return []facts.Application{{Name: "agent-one", Cluster: "one", Cascade: true, Healthy: true}}
		}, fleet.Orphan},
		"the agent is gone":          {"use_remote_argo: false\n", func(facts.Application) []facts.Application { return nil }, fleet.Cascade},
		"it has never been an agent": {"use_external_secrets: false\n", func(facts.Application) []facts.Application { return nil }, fleet.Cascade},
		"another cluster's agent is old": {"use_external_secrets: false\n", func(facts.Application) []facts.Application {
			return []facts.Application{{Name: "agent-two", Cluster: "two", Digest: "old"}}
		}, fleet.Cascade},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrdering(t, "{enabled: false, "+webEntry+"}")
			files := fleettest.Tree{
				fleettest.Member("one"):                       fleettest.Spoke("one", c.keys),
				"addons/defaults/application-sets/fleet.yaml": "external-secrets: {namespace: external-secrets, " + fleettest.DNSChart + "}\nargo-cd: {namespace: argocd, " + fleettest.DNSChart + "}\n",
			}
			var newest facts.Application
			for _, a := range o.applied(o.state("first", files), agents, true) {
				newest = a
			}
			apps := append(c.delivers(newest), facts.Application{
				Name: "external-secrets-one", Cluster: "one", Group: "fleet", Component: "external-secrets", Release: "default", Controller: operator.ApplicationSet,
			})
			o.sets[operator.ApplicationSet] = []query.Query{operator}
			st := o.state("first", nil, apps...)
			o.Serving(st)
			_, sets := o.compose(st, operator)
			is := sets["external-secrets-one"]
			if got := map[bool]string{true: fleet.Cascade, false: fleet.Orphan}[is.Item().IsRemoval]; is.Item().Name == "" || got != c.want {
				t.Errorf("%q with deletion %s, waiting for %v; expected %s", is.Item().Name, got, o.Waits(st), c.want)
			}
		})
	}
}
