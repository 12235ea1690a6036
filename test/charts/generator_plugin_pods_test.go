package charts_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Two pods, never root, nothing writable but what is named.
func TestGeneratorPluginIsRestricted(t *testing.T) {
	objects := rendering{}.objects(t, generatorPlugin, onHub)
	deployment := one[*appsv1.Deployment](t, objects, "")
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	if *deployment.Spec.Replicas != 2 || len(pod.TopologySpreadConstraints) != 2 {
		t.Errorf("replicas %d, spread %v", *deployment.Spec.Replicas, pod.TopologySpreadConstraints)
	}
	if !*pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("pod: %+v", pod.SecurityContext)
	}
	security := container.SecurityContext
	if !*security.ReadOnlyRootFilesystem || *security.AllowPrivilegeEscalation || cmp.Diff(security.Capabilities.Drop, []corev1.Capability{"ALL"}) != "" {
		t.Errorf("container: %+v", security)
	}
	if container.LivenessProbe.HTTPGet.Path != "/healthz" || container.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("probes: %v %v", container.LivenessProbe, container.ReadinessProbe)
	}
	var writable []string
	for _, mount := range container.VolumeMounts {
		if !mount.ReadOnly {
			writable = append(writable, mount.MountPath)
		}
	}
	assert.Equal(t, []string{"/var/lib/argosy", "/tmp"}, writable, "writable")
	if budget := one[*policyv1.PodDisruptionBudget](t, objects, ""); budget.Spec.MaxUnavailable.IntValue() != 1 || budget.Spec.MinAvailable != nil {
		t.Errorf("budget: %+v", budget.Spec)
	}
	if budgets := all[*policyv1.PodDisruptionBudget](rendering{}.objects(t, generatorPlugin, onHub, "replicas: 1")); len(budgets) != 0 {
		t.Error("one replica: a budget would block the drain of its node")
	}
}

// The permissions are in Argo CD's namespace: Secrets, Applications and argocd-cm to read, and
// ApplicationSets to read and annotate, where that is wanted. Without Kubernetes facts there is
// none, nor a token.
func TestGeneratorPluginRBAC(t *testing.T) {
	objects := rendering{Namespace: "argosy"}.objects(t, generatorPlugin, onHub, "argocd: {namespace: argo}")
	role, binding := one[*rbacv1.Role](t, objects, ""), one[*rbacv1.RoleBinding](t, objects, "")
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"argocd-cm"}, Verbs: []string{"get"}},
		{APIGroups: []string{"argoproj.io"}, Resources: []string{"applicationsets"}, Verbs: []string{"list", "watch", "patch"}},
	}
	if diff := cmp.Diff(want, role.Rules); diff != "" || role.Namespace != "argo" || binding.Namespace != "argo" {
		t.Errorf("Role in %s:\n%s", role.Namespace, diff)
	}
	account := one[*corev1.ServiceAccount](t, objects, "")
	if subject := binding.Subjects[0]; subject.Name != account.Name || subject.Namespace != "argosy" || account.Namespace != "argosy" {
		t.Errorf("subject %+v, ServiceAccount %s/%s", subject, account.Namespace, account.Name)
	}
	readOnly := one[*rbacv1.Role](t, rendering{}.objects(t, generatorPlugin, onHub, "plugin: {refreshApplicationSets: false}"), "")
	assert.Equal(t, want[:3], readOnly.Rules, "without refresh")
	objects = rendering{}.objects(t, generatorPlugin, onHub, "facts: {from: none}")
	if roles := all[*rbacv1.Role](objects); len(roles) != 0 || hasToken(one[*appsv1.Deployment](t, objects, "").Spec.Template.Spec) {
		t.Error("facts: none needs no permission")
	}
}

// hasToken reports whether the service gets the ServiceAccount's token.
func hasToken(pod corev1.PodSpec) bool {
	return pod.AutomountServiceAccountToken != nil && *pod.AutomountServiceAccountToken
}

