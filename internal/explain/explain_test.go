package explain_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/explain"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/querytest"
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
