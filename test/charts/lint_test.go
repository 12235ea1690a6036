package charts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestHelmLintPasses: Helm's own linter finds neither errors nor warnings in a chart with any of
// its ci/ values. Every chart has such values with the least that it needs, and none are packaged.
func TestHelmLintPasses(t *testing.T) {
	t.Parallel()
	for _, file := range glob(t, repo+"/charts/*/Chart.yaml") {
		folder := filepath.Dir(file)
		chart, err := loader.LoadDir(folder)
		require.NoError(t, err)
		for _, f := range chart.Raw {
			if strings.Contains("/"+f.Name, "/ci/") {
				t.Errorf("%s: the package has %s; expected .helmignore to leave it out", folder, f.Name)
			}
		}
		glob(t, filepath.Join(folder, "ci", "minimal-values.yaml"))
		for _, values := range glob(t, filepath.Join(folder, "ci", "*-values.yaml")) {
			v, err := chartutil.ReadValuesFile(values)
			require.NoError(t, err)
			linter := lint.All(folder, v, "argocd", false)
			for _, m := range linter.Messages {
				if m.Severity > support.InfoSev {
					t.Errorf("helm lint %s --values %s: %s", folder, values, m)
				}
			}
		}
	}
}

// TestChartsHaveMetadata: what Artifact Hub shows of a chart is there, and can be parsed.
func TestChartsHaveMetadata(t *testing.T) {
	t.Parallel()
	for _, file := range glob(t, repo+"/charts/*/Chart.yaml") {
		m, err := chartutil.LoadChartfile(file)
		require.NoError(t, err)
		if m.Home == "" || len(m.Sources) == 0 || len(m.Keywords) == 0 || len(m.Maintainers) == 0 || m.KubeVersion == "" {
			t.Errorf("%s: expected home, sources, keywords, maintainers and kubeVersion", file)
		}
		if m.Annotations["artifacthub.io/license"] != "Apache-2.0" || m.Annotations["artifacthub.io/category"] == "" {
			t.Errorf("%s: annotations %v", file, m.Annotations)
		}
		var links []struct{ Name, URL string }
		if err := yaml.UnmarshalStrict([]byte(m.Annotations["artifacthub.io/links"]), &links); err != nil || len(links) == 0 {
			t.Errorf("%s: links %v, %v", file, links, err)
		}
		for _, l := range links {
			path, of := strings.CutPrefix(l.URL, m.Home+"/blob/main/")
			if of {
				glob(t, filepath.Join(repo, path))
			}
		}
	}
}

// TestEveryChartHasNotes: who installs a chart by hand reads what to do next.
func TestEveryChartHasNotes(t *testing.T) {
	for _, chart := range glob(t, repo+"/charts/*/Chart.yaml") {
		if _, err := os.Stat(filepath.Join(filepath.Dir(chart), "templates", "NOTES.txt")); err != nil {
			t.Error(err)
		}
	}
	for chart, values := range map[string]string{
		"agent-bootstrap":  "{hub: hub-eu, owner: a, groups: [addons]}",
		"agent-flux":       "{plugin: {values: {hub: hub-eu, owner: a, source: {git: {url: https://x/y}}}}}",
		"agent-grant":      "{hub: hub-eu, member: a, group: addons}",
		"application-sets": "{group: addons}",
		"fleet-policies":   "{validationActions: [Audit]}",
	} {
		_, notes, err := rendering{}.render(repo+"/charts/"+chart, valuesFile(t, values))
		if err != nil || strings.TrimSpace(notes) == "" {
			t.Errorf("%s: notes %q, %v", chart, notes, err)
		}
	}
}

// TestNotesNameScrapesThatThePolicyAdmits: the notes report the peers of a ServiceMonitor that no
// value names.
func TestNotesNameScrapesThatThePolicyAdmits(t *testing.T) {
	const message = "networkPolicy.metricsFrom"
	for values, want := range map[string]bool{
		"serviceMonitor: {enabled: true}\n":                                  true,
		"serviceMonitor: {enabled: false}\n":                                 false,
		"serviceMonitor: {enabled: true}\nnetworkPolicy: {enabled: false}\n": false,
		"serviceMonitor: {enabled: true}\nnetworkPolicy: {metricsFrom: [{podSelector: {matchLabels: {app: prometheus}}}]}\n": false,
	} {
		_, notes, err := rendering{}.render(generatorPlugin, valuesFiles(t, []string{onHub, values})...)
		require.NoError(t, err)
		assert.Equal(t, want, strings.Contains(notes, message), "%s: said", values)
	}
}
