package charts_test

import (
	"flag"
	"testing"

	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func TestApplicationSetsGoldens(t *testing.T) { chartGoldens(t, applicationSets) }

// TestLint runs Helm's own lint.
func TestLint(t *testing.T) {
	for chart, values := range map[string]map[string]any{
		"application-sets": {"group": "addons"},
		"agent-flux":       {"plugin": map[string]any{"values": "hub: hub-eu\nowner: analytics-prod-eu-1\nsource: {git: {url: https://github.com/acme/fleet}}\n"}},
		"agent-bootstrap":  {"hub": "hub-eu", "owner": "retail-prod-eu-1", "groups": []any{"addons"}},
	} {
		for _, message := range lint.All(repo+"/charts/"+chart, values, "argocd", false).Messages {
			if message.Severity >= support.WarningSev {
				t.Errorf("%s: %s", chart, message)
			}
		}
	}
}
