package scaffold

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// The last pin of a ring counts: a rollback is refused, or its pin is that one.
func TestRollbackTakesEffect(t *testing.T) {
	t.Parallel()
	for name, pin := range map[string]string{
		"on several lines": "  - ring: eu\n    revision: \"8b1e0d2\"\n    reason: errors\n",
		"without a reason": "  - {ring: eu, revision: \"8b1e0d2\"}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			sourcetest.Write(t, dir, map[string]string{
				"fleet/fleet-members/hub/hub.yaml":             "clusterName: hub\ntenant: platform\nenvironment: mgmt\nfleet_member: hub-cluster\n",
				"fleet/fleet-members/hub/prod-1.yaml":          "clusterName: prod-1\ntenant: shop\nenvironment: prod\nsecretManagerSecretName: prod-1\n",
				"addons/defaults/application-sets/addons.yaml": "dns: {enabled: true, chart: {repoURL: https://charts.example.com, name: dns, version: 1.0.0}}\n",
				"versions/applicationSets.yaml":                "releases:\n  addons:\n    - {type: default, chartRepo: https://charts.example.com, ecrChartName: application-sets, version: 1.0.0}\n",
				"versions/fleetSecrets.yaml":                   "releases:\n  - {type: default, chartRepo: https://charts.example.com, ecrChartName: fleet-secret, version: 1.0.0}\n",
				"fleet/rollouts/prod.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nrings:\n" +
					"  - {name: eu, selector: {matchLabels: {environment: prod}}}\npins:\n" + pin,
			})
			d, err := ChangeRollout(t.Context(), Repository{Folder: dir, Findings: findings}, RolloutChange{
				Name: "prod", Pin: &rollout.Pin{Ring: "eu", Revision: "9b1e0d2", Reason: "worse"},
			})
			if err != nil {
				return // it is refused, and nothing is written
			}
			doc, err := yamldoc.Parse("prod.yaml", []byte(d.Files["fleet/rollouts/prod.yaml"]))
			require.NoError(t, err)
			pins := doc.Root.Get("pins").Items()
			if got := pins[len(pins)-1].Get("revision").Text(); got != "9b1e0d2" {
				t.Errorf("the ring stays on %s:\n%s", got, d.Files["fleet/rollouts/prod.yaml"])
			}
		})
	}
}
