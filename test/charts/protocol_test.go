package charts_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	pluginservice "github.com/argoproj/argo-cd/v2/applicationset/services/plugin"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const finalizer = "resources-finalizer.argocd.argoproj.io"

var dns1123 = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// TestBootstrap: the root ApplicationSets of every hub become Applications, for that hub alone
// and each with one kind of source (DESIGN section 6, D1).
func TestBootstrap(t *testing.T) {
	for _, path := range glob(t, repo+"/fleet/bootstrap/hub-*/*.yaml") {
		hub := filepath.Base(filepath.Dir(path))
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(hub+"/"+name, func(t *testing.T) {
			sets := rootSets(t, path)
			if len(sets) != 1 {
				t.Skip("no ApplicationSet")
			}
			set := sets[0]
			if set.Name != name || set.Namespace != "argocd" {
				t.Errorf("is called %s/%s", set.Namespace, set.Name)
			}
			p := newPlugin(t)
			apps := generate(t, newArgoCD(t, p.URL), set)
			if asked := p.asked(set.Name); len(asked) != 1 || asked[0].Input.Parameters["hub"] != hub {
				t.Errorf("asks %v", asked)
			}
			golden(t, filepath.Join("testdata/bootstrap", hub, name+".yaml"), apps)
		})
	}
}

// TestBootstrapThin: a root ApplicationSet has one plugin generator and names fields; logic is
// the plugin's. The one condition is the finalizer's.
func TestBootstrapThin(t *testing.T) {
	for _, path := range glob(t, repo+"/fleet/bootstrap/hub-*/*.yaml") {
		for _, set := range rootSets(t, path) {
			if len(set.Spec.Generators) != 1 || set.Spec.Generators[0].Plugin == nil {
				t.Errorf("%s: generators other than one plugin", path)
			}
			if !set.Spec.GoTemplate || !cmp.Equal(set.Spec.GoTemplateOptions, []string{"missingkey=error"}) {
				t.Errorf("%s: goTemplate without missingkey=error", path)
			}
			text, err := json.Marshal(set.Spec.Template)
			require.NoError(t, err)
			// A template for the components' ApplicationSets is a text here.
			literal := strings.ReplaceAll(string(text), "{{ `{{ .tenant }}` }}", "")
			for _, action := range regexp.MustCompile(`{{[^}]*}}`).FindAllString(literal, -1) {
				if !regexp.MustCompile(`^{{ (\.[A-Za-z]+)+( \| toJson)? }}$`).MatchString(action) {
					t.Errorf("%s: logic in the template: %s", path, action)
				}
			}
		}
	}
}

// TestHubsAlike: hubs differ in their name only.
func TestHubsAlike(t *testing.T) {
	for _, eu := range glob(t, repo+"/fleet/bootstrap/hub-eu/*.yaml") {
		us := strings.ReplaceAll(eu, "hub-eu", "hub-us")
		a, err := os.ReadFile(eu)
		require.NoError(t, err)
		b, err := os.ReadFile(us)
		require.NoError(t, err)
		assert.Equal(t, strings.ReplaceAll(string(a), "hub-eu", "hub-us"), string(b), "%s and %s", eu, us)
	}
}

