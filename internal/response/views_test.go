package response_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var update = flag.Bool("update", false, "write the answers into testdata")

// TestViews answers the questions of testdata/views: the archive's comment holds lines `ask NAME
// PARAMETERS`, the answer is want/NAME.json; facts.yaml, if there is one, is what is known of the
// clusters; want/lint are the findings.
func TestViews(t *testing.T) {
	archives, err := filepath.Glob("testdata/views/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { checkArchive(t, path) })
	}
}

func checkArchive(t *testing.T, path string) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	require.NoError(t, err)
	files, want, live := fleettest.Tree{}, map[string]string{}, facts.Set{}
	for _, f := range a.Files {
		name, isWant := strings.CutPrefix(f.Name, "want/")
		switch {
		case isWant:
			want[name] = string(f.Data)
		case f.Name == "facts.yaml":
			if live, err = facts.Parse(f.Name, f.Data); err != nil {
				t.Fatal(err)
			}
		default:
			files[f.Name] = string(f.Data)
		}
	}
	st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), live)
	require.NoError(t, err)
	got := map[string]string{"lint": querytest.Problems(lint.Run(st, expand.Tools{})) + "\n"}
	for line := range strings.Lines(string(a.Comment)) {
		rest, ok := strings.CutPrefix(line, "ask ")
		if !ok {
			continue
		}
		name, parameters, _ := strings.Cut(strings.TrimSpace(rest), " ")
		b, err := response.Bytes(st, querytest.Query(t, parameters))
		if err != nil {
			got[name+".json"] = "error: " + err.Error() + "\n"
			continue
		}
		var pretty bytes.Buffer
		require.NoError(t, json.Indent(&pretty, b, "", "  "))
		got[name+".json"] = strings.TrimRight(pretty.String(), "\n") + "\n"
	}
	if !*update {
		assert.Equal(t, want, got, "run the test with -update if this is meant")
		return
	}
	kept := a.Files[:0]
	for _, f := range a.Files {
		if !strings.HasPrefix(f.Name, "want/") {
			kept = append(kept, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		kept = append(kept, txtar.File{Name: "want/" + name, Data: []byte(got[name])})
	}
	a.Files = kept
	require.NoError(t, os.WriteFile(path, txtar.Format(a), 0o600))
}

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
	assert.Equal(t, "policies/dev", sets["quotas-two"]["chart"].(map[string]any)["path"], "path")
	for _, key := range []string{"kind", "dependsOn", "substitute"} {
		if v, is := sets["dns-one"][key]; is {
			t.Errorf("a chart has %s: %v", key, v)
		}
	}
	// With a base, as its ApplicationSet asks: the same.
	based := querytest.Ask(t, st, `{"view": "components", "group": "addons", "component": "quotas", "base": {"kind": "manifests", "dependsOn": ["dns"], "chart": {"repoURL": "https://git.example/fleet", "path": "policies/{{ .environment }}", "version": "main"}}}`)
	assert.Equal(t, got, based["quotas-one"])
	assert.Equal(t, "policies", querytest.Ask(t, querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(quotas(folder+", namespace: policies")))), `{"view": "components", "group": "addons"}`)["quotas-one"].Text("namespace"), "namespace")
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
			assert.Contains(t, text, c.want)
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
