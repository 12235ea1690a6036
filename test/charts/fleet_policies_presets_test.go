package charts_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var (
	refusedKeys = regexp.MustCompile(`^!variables\.keys\.exists\(k, k in (\[.*\])\)$`)
	refusedKey  = regexp.MustCompile(`^!\('([A-Za-z]+)' in variables\.keys\)$`)
	appServer   = regexp.MustCompile(`^variables\.(?:app|fluxApp) == '' \|\| variables\.(?:app|fluxApp)\.matches\('([^']*)'\)$`)
)

// admits evaluates the validations of fleet-repository-secrets that judge addresses and keys.
func admits(t *testing.T, validations []admissionv1.Validation, address string, keys []string) bool {
	t.Helper()
	for _, v := range validations {
		expression := strings.TrimSpace(v.Expression)
		switch {
		case addressed.MatchString(expression):
			if !regexp.MustCompile(addressed.FindStringSubmatch(expression)[1]).MatchString(base64.StdEncoding.EncodeToString([]byte(address))) {
				return false
			}
		case refusedKeys.MatchString(expression):
			var refused []string
			require.NoError(t, json.Unmarshal([]byte(refusedKeys.FindStringSubmatch(expression)[1]), &refused))
			if slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(refused, key) }) {
				return false
			}
		case refusedKey.MatchString(expression):
			if slices.Contains(keys, refusedKey.FindStringSubmatch(expression)[1]) {
				return false
			}
		case !strings.Contains(expression, "variables.type in") && !appServer.MatchString(expression):
			t.Fatalf("a validation that this test does not know: %s", expression)
		}
	}
	return true
}

// TestPresetsAdmit: what the values and presets admit of a repository's Secret.
func TestPresetsAdmit(t *testing.T) {
	const region, hosts = "presets: [one-region]\nfleet: {region: eu-west-1}\n", "presets: [fleet-hosts]\nfleet: {repositories: ['', 'git@git.example:a/b', 'https://u@code.example:8443/x']}\n"
	for _, c := range []struct {
		values, address, keys string
		want                  bool
	}{
		{"", "https://any.example/x", "username password", true},
		{"", "https://any.example/x", "bearerToken", false},
		{"", "https://any.example/x", "password proxy", false},
		{"repositories: {credentials: [bearerToken], forbidden: []}\n", "https://any.example/x", "bearerToken insecure", true},
		{"repositories: {hosts: [git.example], addresses: ['git@code.example:x']}\n", "git@code.example:x/y", "sshPrivateKey", true},
		{"repositories: {hosts: [git.example]}\n", "ssh://git@git.example/x", "sshPrivateKey", true},
		{"repositories: {hosts: [git.example]}\n", "https://git.example.evil/x", "password", false},
		{"repositories: {hosts: [git.example]}\n", "http://git.example/x", "password", false},
		{"presets: [ssh-only]\n", "git@git.example:x", "sshPrivateKey", true},
		{"presets: [ssh-only]\n", "https://git.example/x", "", false},
		{"presets: [ssh-only]\n", "git@git.example:x", "password", false},
		{"presets: [github-app-only]\n", "https://github.com/x", "githubAppID githubAppPrivateKey", true},
		{"presets: [github-app-only]\n", "https://github.com/x", "password", false},
		{"presets: [github-app-only, ssh-only]\n", "https://github.com/x", "githubAppPrivateKey", false},
		{"presets: [fleet-hosts]\n", "https://github.com/x", "password", false},
		{hosts, "https://git.example/x", "password", true},
		{hosts, "https://code.example:8443/y", "password", true},
		{hosts, "https://code.example/y", "password", false},
		{region, "https://git-codecommit.eu-west-1.amazonaws.com/v1/x", "password", true},
		{region, "https://git-codecommit.us-east-1.amazonaws.com/v1/x", "password", false},
		{region, "https://git-codecommit.us-east-1.amazonaws.com/.eu-west-1.amazonaws.com/", "password", false},
		{region, "123456789012.dkr.ecr.eu-west-1.amazonaws.com/x", "password", true},
		{region, "evil.ex/abcd.dkr.ecr.eu-west-1.amazonaws.com/x", "password", false},
		{region, "oci://99999:999999.dkr.ecr.eu-west-1.amazonaws.com/x", "password", false},
	} {
		policy := one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, fleetPolicies, c.values), "fleet-repository-secrets")
		assert.Equal(t, c.want, admits(t, policy.Spec.Validations, c.address, strings.Fields(c.keys)), "%q: %s with %s: admitted", c.values, c.address, c.keys)
	}
}

// TestNoBearerTokenForbidsSecretsOfPrograms: the preset forbids the secret that a program of
// execProviderConfig gets by its environment, and so do values that name it; an identity without a
// secret passes.
func TestNoBearerTokenForbidsSecretsOfPrograms(t *testing.T) {
	const key = "AAD_SERVICE_PRINCIPAL_CLIENT_SECRET"
	config := func(env string) string {
		return `{"execProviderConfig":{"args":["azure"],"command":"argocd-k8s-auth","env":{` + env + `}}}`
	}
	for _, values := range []string{"presets: [no-bearer-token]\n", "clusterSecrets: {forbidden: [" + key + "]}\n"} {
		isJudged := false
		for _, v := range one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, fleetPolicies, values), "fleet-cluster-secrets").Spec.Validations {
			if !strings.HasPrefix(v.Message, "config has "+key+",") {
				continue
			}
			isJudged = true
			pattern := regexp.MustCompile(matched.FindStringSubmatch(v.Expression)[1])
			for env, want := range map[string]bool{`"AAD_LOGIN_METHOD":"spn","` + key + `":"x"`: true, `"AAD_LOGIN_METHOD":"workloadidentity"`: false} {
				for before := range 3 { // all three forms of a text in base64
					assert.Equal(t, want, pattern.MatchString(base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", before)+config(env)))), "%s: %s: found", values, env)
				}
			}
		}
		if !isJudged {
			t.Errorf("%s: no validation is about %s", values, key)
		}
	}
}