// TestAgentBootstrap: what a member's own Argo CD gets differs from the hub's files in the owner
// alone, once it is given the hub's projects, and an owner or a group that is no name is refused.
func TestAgentBootstrap(t *testing.T) {
	chart := repo + "/charts/agent-bootstrap"
	out, err := helmTemplate(chart, valuesFile(t, "hub: hub-eu\nowner: retail-prod-eu-1\ngroups: [addons, fleet, monitoring, resources]\n"+
		"project: platform\ncomponentProject: '{{ .tenant }}'\n"))
	require.NoError(t, err)
	own := []string{"addons", "fleet", "monitoring", "resources"} // what makes a cluster is never its own engine's
	for i, set := range decode(t, out) {
		parameters := set.Spec.Generators[0].Plugin.Input.Parameters
		assert.Equal(t, `"retail-prod-eu-1"`, string(parameters["owner"].Raw), "owner")
		delete(parameters, "owner")
		assert.Equal(t, text(t, rootSets(t, repo+"/fleet/bootstrap/hub-eu/"+own[i]+".yaml")[0]), text(t, set), "%s (-hub +agent)", own[i])
	}
	for values, want := range map[string]string{
		"{hub: '', owner: a, groups: []}":                                 "at '/hub': '' does not match pattern",
		"{hub: hub-eu, owner: hub, groups: []}":                           "at '/owner': 'not' failed",
		"{hub: hub-eu, owner: a, groups: [A]}":                            "at '/groups/0': 'A' does not match pattern",
		"{hub: hub-eu, owner: a, groups: [x, x]}":                         "at '/groups': items at 0 and 1 are equal",
		"{hub: hub-eu, owner: a, groups: [], owners: a}":                  "additional properties 'owners' not allowed",
		"{hub: hub-eu, owner: a, groups: [], componentProject: \"it's\"}": "at '/componentProject': 'it\\'s' does not match pattern",
	} {
		if _, err := helmTemplate(chart, valuesFile(t, values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", values, err, want)
		}
	}
}

// TestChain follows a release all the way: the root ApplicationSet's Application carries the
// values with which the chart renders ApplicationSets, which become the components'
// Applications.
func TestChain(t *testing.T) {
	p := newPlugin(t)
	a := newArgoCD(t, p.URL)
	for _, group := range []string{"addons", "monitoring", "resources", "fleet"} {
		t.Run(group, func(t *testing.T) {
			var components []v1alpha1.Application
			for _, release := range generate(t, a, rootSets(t, repo+"/fleet/bootstrap/hub-eu/"+group+".yaml")[0]) {
				helm := release.Spec.Source.Helm
				files := []string{valuesFile(t, helm.Values)}
				require.Equal(t, 1, len(helm.ValueFiles), "value files %v", helm.ValueFiles)
				files = append([]string{filepath.Join(applicationSets, helm.ValueFiles[0])}, files...)
				for _, set := range renderSets(t, files...) {
					components = append(components, generate(t, a, set)...)
				}
			}
			golden(t, filepath.Join("testdata/chain", group+".yaml"), components)
		})
	}
}

// TestBaseVerbatim: the catalog's templates reach the plugin as they stand in the catalog, and
// `enabled` does not: it would switch the component on for every cluster of the release (R7).
func TestBaseVerbatim(t *testing.T) {
	p := newPlugin(t)
	a := newArgoCD(t, p.URL)
	switches := valuesFile(t, "group: addons\nhub: hub-eu\ncomponents: {karpenter: {enabled: true}}\n")
	set := renderSets(t, catalog("addons"), switches)[0]
	generate(t, a, set)

	data, err := os.ReadFile(catalog("addons"))
	require.NoError(t, err)
	var file struct {
		Components map[string]map[string]any `json:"components"`
	}
	require.NoError(t, yaml.Unmarshal(data, &file))
	entry := file.Components["karpenter"]
	want := map[string]any{
		"chart": entry["chart"], "namespace": entry["namespace"], "releaseName": "karpenter",
		"selector": entry["selector"], "values": entry["values"],
	}
	parameters := p.asked(set.Name)[0].Input.Parameters
	if diff := cmp.Diff(want, parameters["base"]); diff != "" {
		t.Errorf("base differs from the catalog's entry (-want +got):\n%s", diff)
	}
	delete(parameters, "base")
	assert.Equal(t, map[string]any{"view": "components", "hub": "hub-eu", "owner": "hub", "group": "addons", "release": "default", "component": "karpenter"}, parameters, "parameters")
}

// TestFinalizer: an Application cascades only when its parameter set says so (D1), whatever
// patch a component brings along.
func TestFinalizer(t *testing.T) {
	for name, patch := range map[string]string{
		"none":             "null",
		"map":              "{spec: {revisionHistoryLimit: 3}}",
		"map and metadata": "{metadata: {annotations: {a: '{{ .name }}'}}}",
		"text":             "'spec: {revisionHistoryLimit: 3}'",
		"empty text":       "\"{{ if false }}\\nspec: {}\\n{{ end }}\"",
	} {
		t.Run(name, func(t *testing.T) {
			a := newArgoCD(t, newPlugin(t).URL)
			set := renderSets(t, catalog("addons"), valuesFile(t, "group: addons\nhub: hub-eu\ncomponents: {metrics-server: {enabled: true, templatePatch: "+patch+"}}\n"))[0]
			if !set.Spec.SyncPolicy.PreserveResourcesOnDeletion {
				t.Error("does not preserve resources")
			}
			got := map[string][]string{}
			for _, app := range generate(t, a, set) {
				got[app.Name] = app.Finalizers
			}
			want := map[string][]string{"metrics-server-retail-prod-eu-1": nil, "metrics-server-retail-staging-eu-1": {finalizer}}
			assert.Equal(t, want, got, "finalizers")
		})
	}
}

// TestErrorAnswers: which answers keep live Applications, with the text that reaches the condition
// of the ApplicationSet (G5), and which are an empty list, that deletes them.
func TestErrorAnswers(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		body   string
		want   string // the error
	}{
		"message":         {503, `{"message":"not ready"}`, "API error with status code 503: not ready"},
		"error":           {503, `{"error":"not ready"}`, "API error with status code 503: not ready"},
		"text":            {500, "boom", "API error with status code 500: boom"},
		"truncated":       {200, `{"output":{"parameters":[{"name":"a"`, "unexpected EOF"},
		"missing field":   {200, `{"output":{"parameters":[{"name":"a","applicationName":"app-a"}]}}`, "map has no entry for key"}, // never "<no value>"
		"empty body":      {200, "", ""},
		"no content":      {204, "", ""},
		"accepted":        {202, "", ""},
		"empty object":    {200, "{}", ""},
		"empty output":    {200, `{"output":{}}`, ""},
		"null parameters": {200, `{"output":{"parameters":null}}`, ""},
		"no parameters":   {200, `{"output":{"parameters":[]}}`, ""},
		"wrong key":       {200, `{"parameters":[{"name":"a"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(answer.status)
				_, _ = w.Write([]byte(answer.body))
			})
			apps, err := newArgoCD(t, url).applications(minimalSet(t))
			if (err != nil) != (answer.want != "") || err != nil && !strings.Contains(err.Error(), answer.want) {
				t.Errorf("error %v, want %q", err, answer.want)
			}
			assert.Equal(t, 0, len(apps), "Applications")
		})
	}
}

// TestNestedAndFlattened: with Go templates a set stays nested; without, Argo CD flattens it to
// dotted keys and prints every value with %v, so that an unquoted account ID is lost.
func TestNestedAndFlattened(t *testing.T) {
	const answer = `{"output":{"parameters":[{"name":"a","chart":{"name":"app","path":""},"clusters":["x","y"],
		"metadata":{"labels":{"tenant":"retail"}},"quoted":"123456789012","number":123456789012,"flag":true}]}}`
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
	a := newArgoCD(t, url)
	for _, c := range []struct {
		goTemplate bool
		want       map[string]any
	}{
		{true, map[string]any{
			"name": "a", "chart": map[string]any{"name": "app", "path": ""}, "clusters": []any{"x", "y"},
			"metadata": map[string]any{"labels": map[string]any{"tenant": "retail"}},
			"quoted":   "123456789012", "number": 123456789012.0, "flag": true,
		}},
		{false, map[string]any{
			"name": "a", "chart.name": "app", "chart.path": "", "clusters.0": "x", "clusters.1": "y",
			"metadata.labels.tenant": "retail", "quoted": "123456789012", "number": "1.23456789012e+11", "flag": "true",
		}},
	} {
		set := minimalSet(t)
		set.Spec.GoTemplate = c.goTemplate
		got, err := a.generators["Plugin"].GenerateParams(&set.Spec.Generators[0], &set, a.client)
		require.NoError(t, err)
		delete(got[0], "generator") // Argo CD's own: what was asked
		assert.Equal(t, []map[string]any{c.want}, got, "goTemplate %t", c.goTemplate)
	}
}

// TestToken: a wrong token is an error, not an empty answer.
func TestToken(t *testing.T) {
	client, err := pluginservice.NewPluginService(context.Background(), "app", newPlugin(t).URL, "$generator-plugin:token", 10)
	require.NoError(t, err)
	if _, err := client.List(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("error %v", err)
	}
}

// text is an object as YAML.
func text(t *testing.T, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

// minimalSet is an ApplicationSet of one component.
func minimalSet(t *testing.T) v1alpha1.ApplicationSet {
	t.Helper()
	return renderSets(t, catalog("addons"), valuesFile(t, "group: addons\ncomponents: {metrics-server: {enabled: true}}\n"))[0]
}

// rootSets are the ApplicationSets of a file of fleet/bootstrap.
func rootSets(t *testing.T, path string) []v1alpha1.ApplicationSet {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	if !strings.Contains(string(data), "kind: ApplicationSet\n") {
		return nil
	}
	return decode(t, string(data))
}

// generate is the Applications of a set, each checked for what Argo CD's controller refuses.
func generate(t *testing.T, a argocd, set v1alpha1.ApplicationSet) []v1alpha1.Application {
	t.Helper()
	apps, err := a.applications(set)
	require.NoError(t, err, "%s", set.Name)
	seen := map[string]bool{}
	for _, app := range apps {
		if !dns1123.MatchString(app.Name) || len(app.Name) > 63 || seen[app.Name] {
			t.Errorf("%s: name %q is none, too long or taken", set.Name, app.Name)
		}
		seen[app.Name] = true
		for _, source := range app.Spec.GetSources() {
			if (source.Path == "") == (source.Chart == "") && source.Ref == "" {
				t.Errorf("%s: source of path %q and chart %q", app.Name, source.Path, source.Chart)
			}
			if source.RepoURL == "" || source.TargetRevision == "" {
				t.Errorf("%s: source without repository or revision", app.Name)
			}
		}
		if (app.Spec.Destination.Name == "") == (app.Spec.Destination.Server == "") {
			t.Errorf("%s: destination %+v", app.Name, app.Spec.Destination)
		}
		manifest := text(t, map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "spec": app.Spec,
			"metadata": map[string]any{"name": app.Name, "labels": app.Labels, "annotations": app.Annotations, "finalizers": app.Finalizers},
		})
		if strings.Contains(manifest, "<no value>") {
			t.Errorf("%s: a field without a value\n%s", app.Name, manifest)
		}
		validateCustomResource(t, manifest)
	}
	return apps
}

// sortApps orders Applications by name: the cluster generator's order is Argo CD's.
func sortApps(apps []v1alpha1.Application) {
	sort.Slice(apps, func(i, j int) bool { return apps[i].Name < apps[j].Name })
}

// golden compares Applications with a file.
func golden(t *testing.T, path string, apps []v1alpha1.Application) {
	t.Helper()
	var out strings.Builder
	for _, app := range apps {
		text, err := yaml.Marshal(map[string]any{"metadata": app.ObjectMeta, "spec": app.Spec})
		require.NoError(t, err)
		out.WriteString("---\n" + strings.ReplaceAll(string(text), "  creationTimestamp: null\n", ""))
	}
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String(), "%s differs; -update rewrites it", path)
}

// TestArgoCDDefinitions: ApplicationSets and Applications are checked against definitions at all.
func TestArgoCDDefinitions(t *testing.T) {
	definitions, err := customResources()
	require.NoError(t, err)
	for _, kind := range []string{"ApplicationSet", "Application"} {
		if _, ok := definitions["argoproj.io/v1alpha1/"+kind]; !ok {
			t.Errorf("no definition of %s", kind)
		}
	}
}
