package response_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// fluxAgent are the keys of a member that runs the group addons with its own Flux.
const fluxAgent = "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"

const (
	folder    = `kind: manifests, chart: {repoURL: "https://git.example/fleet", path: "policies/{{ .environment }}", version: main}`
	chartKind = `chart: {repoURL: "https://charts.example", name: quotas, version: "1"}`
)

// quotas is a catalog of the chart dns and of quotas, with these keys.
func quotas(keys string) fleettest.Tree {
	return fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\nquotas: {enabled: true, " + keys + "}\n"}
}

// A component of kind manifests is answered with its folder, no values, and no namespace unless it
// says one; a chart's set has none of the keys (section 6 of the contract).
func TestFoldersOfManifestsAreAnswered(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(quotas(folder+", dependsOn: [dns]"))))
	sets := querytest.Ask(t, st, `{"view": "components", "group": "addons"}`)
	got := sets["quotas-one"]
	want := map[string]any{"repoURL": "https://git.example/fleet", "name": "", "version": "main", "path": "policies/prod"}
	if diff := cmp.Diff(want, got["chart"]); diff != "" || got.Text("kind") != "manifests" || got.Text("namespace") != "" || got.Text("helmValues") != sets["none"].Text("helmValues")+"{}\n" {
		t.Errorf("%s %v", diff, got)
	}
	if diff := cmp.Diff([]any{"dns"}, got["dependsOn"]); diff != "" {
		t.Error(diff)
	}
	if got := sets["quotas-two"]["chart"].(map[string]any)["path"]; got != "policies/dev" {
		t.Errorf("path %v", got)
	}
	for _, key := range []string{"kind", "dependsOn", "substitute"} {
		if v, is := sets["dns-one"][key]; is {
			t.Errorf("a chart has %s: %v", key, v)
		}
	}
	// With a base, as its ApplicationSet asks: the same.
	based := querytest.Ask(t, st, `{"view": "components", "group": "addons", "component": "quotas", "base": {"kind": "manifests", "dependsOn": ["dns"], "chart": {"repoURL": "https://git.example/fleet", "path": "policies/{{ .environment }}", "version": "main"}}}`)
	if diff := cmp.Diff(got, based["quotas-one"]); diff != "" {
		t.Error(diff)
	}
	if got := querytest.Ask(t, querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(quotas(folder+", namespace: policies")))), `{"view": "components", "group": "addons"}`)["quotas-one"].Text("namespace"); got != "policies" {
		t.Errorf("namespace %q", got)
	}
}

// What cannot be deployed as manifests is an error of the clusters that it is for.
func TestWrongManifestEntriesAreRefused(t *testing.T) {
	const one = "addons/tenants/retail/clusters/one/"
	catalog := fleettest.Tree{
		"fleet/layout.yaml":    "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups: {addons: {catalog: catalogs/addons.yaml}}\n",
		"catalogs/addons.yaml": "components: {dns: {" + fleettest.DNSChart + "}, quotas: {" + folder + "}}\n",
	}
	for name, c := range map[string]struct {
		more fleettest.Tree
		want string
	}{
		"no such kind":   {quotas("kind: manifest, " + chartKind), `key "kind": "manifest"; expected chart or manifests; did you mean "manifests"?`},
		"a chart's name": {quotas("kind: manifests, " + chartKind), `component "quotas" of group "addons": is of kind manifests and has chart.name; expected chart.path, a folder in Git`},
		"no revision":    {quotas(`kind: manifests, chart: {repoURL: "https://git.example", path: x}`), `lacks chart.version; expected a folder in Git and its revision`},
		"nothing":        {quotas(`kind: manifests`), `lacks chart.path, chart.repoURL, chart.version; expected`},
		"values":         {quotas(folder + ", values: {a: 1}"), `addons/defaults/application-sets/addons.yaml:2:`},
		"a value file":   {quotas(folder).With(fleettest.Tree{one + "addons/quotas/values.yaml": "a: 1\n"}), one + `addons/quotas/values.yaml:1:1: component "quotas": has values, and is of kind manifests; expected no values`},
		"substitute":     {quotas(folder + ", substitute: true"), `key "substitute" of component "quotas" of group "addons": is true, and Argo CD has no variables; expected an engine flux`},
		"of a chart":     {quotas(chartKind + ", substitute: true"), `key "substitute": is for manifests`},
		"no names":       {quotas(folder + ", dependsOn: [addons/x/dns]"), `key "dependsOn[0]": "addons/x/dns"; expected components of the same cluster`},
		"another kind than the catalog's": {
			catalog.With(fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: true}\nquotas: {enabled: true, kind: chart, chart: {name: quotas, path: null}}\n"}),
			`systemCatalog:2:31: key "kind" of component "quotas" of group "addons": differs from the catalog's, manifests; expected kind where the catalog`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.want = strings.Replace(c.want, "systemCatalog", fleettest.SystemCatalog, 1)
			text := querytest.Problems(querytest.Build(t, fleettest.Small().With(c.more)).Problems)
			if !strings.Contains(text, c.want) {
				t.Errorf("got %s\nwant %s", text, c.want)
			}
		})
	}
	// Values that say nothing are none, and Flux has variables.
	querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(quotas(folder+", values: {}")).With(fleettest.Tree{one + "addons/quotas/values.yaml": "# none\n"})))
	for _, flux := range []fleettest.Tree{
		{fleettest.Member("one"): fleettest.Spoke("one", fluxAgent), fleettest.Member("two"): ""},
		{"fleet/fleet-members/hub/hub.yaml": "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n", fleettest.Member("two"): ""},
	} {
		selected := quotas(folder + `, substitute: true, selector: {matchLabels: {tenant: retail}}`)
		querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(selected).With(flux)))
	}
}
