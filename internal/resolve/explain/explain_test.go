package explain_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// TestExplain: the same computation as the view, with origins; errors are bad requests.
func TestExplain(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{
		"addons/defaults/application-sets/addons.yaml":              "dns: {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\n" + "idle: {enabled: false}\n",
		"addons/tenants/retail/clusters/one/addons/dns/values.yaml": "from: cluster\n",
		"fleet/fleet-members/hub2/two.yaml":                         "{clusterName: two, tenant: retail, environment: prod}\n",
	})))
	ask := func(hub, cluster, group, component string, path ...string) (explain.Explanation, error) {
		return explain.Component(st, explain.Target{Hub: hub, Cluster: cluster, Group: group, Component: component}, path)
	}
	e, err := ask("", "one", "addons", "dns", "from")
	if err != nil || e.State != explain.Deployed || e.Owner != "hub" || e.Release.Type != "default" || e.Namespace.Value != "dns" || e.Chart.Version.Value != "1" {
		t.Fatalf("%+v %v", e, err)
	}
	v := e.Values[0]
	if v.Level != "cluster" || v.Position.String() != "addons/tenants/retail/clusters/one/addons/dns/values.yaml:1:7" {
		t.Errorf("%+v", v)
	}
	if len(v.Over) != 1 || v.Over[0].Level != "system" {
		t.Errorf("%+v", v.Over)
	}
	if e, err := ask("hub", "one", "addons", "idle"); err != nil || e.State != explain.SwitchedOff || e.IsSelected() {
		t.Errorf("%+v %v", e, err)
	}
	if e, err := ask("hub", "one", "fleet", "fleet-secret"); err != nil || e.State != explain.Deployed {
		t.Errorf("%+v %v", e, err)
	}
	for _, c := range []struct{ hub, name, group, component, want string }{
		{"", "two", "addons", "dns", `cluster "two" is a member of hubs hub and hub2: name the hub`},
		{"", "onne", "addons", "dns", `no member is called "onne", did you mean "one"?`},
		{"hob", "one", "addons", "dns", `hub "hob" has no member files, did you mean "hub"?`},
		{"hub", "one", "addon", "dns", `group "addon" is not in the layout, did you mean "addons"?; expected one of addons, fleet, monitoring, resources`},
		{"hub", "one", "addons", "dsn", `component "dsn" is in no catalog of group "addons" for cluster "one", did you mean "dns"?; expected one of dns, idle`},
	} {
		if _, err := ask(c.hub, c.name, c.group, c.component); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestExplainTeam: each value of a team's objects has its line of the team's file, on members and
// in the project; the chart of the project has that of the catalog, which is called so.
func TestExplainTeam(t *testing.T) {
	const file, catalog = "fleet/teams/cart.yaml", "teams.yaml"
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml": "groups: {teams: {catalog: teams.yaml}}\n",
		catalog: "components:\n  team: {chart: {repoURL: r, path: charts/team, version: v1}}\n" +
			"  team-project: {chart: {repoURL: r, path: charts/team-project, version: v1}, namespace: argocd}\n",
		file: "name: cart\ntenant: retail\nowners: [cart]\nviewers: [shop]\nclusters: {}\nnamespaces:\n  - {name: cart, preset: small}\nrepositories: [https://git.example/cart]\n",
	})))
	lines := map[string]string{
		"team.name": "1:7", "team.tenant": "2:9", "team.owners": "3:9", "team.viewers": "4:10", "team.namespaces": "7:3", "team.repositories": "8:15",
		"team.clusters": "5:11", "team.deniedKinds": "1:1", // none: the file as a whole
	}
	for cluster, chart := range map[string]struct{ line, level string }{"one": {"2:36", "catalog"}, "hub": {"3:44", "catalog of teams"}} {
		e, err := explain.Component(st, explain.Target{Hub: "hub", Cluster: cluster, Group: "teams", Component: "team-cart"}, nil)
		if err != nil || len(e.Values) < 6 {
			t.Fatalf("%s: %d values, %v", cluster, len(e.Values), err)
		}
		for _, v := range e.Values {
			if v.Level != "team file" || v.Position.String() != file+":"+lines[v.Path] {
				t.Errorf("%s: %s is from %s %s; expected %s:%s", cluster, v.Path, v.Level, v.Position, file, lines[v.Path])
			}
		}
		if on := e.Enabled; on.Level != "team file" || on.Position.String() != file+":5:11" {
			t.Errorf("%s: enabled is from %s %s", cluster, on.Level, on.Position)
		}
		if p := e.Chart.Path; p.Level != chart.level || p.Position.String() != catalog+":"+chart.line {
			t.Errorf("%s: the chart's path is from %s %s; expected %s %s:%s", cluster, p.Level, p.Position, chart.level, catalog, chart.line)
		}
		for _, l := range append(e.Catalog, e.Layers...) {
			if (l.Level == "team file") != (l.Path == file) {
				t.Errorf("%s: %s is called %s", cluster, l.Path, l.Level)
			}
		}
	}
}
