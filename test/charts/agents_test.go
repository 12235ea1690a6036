package charts_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// agent is the agents view's set of one member of hub-eu or hub-us.
func agent(t *testing.T, state *fleetstate.State, hub, name string) paramset.AgentSet {
	t.Helper()
	body, err := answer(state, []byte(`{"input":{"parameters":{"view":"agents","hub":"`+hub+`"}}}`))
	require.NoError(t, err)
	var got struct {
		Output struct{ Parameters []paramset.AgentSet }
	}
	require.NoError(t, json.Unmarshal(body, &got))
	for _, s := range got.Output.Parameters {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no agent %q of hub %q", name, hub)
	return paramset.AgentSet{}
}

// Lesson 11: an agent had no credentials for the fleet's repository, which its own ApplicationSets
// read, and they never started. Here the member's External Secrets brings them, for its Argo CD and
// for its plugin.
func TestLesson11_AgentReadsTheFleetRepository(t *testing.T) {
	const secret = "payments-prod-eu-1-git-fleet"
	_, state := newEngine(t)
	s := agent(t, state, "hub-eu", "payments-prod-eu-1")

	objects := rendering{}.objects(t, fleetSecret, s.CredentialValues)
	es := one[*esv1.ExternalSecret](t, objects, secret)
	assert.Equal(t, "https://github.com/argosy-hub/argosy", es.Spec.Target.Template.Data["url"], "the credentials are for")
	got, err := reconcile(t, es, map[string]string{"github/payments/fleet-read": `{"username":"reader","password":"token"}`}, nil)
	if err != nil || string(got.Data["password"]) != "token" || got.Labels["argocd.argoproj.io/secret-type"] != "repository" {
		t.Errorf("secret %v, %v", got, err)
	}
	one[*esv1.ExternalSecret](t, objects, "payments-prod-eu-1-git-github") // the tenant's own repositories
	for _, es := range all[*esv1.ExternalSecret](objects) {
		if es.Name == s.Name {
			t.Error("the member's cluster Secret is the hub's matter, and generator-plugin's on the member")
		}
	}

	deployment := all[*appsv1.Deployment](rendering{}.objects(t, generatorPlugin, s.HelmValues))[0]
	mounted := false
	for _, v := range deployment.Spec.Template.Spec.Volumes {
		mounted = mounted || v.Secret != nil && v.Secret.SecretName == secret
	}
	if !mounted {
		t.Errorf("the member's plugin does not read the repository with %s", secret)
	}

	for _, m := range asks(t, state, `{"view":"members","hub":"hub-eu"}`) {
		for _, es := range all[*esv1.ExternalSecret](rendering{}.objects(t, fleetSecret, m.HelmValues)) {
			if strings.HasSuffix(es.Name, "-git-fleet") {
				t.Errorf("the hub takes a copy of %s", es.Name)
			}
		}
	}
}

// A member that does not pull secrets by itself gets none that only its External Secrets could
// read.
func TestAgentWithoutExternalSecretsPullsNothing(t *testing.T) {
	_, state := newEngine(t)
	s := agent(t, state, "hub-eu", "analytics-prod-eu-1")
	require.Equal(t, "false", s.Flags["use_external_secrets"], "the example fleet's flux agent pulls its secrets now: choose another")
	if objects := (rendering{}).objects(t, fleetSecret, s.CredentialValues); len(objects) != 0 {
		t.Errorf("%d objects, the first is %v", len(objects), objects[0])
	}
}

// The service of a member may hold the grant of each group that the member may own (M3): without
// the right to it neither the hub nor the member deploys the group.
func TestServiceOfAMemberMayHoldAllGrants(t *testing.T) {
	url, state := newEngine(t)
	a := newArgoCD(t, url)
	sets := map[string]v1alpha1.ApplicationSet{}
	for _, path := range glob(t, repo+"/fleet/bootstrap/*/agents*.yaml") {
		sets[path] = rootSets(t, path)[0]
	}
	for _, set := range all[*v1alpha1.ApplicationSet](rendering{}.objects(t, hubChart, newHub,
		"roots: {groups: ["+strings.Join(fleetGroups, ", ")+", databases]}\n",
		"charts: {repoURL: https://github.com/argosy-hub/argosy, path: charts, version: main, git: {ref: {branch: main}}}\n")) {
		if strings.HasPrefix(set.Name, "agents") {
			sets[hubChart+" "+set.Name] = *set
		}
	}
	services := 0
	for from, set := range sets {
		for _, app := range generate(t, a, set) {
			source := app.Spec.Sources[0]
			objects := rendering{Name: source.Helm.ReleaseName}.objects(t, filepath.Join(repo, source.Path), source.Helm.Values)
			if strings.HasSuffix(source.Path, "agent-flux") {
				values, err := yaml.Marshal(field(t, custom(t, objects, "HelmRelease", "generator-plugin"), "spec", "values"))
				require.NoError(t, err)
				objects = rendering{Name: "generator-plugin"}.objects(t, generatorPlugin, string(values))
			}
			role := one[*rbacv1.Role](t, objects, "generator-plugin-grants")
			services++
			owned := slices.DeleteFunc(state.Fleet.Layout.GroupNames(), func(group string) bool { return group == "provisioning" }) // no member's (C1)
			if strings.HasPrefix(from, hubChart) {
				owned = append(owned, "databases")
			}
			for _, group := range owned {
				if !slices.Contains(role.Rules[1].ResourceNames, "argosy-grant-"+group) {
					t.Errorf("%s: the service of %s may not hold the grant of %s", from, app.Spec.Destination.Name, group)
				}
			}
		}
	}
	if services < 5 {
		t.Errorf("%d services", services)
	}
}

// TestGrantTakesAnnouncements: the grant of a group takes all that a hub announces, also of a
// policy whose change is pending.
func TestGrantTakesAnnouncements(t *testing.T) {
	for _, rings := range []string{rollout.Announcement{"prod": "8b1e0d2c4f"}.String(), "prod=8b1e0d2c4f prod" + rollout.Pending, "prod" + rollout.Pending} {
		values := "{hub: hub, member: a, group: addons, rings: '" + rings + "'}\n"
		granted := one[*corev1.ConfigMap](t, rendering{Namespace: "argocd"}.objects(t, filepath.Join(repo, "charts/agent-grant"), values), "")
		assert.Equal(t, rings, granted.Annotations["argosy.dev/rings"])
	}
}
