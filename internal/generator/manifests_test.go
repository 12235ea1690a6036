package generator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/querytest"
)

const (
	folder    = `kind: manifests, chart: {repoURL: "https://git.example/fleet", path: "policies/{{ .environment }}", version: main}`
	chartKind = `chart: {repoURL: "https://charts.example", name: quotas, version: "1"}`
)

// quotas is a catalog of the chart dns and of quotas, with these keys.
func quotas(keys string) fleettest.Tree {
	return fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\nquotas: {enabled: true, " + keys + "}\n"}
}

// A component of kind manifests is answered with its folder, no values, and no namespace unless it says one; a chart's set
// has none of the keys (section 6 of the contract).
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
		"no such kind":   {quotas("kind: manifest, " + chartKind), `is "manifest"; expected chart or manifests; did you mean "manifests"?`},
		"a chart's name": {quotas("kind: manifests, " + chartKind), `component "quotas" of group "addons": is of kind manifests and has chart.name; expected chart.path, a folder in Git`},
		"no revision":    {quotas(`kind: manifests, chart: {repoURL: "https://git.example", path: x}`), `lacks chart.version; expected a folder in Git and its revision`},
		"nothing":        {quotas(`kind: manifests`), `lacks chart.path, chart.repoURL, chart.version; expected`},
		"values":         {quotas(folder + ", values: {a: 1}"), `addons/defaults/application-sets/addons.yaml:2:`},
		"a value file":   {quotas(folder).With(fleettest.Tree{one + "addons/quotas/values.yaml": "a: 1\n"}), one + `addons/quotas/values.yaml:1:1: component "quotas": has values, and is of kind manifests; expected no values`},
		"substitute":     {quotas(folder + ", substitute: true"), `key "substitute" of component "quotas" of group "addons": is true, and Argo CD has no variables; expected an engine flux`},
		"of a chart":     {quotas(chartKind + ", substitute: true"), `key "substitute": is for manifests`},
		"no names":       {quotas(folder + ", dependsOn: [addons/dns]"), `key "dependsOn": has an element that is no component's name`},
		"another kind than the catalog's": {
			catalog.With(fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: true}\nquotas: {enabled: true, kind: chart, chart: {name: quotas, path: null}}\n"}),
			`systemCatalog:2:31: key "kind" of component "quotas" of group "addons": is not that of the catalog, manifests; expected kind where the catalog`,
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

// A name of dependsOn that no catalog has is a warning, with a hint.
func TestLintOfDependencies(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(quotas(folder+", dependsOn: [dsn, dns]"))))
	want := `no-effect ` + fleettest.SystemCatalog + `:2:152: dependsOn of component "quotas": names "dsn", which no catalog has; expected components of the same cluster, by their names alone; did you mean "dns"?`
	if got := querytest.Problems(st.Lint()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestRemovedKustomizationsAreMarked is rules D1 to D4 for manifests that Flux applies: as HelmReleases, and one kind is let go when the
// catalog makes the other of a component, which takes over what runs.
func TestRemovedKustomizationsAreMarked(t *testing.T) {
	release := fleettest.HelmRelease("quotas", "one", "one")
	kustomization := release
	kustomization.Kind = facts.Kustomization
	agent := fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", fluxAgent)}
	off := fleettest.Tree{fleettest.OneCatalog: "quotas: {enabled: false}\n"}
	const runs = "dns-one: quotas-one:manifests"
	for _, c := range []struct {
		name  string
		keys  string
		more  fleettest.Tree
		there []facts.Application
		want  string
	}{
		{"D1 what is to run, runs", folder, nil, []facts.Application{kustomization}, runs},
		{"D1 lost", folder, fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\n"}, []facts.Application{kustomization}, "dns-one:"},
		{"D3 disabled", folder, off, []facts.Application{kustomization}, "dns-one: quotas-one:manifests:cascade"},
		{"D3 disabled: the mark shows", folder, off, []facts.Application{fleettest.WithFinalizer(kustomization)}, "dns-one:"},
		{"D4 moved", folder, fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", strings.Replace(fluxAgent, "enable_remote_addons: true\n", "", 1))}, []facts.Application{kustomization}, "quotas-one:manifests:orphan"},
		{"D4 it was a chart", folder, nil, []facts.Application{release, kustomization}, runs + " quotas-one::orphan"},
		{"D4 it was a chart: the mark shows", folder, nil, []facts.Application{fleettest.Suspended(release)}, runs},
		{"D4 it is a chart now", chartKind, nil, []facts.Application{kustomization}, "dns-one: quotas-one: quotas-one:manifests:orphan"},
		{"D3 it was a chart, and is switched off", folder, off, []facts.Application{release}, "dns-one: quotas-one::cascade"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := generator.Build(nil, fleettest.Snapshot("rev", fleettest.Small().With(quotas(c.keys)).With(agent).With(c.more)), facts.NewSet(false).WithHelmReleases(c.there...))
			if err != nil {
				t.Fatal(err)
			}
			o, err := querytest.NoProblems(t, st).Owned("hub", "one")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range o.Components {
				got = append(got, fmt.Sprintf("%s:%s", s.ApplicationName, s.Kind))
			}
			for _, s := range o.Departing {
				got = append(got, fmt.Sprintf("%s:%s:%s", s.ApplicationName, s.Kind, s.Deletion))
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}