// Where the engine is Flux, the service may read HelmReleases in Flux's namespace, and nothing
// else; elsewhere, and where it is not to watch, it may not, and has no token. Without a Role it is
// set to watch all the same: somebody else may allow it.
func TestGeneratorPluginRBACForFlux(t *testing.T) {
	const flux = onHub + "owner: one\nengine: flux\nfacts: {from: file}\n"
	for values, want := range map[string]string{
		"flux: {namespace: ''}":                       "--flux-namespace=argosy token flux-role",
		"flux: {namespace: fl}":                       "--flux-namespace=fl token flux-role",
		"facts: {from: none}":                         "--flux-namespace=argosy token flux-role",
		"rbac: {create: false}":                       "--flux-namespace=argosy token",
		"flux: {watch: false}":                        "",
		"flux: {watch: \"false\"}":                    "",
		"engine: argocd":                              "",
		"{engine: argocd, facts: {from: kubernetes}}": "token role",
	} {
		objects := rendering{Namespace: "argosy"}.objects(t, generatorPlugin, flux, values)
		var got []string
		pod := one[*appsv1.Deployment](t, objects, "").Spec.Template.Spec
		for _, arg := range pod.Containers[0].Args {
			if strings.HasPrefix(arg, "--flux-namespace") {
				got = append(got, arg)
			}
		}
		if hasToken(pod) {
			got = append(got, "token")
		}
		for _, role := range all[*rbacv1.Role](objects) {
			if !strings.HasSuffix(role.Name, "-flux") {
				got = append(got, "role")
				continue
			}
			got = append(got, "flux-role")
			rules := []rbacv1.PolicyRule{
				{APIGroups: []string{"helm.toolkit.fluxcd.io"}, Resources: []string{"helmreleases"}, Verbs: []string{"list", "watch"}},
				{APIGroups: []string{"kustomize.toolkit.fluxcd.io"}, Resources: []string{"kustomizations"}, Verbs: []string{"list", "watch"}},
				{APIGroups: []string{"source.toolkit.fluxcd.io"}, Resources: []string{"gitrepositories", "ocirepositories"}, Verbs: []string{"list", "watch"}},
			}
			binding := one[*rbacv1.RoleBinding](t, objects, role.Name)
			if diff := cmp.Diff(rules, role.Rules); diff != "" || !slices.Contains(got, "--flux-namespace="+role.Namespace) || binding.Namespace != role.Namespace ||
				binding.RoleRef.Name != role.Name || binding.Subjects[0].Name != pod.ServiceAccountName || binding.Subjects[0].Namespace != "argosy" {
				t.Errorf("%s: Role in %s, %+v: %s", values, role.Namespace, binding, diff)
			}
		}
		assert.Equal(t, want, strings.Join(got, " "), "%s: %v, want", values, got)
	}
}

// Where a member's service waits for grants, it may see the ConfigMaps of its engine's namespace
// and change those of grants, by name; and its flags say whose they are and where.
func TestGeneratorPluginRBACForGrants(t *testing.T) {
	const grants = onHub + "owner: one\ngrants: {enabled: \"true\"}\n"
	for values, want := range map[string]string{
		"argocd: {namespace: argo}":                                                           "argo",
		"{engine: flux, facts: {from: file}, flux: {namespace: fl}}":                          "fl",
		"{grants: {groups: [one, two]}}":                                                      "argosy",
		"{grants: {enabled: false}}":                                                          "",
		"{rbac: {create: false}, grants: {enabled: true}, engine: flux, facts: {from: file}}": "argosy",
	} {
		objects := rendering{Namespace: "argosy"}.objects(t, generatorPlugin, grants, values)
		pod := one[*appsv1.Deployment](t, objects, "").Spec.Template.Spec
		var args, expected []string
		for _, arg := range pod.Containers[0].Args {
			if strings.HasPrefix(arg, "--grants") {
				args = append(args, arg)
			}
		}
		if want != "" {
			expected = []string{"--grants=one", "--grants-namespace=" + want}
		}
		if diff := cmp.Diff(expected, args); diff != "" || want != "" && !hasToken(pod) {
			t.Errorf("%s: %s", values, diff)
		}
		var roles []*rbacv1.Role
		for _, role := range all[*rbacv1.Role](objects) {
			if strings.HasSuffix(role.Name, "-grants") {
				roles = append(roles, role)
			}
		}
		if want == "" || strings.Contains(values, "create: false") {
			if len(roles) > 0 {
				t.Errorf("%s: there is a Role", values)
			}
			continue
		}
		names := []string{"argosy-grant-addons", "argosy-grant-fleet", "argosy-grant-monitoring", "argosy-grant-resources", "argosy-grant-teams", "argosy-grant-workloads"}
		if strings.Contains(values, "two") {
			names = []string{"argosy-grant-one", "argosy-grant-two"}
		}
		rules := []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: names, Verbs: []string{"patch"}},
		}
		role := roles[0]
		binding := one[*rbacv1.RoleBinding](t, objects, role.Name)
		if diff := cmp.Diff(rules, role.Rules); diff != "" || role.Namespace != want || binding.Namespace != want || binding.RoleRef.Name != role.Name ||
			binding.Subjects[0].Name != pod.ServiceAccountName {
			t.Errorf("%s: Role in %s: %s", values, role.Namespace, diff)
		}
	}
	for values, want := range map[string]string{
		"owner: ''":               "grants.enabled needs owner",
		"facts: {from: none}":     "grants.enabled needs facts.from: kubernetes, not none",
		"grants: {groups: []}":    "at '/grants/groups': minItems: got 0, want 1",
		"grants: {groups: [A]}":   "at '/grants/groups/0': 'A' does not match pattern",
		"extraArgs: [--grants=x]": "extraArgs: --grants is set by the chart",
		"{engine: flux, facts: {from: file}, flux: {watch: false}}": "grants.enabled needs flux.watch",
	} {
		_, err := helmTemplate(generatorPlugin, valuesFile(t, grants), valuesFile(t, values))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", values, err, want)
		}
	}
}

