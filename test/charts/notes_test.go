package charts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(notes, message); got != want {
			t.Errorf("%s: said %v, want %v", values, got, want)
		}
	}
}
