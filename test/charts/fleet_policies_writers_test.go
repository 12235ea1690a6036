package charts_test

import (
	"fmt"
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
)

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
