package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Alerts and dashboard use metrics that the service has. Each alert has a section in the runbooks,
// to which it links, and a case of promtool in which it fires.
func TestAlertsHaveMetricsRunbooksAndCases(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("../../internal/service/server/*.go")
	require.NoError(t, err)
	var metrics []string
	for _, file := range sources {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`"(argosy_[a-z_]+)"`).FindAllStringSubmatch(string(data), -1) {
			metrics = append(metrics, m[1])
		}
	}
	const alerts, dashboard = "charts/generator-plugin/alerts.yaml", "charts/generator-plugin/dashboard.json"
	for _, file := range []string{alerts, dashboard} {
		used := regexp.MustCompile(`argosy_[a-z_]+`).FindAllString(read(t, file), -1)
		if len(used) < 10 {
			t.Errorf("%s uses %d metrics", file, len(used))
		}
		for _, name := range used {
			if !slices.Contains(metrics, regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")) {
				t.Errorf("%s: the service has no metric %s", file, name)
			}
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, alerts)), &rules))
	runbooks, cases := read(t, "docs/runbooks.md"), read(t, "test/alerts/cases.yaml")
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			if link := "/docs/runbooks.md#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], link) {
				t.Errorf("%s links to %q, want %s", r.Alert, r.Annotations["runbook_url"], link)
			}
			assert.Contains(t, runbooks, "\n## "+r.Alert+"\n", "docs/runbooks.md has no section %s", r.Alert)
			assert.Contains(t, cases, "alertname: "+r.Alert+"\n        exp_alerts:\n", "test/alerts/cases.yaml has no case in which %s fires", r.Alert)
		}
	}
}
