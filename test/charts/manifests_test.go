package charts_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	fleetcatalog "github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// A folder of manifests by way of Argo CD's own generator and renderer: an Application whose source
// says nothing of Helm, so that Argo CD looks at the folder itself, and which leaves the namespace
// to the manifests unless the entry says one.
func TestManifestsForArgoCD(t *testing.T) {
	state, err := fleetstate.Build(nil, snapshot.FromMap(map[string]string{
		"versions/applicationSets.yaml":                "releases: {addons: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]}\n",
		"versions/fleetSecrets.yaml":                   "releases: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]\n",
		"fleet/fleet-members/hub-eu/hub-eu.yaml":       "{clusterName: hub-eu, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		"fleet/fleet-members/hub-eu/one.yaml":          "{clusterName: one, tenant: retail, environment: dev}\n",
		"addons/defaults/application-sets/addons.yaml": "{quotas: {enabled: true}, network: {enabled: true}, issuers: {enabled: true}}\n",
	}), facts.NewSet(false))
	require.NoError(t, err)
	a := newArgoCD(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		out, err := answer(state, body)
		assert.NoError(t, err)
		_, _ = w.Write(out)
	}))
	const values = `
group: addons
hub: hub-eu
components:
  quotas: {enabled: true, kind: manifests, chart: {repoURL: https://g.example/r, path: 'policies/{{ .environment }}', version: main}}
  network: {enabled: true, kind: manifests, chart: {repoURL: https://g.example/r, path: network, version: main}, namespace: net, kustomize: {namePrefix: a-}}
  issuers: {enabled: true, kind: manifests, chart: {repoURL: https://g.example/r, path: issuers, version: main}, directory: {recurse: true}}
`
	got := map[string][]string{}
	for _, set := range renderSets(t, valuesFile(t, values)) {
		for _, app := range generate(t, a, set) {
			source := app.Spec.GetSource()
			tool, err := source.ExplicitType()
			assert.NoError(t, err)
			is := "found out"
			if tool != nil {
				is = string(*tool)
			}
			got[app.Name] = []string{source.Path, app.Spec.Destination.Namespace, is}
		}
	}
	want := map[string][]string{
		"quotas-one": {"policies/dev", "", "found out"}, "quotas-hub-eu": {"policies/prod", "", "found out"},
		"network-one": {"network", "net", "Kustomize"}, "network-hub-eu": {"network", "net", "Kustomize"},
		"issuers-one": {"issuers", "", "Directory"}, "issuers-hub-eu": {"issuers", "", "Directory"},
	}
	assert.Equal(t, want, got)
}

// TestOwnEntriesFitTheChart: an entry of the fleet's own catalogs may leave its namespace out, and
// its names may be templates. What the chart refuses would stop the release for all clusters. (R7)
func TestOwnEntriesFitTheChart(t *testing.T) {
	const chart = "chart: {repoURL: https://c.example, name: own, version: 1.0.0}"
	for _, entry := range []string{
		"enabled: true, " + chart,
		"enabled: true, namespace: 'own-{{ .tenant }}', " + chart,
		"enabled: true, namespace: own, releaseName: 'own-{{ .tenant }}', " + chart,
	} {
		state, err := fleetstate.Build(nil, snapshot.FromMap(map[string]string{
			"fleet/layout.yaml":                      "groups: {addons: {catalog: [own.yaml]}}\n",
			"own.yaml":                               "own: {" + entry + "}\n",
			"versions/applicationSets.yaml":          "releases: {addons: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]}\n",
			"versions/fleetSecrets.yaml":             "releases: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]\n",
			"fleet/fleet-members/hub-eu/hub-eu.yaml": "{clusterName: hub-eu, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		}), facts.NewSet(false))
		require.NoError(t, err)
		out, err := answer(state, []byte(`{"input":{"parameters":{"view":"releases","hub":"hub-eu","group":"addons"}}}`))
		require.NoError(t, err)
		var got struct {
			Output struct{ Parameters []struct{ HelmValues string } }
		}
		if err := json.Unmarshal(out, &got); err != nil || len(got.Output.Parameters) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		if sets := renderSets(t, valuesFile(t, got.Output.Parameters[0].HelmValues)); len(sets) != 1 {
			t.Errorf("%s: %d ApplicationSets", entry, len(sets))
		}
	}
}

// TestComponentsNamesHaveOneLimit: what the service leaves out of a release's values is what the
// chart refuses. (W1)
func TestComponentsNamesHaveOneLimit(t *testing.T) {
	for length, fits := range map[int]bool{fleetcatalog.MaxComponent: true, fleetcatalog.MaxComponent + 1: false} {
		_, err := helmTemplate(applicationSets, valuesFile(t, "group: addons\ncomponents:\n  "+strings.Repeat("x", length)+": {enabled: true}\n"))
		if (err == nil) != fits {
			t.Errorf("a name of %d characters: %v", length, err)
		}
	}
}