// The ConfigMap of a grant is what the service looks for: its name is what it may change, and its
// labels are what it watches.
func TestGrant(t *testing.T) {
	_, state := newEngine(t)
	groups := map[string]bool{}
	for _, hub := range []string{"hub-eu", "hub-us"} {
		for _, set := range asks(t, state, `{"view":"grants","hub":"`+hub+`"}`) {
			groups[set.Group] = true
			values := fmt.Sprintf("{hub: %s, member: %s, group: %s}", hub, set.Name, set.Group)
			granted := one[*corev1.ConfigMap](t, rendering{Namespace: "argocd"}.objects(t, filepath.Join(repo, "charts/agent-grant"), values), "")
			if granted.Name != "argosy-grant-"+set.Group || granted.Namespace != "argocd" || granted.Labels[facts.GrantLabel] != set.Group ||
				granted.Labels["argosy.dev/cluster"] != set.Name || len(granted.Data) != 0 {
				t.Errorf("%+v", granted.ObjectMeta)
			}
		}
	}
	if len(groups) < 2 {
		t.Errorf("groups %v", groups)
	}
	for values, want := range map[string]string{
		"{hub: h, member: hub, group: g}": "at '/member': 'not' failed", "{hub: h, member: m, group: ''}": "at '/group': '' does not match pattern",
	} {
		if _, err := helmTemplate(filepath.Join(repo, "charts/agent-grant"), valuesFile(t, values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// Argo CD's ApplicationSet controller and its API server are admitted, from Argo CD's namespace,
// and nobody else.
func TestGeneratorPluginNetworkPolicy(t *testing.T) {
	policy := one[*networkingv1.NetworkPolicy](t, rendering{Namespace: "argosy"}.objects(t, generatorPlugin, onHub, "argocd: {namespace: argo}"), "")
	admits := func(namespace string, pod map[string]string) bool {
		for _, peer := range policy.Spec.Ingress[0].From {
			inNamespace, err := metav1.LabelSelectorAsSelector(peer.NamespaceSelector)
			require.NoError(t, err)
			isPod, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
			require.NoError(t, err)
			if inNamespace.Matches(labels.Set{"kubernetes.io/metadata.name": namespace}) && isPod.Matches(labels.Set(pod)) {
				return true
			}
		}
		return false
	}
	for _, name := range []string{"argocd-applicationset-controller", "argocd-server"} {
		if !admits("argo", map[string]string{"app.kubernetes.io/name": name}) || admits("default", map[string]string{"app.kubernetes.io/name": name}) {
			t.Errorf("%s is not admitted from argo, or is from elsewhere", name)
		}
	}
	if admits("argo", map[string]string{"app.kubernetes.io/name": "argocd-repo-server"}) {
		t.Error("the repository server is admitted")
	}
	if len(policy.Spec.PolicyTypes) != 1 || len(policy.Spec.Ingress) != 1 {
		t.Errorf("spec: %+v", policy.Spec)
	}
}