const (
	argoCDController = "system:serviceaccount:argocd:argocd-application-controller"
	secretsOperator  = "system:serviceaccount:external-secrets:external-secrets"
)

// TestHubWritesItsOwnClusterSecret: where the policies of a hub deny, its Argo CD still applies the
// hub's own cluster Secret, which is an object of the hub's Application, and no other cluster's.
// The API server's own code decides.
func TestHubWritesItsOwnClusterSecret(t *testing.T) {
	objects := rendering{}.objects(t, hubChart, newHub, "policies: {validationActions: [Deny]}\n")
	policy := one[*admissionv1.ValidatingAdmissionPolicy](t, objects, "fleet-writers")
	own := one[*corev1.Secret](t, objects, "hub-cluster")
	other := own.DeepCopy()
	other.Name = "shop-dev-1"
	for _, c := range []struct {
		name      string
		secret    *corev1.Secret
		user      string
		isAllowed bool
	}{
		{"Argo CD, the hub's own", own, argoCDController, true},
		{"Argo CD, another cluster's", other, argoCDController, false},
		{"External Secrets, another cluster's", other, secretsOperator, true},
		{"somebody, the hub's own", own, "somebody", false},
	} {
		if got := letsUpdate(t, policy, c.secret, c.user); got != c.isAllowed {
			t.Errorf("%s: allowed %t", c.name, got)
		}
	}
	for values, want := range map[string]string{
		"policies: {validationActions: [Deny], namespaces: [argo]}\n": "policies.clusterSecrets.inClusterWriters: expected Argo CD's application controller",
		"policies: {validationActions: [Deny], namespaces: [argo], clusterSecrets: {inClusterWriters: ['system:serviceaccount:argo:argocd-application-controller']}}\n": "policies.externalSecrets.writers: expected Argo CD's application controller",
	} {
		rendering{Namespace: "argo"}.fails(t, want, hubChart, newHub, values)
	}
}

// letsUpdate reports whether a policy lets a user update a Secret.
func letsUpdate(t *testing.T, policy *admissionv1.ValidatingAdmissionPolicy, secret *corev1.Secret, username string) bool {
	t.Helper()
	secret = secret.DeepCopy()
	gvk, gvr := corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithResource("secrets")
	attributes := admission.NewAttributesRecord(secret, secret, gvk, secret.Namespace, secret.Name, gvr, "", admission.Update, &metav1.UpdateOptions{}, false, &user.DefaultInfo{Name: username})
	return allows(t, policy, &admission.VersionedAttributes{Attributes: attributes, VersionedKind: gvk, VersionedObject: runtime.Object(secret), VersionedOldObject: runtime.Object(secret)})
}

// allows reports whether the expressions of a policy allow a request.
func allows(t *testing.T, policy *admissionv1.ValidatingAdmissionPolicy, versioned *admission.VersionedAttributes) bool {
	t.Helper()
	gvk, gvr := versioned.VersionedKind, versioned.GetResource()
	compiler := plugincel.NewFilterCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true))
	for _, v := range policy.Spec.Validations {
		condition := &matchconditions.MatchCondition{Name: "validation", Expression: v.Expression}
		filter := compiler.Compile([]plugincel.ExpressionAccessor{condition}, plugincel.OptionalVariableDeclarations{}, environment.StoredExpressions)
		results, _, err := filter.ForInput(t.Context(), versioned, plugincel.CreateAdmissionRequest(versioned.Attributes, metav1.GroupVersionResource(gvr), metav1.GroupVersionKind(gvk)), plugincel.OptionalVariableBindings{}, nil, celconfig.RuntimeCELCostBudget)
		if err != nil || results[0].Error != nil {
			t.Fatalf("%s: %v, %v", strings.TrimSpace(v.Expression), err, results)
		}
		if results[0].EvalResult.Value() != true {
			return false
		}
	}
	return true
}

// TestExternalSecretsOfTheFleetMayWrite: where the policies deny, the External Secrets that the
// catalog deploys still writes the Secrets of clusters.
func TestExternalSecretsOfTheFleetMayWrite(t *testing.T) {
	operator := entries(t, "fleet")["external-secrets"]
	account, _ := operator.Values["serviceAccount"].(map[string]any)
	name := fmt.Sprintf("system:serviceaccount:%s:%s", operator.Namespace, account["name"])
	for chart, values := range map[string]string{hubChart: newHub + "policies: {validationActions: [Deny]}\n", fleetPolicies: "validationActions: [Deny]\n"} {
		policy := one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, chart, values), "fleet-writers")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-dev-1", Namespace: "argocd", Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster"}}}
		if !letsUpdate(t, policy, secret, name) || !letsUpdate(t, policy, secret, secretsOperator) || letsUpdate(t, policy, secret, "somebody") {
			t.Errorf("%s: %s may not write, or somebody may", chart, name)
		}
	}
}
