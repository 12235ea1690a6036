package charts_test

import (
	"encoding/json"
	"strings"
	"testing"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
)

// agent is the agents view's set of one member of hub-eu or hub-us.
func agent(t *testing.T, state *fleetstate.State, hub, name string) paramset.AgentSet {
	t.Helper()
	body, err := answer(state, []byte(`{"input":{"parameters":{"view":"agents","hub":"`+hub+`"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Output struct{ Parameters []paramset.AgentSet }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
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
	if got := es.Spec.Target.Template.Data["url"]; got != "https://github.com/argosy-hub/argosy" {
		t.Errorf("the credentials are for %q", got)
	}
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
	if s.Flags["use_external_secrets"] != "false" {
		t.Fatal("the example fleet's flux agent pulls its secrets now: choose another")
	}
	if objects := (rendering{}).objects(t, fleetSecret, s.CredentialValues); len(objects) != 0 {
		t.Errorf("%d objects, the first is %v", len(objects), objects[0])
	}
}
