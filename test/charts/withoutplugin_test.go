package charts_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// fleet is a hub's clusters as Argo CD has them.
func fleet() []*corev1.Secret {
	return []*corev1.Secret{
		cluster("hub-eu", "tenant=platform", "environment=prod", "fleet_member=hub-cluster", "enable_app=true"),
		cluster("retail-prod-eu-1", "tenant=retail", "environment=prod", "enable_app=true", "addonsRelease=default", "annotation:aws_cluster_name=eks-1"),
		cluster("retail-dev-eu-1", "tenant=retail", "environment=dev", "enable_app=true", "addonsRelease=canary"),
		cluster("retail-dev-eu-2", "tenant=retail", "environment=dev", "enable_app=false"),
		cluster("analytics-prod-eu-1", "tenant=analytics", "environment=prod", "enable_app=true", "use_remote_argo=true", "enable_remote_addons=true"),
		cluster("analytics-dev-eu-1", "tenant=analytics", "environment=dev", "enable_app=true", "use_remote_argo=true", "enable_remote_addons=false"),
		cluster("nobody", "enable_app=true"),
	}
}

const withoutPlugin = `
group: addons
plugin: {enabled: false}
components:
  app:
    enabled: true
    chart: {repoURL: https://charts.example.com, name: app, version: 1.2.3}
    namespace: app
    selector: {matchExpressions: [{key: enable_app, operator: In, values: ["true"]}]}
    values:
      clusterName: '{{ index .annotations "aws_cluster_name" | default .name }}'
      where: ['{{ .tenant }}/{{ .environment }}/{{ index .labels "zone" | default "none" }}']
`

// TestWithoutPlugin: the same catalog entry without a plugin, through Argo CD's cluster
// generator: one Application a cluster, by release (R2) and engine (M1), hubs by their own
// levels (H1), catalog templates with the same facts.
func TestWithoutPlugin(t *testing.T) {
	a := newArgoCD(t, "http://127.0.0.1:1", fleet()...)
	for name, c := range map[string]struct {
		more string
		want []string
	}{
		"default": {"release: default\n", []string{"app-analytics-dev-eu-1", "app-hub-eu", "app-retail-prod-eu-1"}},
		"canary":  {"release: canary\n", []string{"app-retail-dev-eu-1"}},
		"owner":   {"owner: analytics-prod-eu-1\n", []string{"app-analytics-prod-eu-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			apps := generate(t, a, renderSets(t, valuesFile(t, withoutPlugin), valuesFile(t, c.more))[0])
			sortApps(apps)
			var got []string
			for _, app := range apps {
				got = append(got, app.Name)
			}
			assert.Equal(t, c.want, got, "applications")
			golden(t, "testdata/without-plugin/"+name+".yaml", apps)
		})
	}
}

// A null of matchLabels demands nothing: an API server would refuse the ApplicationSet, or select
// by an empty value.
func TestWithoutPluginNullLabelDemandsNothing(t *testing.T) {
	values := `plugin: {enabled: false}
hub: hub
group: addons
release: default
selector: {matchLabels: {region: null, ring: a}}
components:
  web:
    enabled: true
    chart: {repoURL: https://charts.example, name: web, version: 1.0.0}
    namespace: web
    selector: {matchLabels: {enable_web: null, tier: gold, ring: null}}
`
	manifests, err := helmTemplate(applicationSets, valuesFile(t, values))
	require.NoError(t, err)
	for _, set := range decode(t, manifests) {
		for _, g := range set.Spec.Generators {
			if got := g.Clusters.Selector.MatchLabels; len(got) != 2 || got["ring"] != "a" || got["tier"] != "gold" {
				t.Errorf("demands %v", got)
			}
		}
	}
}
