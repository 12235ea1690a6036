package charts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	teamChart   = repo + "/charts/team"
	teamProject = repo + "/charts/team-project"
)

func TestTeamGoldens(t *testing.T) { chartGoldens(t, teamChart) }

func TestTeamProjectGoldens(t *testing.T) { chartGoldens(t, teamProject) }

// projectOf renders a team's project, and checks it as Argo CD's API server does.
func projectOf(t *testing.T, values string) v1alpha1.AppProject {
	t.Helper()
	docs, _, err := rendering{}.render(teamProject, valuesFile(t, values))
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents: %v", len(docs), err)
	}
	validateCustomResource(t, docs[0])
	var project v1alpha1.AppProject
	require.NoError(t, yaml.UnmarshalStrict([]byte(docs[0]), &project))
	require.NoError(t, project.ValidateProject())
	return project
}

// TestTeamProjectPermitsTheTeamAlone is T2, judged by Argo CD: names that are another's prefix
// reach neither its clusters nor its namespaces.
func TestTeamProjectPermitsTheTeamAlone(t *testing.T) {
	names := []string{"a", "a-b", "a-b-c", "b", "ab", "b-c"}
	for seed := range cases.Times(30) {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		team, cluster, namespace := names[r.IntN(6)], names[r.IntN(6)], names[r.IntN(6)]
		project := projectOf(t, fmt.Sprintf("team: {name: %s, tenant: t, owners: [o], clusters: [%s], namespaces: [{name: %s, preset: small}, {prefix: p-%s-}], repositories: ['https://git/%s/*']}\n", team, cluster, namespace, namespace, team))
		if project.Name != "team-"+team {
			t.Errorf("project %s of team %s", project.Name, team)
		}
		for _, c := range append(names, "in-cluster", "") {
			for _, n := range append(names, "argocd", "kube-system", "*", "p-"+namespace+"-x", "p-"+namespace, "p-"+namespace+"y") {
				want := c == cluster && (n == namespace || n == "p-"+namespace+"-x")
				assert.Equal(t, want, reaches(t, project, c, "https://"+c, n), "cluster %q, namespace %q: project of %s/%s permits", c, n, cluster, namespace)
			}
		}
		for _, n := range names {
			if got := project.IsSourcePermitted(v1alpha1.ApplicationSource{RepoURL: "https://git/" + n + "/app"}); got != (n == team) {
				t.Errorf("project of %s permits the repository of %s: %t", team, n, got)
			}
		}
	}
}

// TestTeamProjectDeniesKinds: no kind without a namespace, none that leads out of quotas, network
// policies and roles, and none that the team's file denies.
func TestTeamProjectDeniesKinds(t *testing.T) {
	project := projectOf(t, "team: {name: a, tenant: t, owners: [o], viewers: [v], clusters: [three], namespaces: [{name: one, preset: small}], repositories: ['https://git/a'], deniedKinds: [{group: batch, kind: CronJob}, {group: '', kind: Secret}]}\ndeniedKinds: {rbac.authorization.k8s.io/Role: false}\n")
	for _, c := range []struct {
		group, kind string
		namespaced  bool
		want        bool
	}{
		{"", "Namespace", false, false},
		{"rbac.authorization.k8s.io", "ClusterRole", false, false},
		{"apiextensions.k8s.io", "CustomResourceDefinition", false, false},
		{"", "ResourceQuota", true, false},
		{"", "LimitRange", true, false},
		{"networking.k8s.io", "NetworkPolicy", true, false},
		{"cilium.io", "CiliumNetworkPolicy", true, false},
		{"projectcalico.org", "NetworkPolicy", true, false},
		{"networking.k8s.aws", "PolicyEndpoint", true, false},
		{"rbac.authorization.k8s.io", "RoleBinding", true, false},
		{"batch", "CronJob", true, false},
		{"", "Secret", true, false},
		{"rbac.authorization.k8s.io", "Role", true, true},
		{"apps", "Deployment", true, true},
		{"batch", "Job", true, true},
		{"", "ConfigMap", true, true},
		{"networking.k8s.io", "Ingress", true, true},
	} {
		assert.Equal(t, c.want, project.IsGroupKindPermitted(schema.GroupKind{Group: c.group, Kind: c.kind}, c.namespaced), "%s/%s: permitted", c.group, c.kind)
	}
	for _, role := range project.Spec.Roles {
		for _, policy := range role.Policies {
			if fields := strings.Split(policy, ", "); len(fields) != 6 || fields[1] != "proj:team-a:"+role.Name || fields[4] != "team-a/*" || fields[5] != "allow" {
				t.Errorf("policy %q", policy)
			}
		}
	}
	if len(project.Spec.Roles) != 2 {
		t.Errorf("%d roles", len(project.Spec.Roles))
	}
}

// TestTeamKeepsItsBounds: neither owners nor the deployer may change what bounds them, and what the
// chart makes is in the team's namespaces alone.
func TestTeamKeepsItsBounds(t *testing.T) {
	values := "team: {name: a, tenant: t, owners: [o], viewers: [v], namespaces: [{name: one, preset: small}, {name: two, preset: isolated}, {prefix: p-}]}\n"
	for _, object := range (rendering{}).objects(t, teamChart, values) {
		meta := object.(interface {
			GetName() string
			GetNamespace() string
		})
		switch o := object.(type) {
		case *corev1.Namespace:
			if o.Name != "one" && o.Name != "two" {
				t.Errorf("namespace %s", o.Name)
			}
			continue
		case *rbacv1.Role:
			for _, rule := range o.Rules {
				for _, resource := range rule.Resources {
					for _, group := range rule.APIGroups {
						bound := resource == "resourcequotas" || resource == "limitranges" || resource == "networkpolicies" || resource == "namespaces" ||
							group == "rbac.authorization.k8s.io" || group == "*" || (group == "" || group == "networking.k8s.io") && resource == "*"
						if writes := strings.Trim(strings.Join(rule.Verbs, " "), " ") != "get list watch"; bound && writes {
							t.Errorf("role %s may change %s of %q", o.Name, resource, group)
						}
						if o.Name == "team-viewer" && resource == "secrets" {
							t.Error("viewers read secrets")
						}
					}
				}
			}
		case *corev1.ServiceAccount, *corev1.ResourceQuota, *corev1.LimitRange, *rbacv1.RoleBinding:
		}
		if ns := meta.GetNamespace(); ns != "one" && ns != "two" {
			t.Errorf("%T %s is in namespace %q", object, meta.GetName(), ns)
		}
	}
	for _, role := range all[*rbacv1.Role](rendering{}.objects(t, teamChart, values, "operatorRules: {ack: {apiGroups: [sqs.services.k8s.aws], resources: ['*'], verbs: ['*']}, none: null}\n")) {
		if last := role.Rules[len(role.Rules)-1]; (last.APIGroups[0] == "sqs.services.k8s.aws") != (role.Name == "team-owner") {
			t.Errorf("%s/%s ends with %v", role.Namespace, role.Name, last)
		}
	}
	rendering{}.fails(t, `no preset "large"; expected one of isolated, small`, teamChart, strings.Replace(values, "preset: small", "preset: large", 1))
	rendering{}.fails(t, "clusters", teamChart, strings.Replace(values, "name: a,", "name: a, clusters: [x],", 1))
}

// TestCordonedTeamGetsNothingNew: with `cordoned: true` nothing new is made in the namespaces, but
// for pods, and Argo CD syncs nothing of the team, by hand neither.
func TestCordonedTeamGetsNothingNew(t *testing.T) {
	const team = "team: {name: a, tenant: t, owners: [o], viewers: [v], cordoned: true, namespaces: [{name: one, preset: small}, {name: two, preset: isolated}]"
	quotas := map[string]int{}
	for _, quota := range all[*corev1.ResourceQuota](rendering{}.objects(t, teamChart, team+"}\n")) {
		if quota.Name != "team-cordon" {
			continue
		}
		for resource, limit := range quota.Spec.Hard {
			if limit.Value() != 0 || resource == corev1.ResourcePods {
				t.Errorf("%s: %s is limited to %s", quota.Namespace, resource, limit.String())
			}
			quotas[quota.Namespace]++
		}
	}
	if quotas["one"] < 8 || quotas["two"] < 8 {
		t.Errorf("quotas %v", quotas)
	}
	project := projectOf(t, team+", clusters: [c], repositories: ['https://git/a']}\n")
	for _, isManual := range []bool{true, false} {
		if can, err := project.Spec.SyncWindows.Matches(&v1alpha1.Application{}).CanSync(isManual); can || err != nil {
			t.Errorf("by hand %t: can sync: %t, %v", isManual, can, err)
		}
	}
	for _, role := range project.Spec.Roles {
		for _, policy := range role.Policies {
			if fields := strings.Split(policy, ", "); fields[3] != "get" {
				t.Errorf("policy %q", policy)
			}
		}
	}
	if open := projectOf(t, strings.Replace(team, "cordoned: true, ", "", 1)+", clusters: [c], repositories: ['https://git/a']}\n"); len(open.Spec.SyncWindows) > 0 {
		t.Error("a team that is not cordoned has sync windows")
	}
}

// TestTeamsNeedNoCatalogInTheChart: the entry that the releases view hands out is enough for a
// team's ApplicationSet, and its query's base leaves it to the team's file where the team is.
func TestTeamsNeedNoCatalogInTheChart(t *testing.T) {
	team := entries(t, "teams")["team"]
	if team.Enabled || entries(t, "teams")["team-project"].Enabled {
		t.Error("an entry of all teams is on")
	}
	sets := renderSets(t, valuesFile(t, fmt.Sprintf("group: teams\nhub: hub\nowner: hub\nrelease: default\ncomponents:\n  team-cart:\n    enabled: true\n    chart: {repoURL: %s, path: %s, version: %s}\n    namespace: %s\n    values: {}\n", team.Chart.RepoURL, team.Chart.Path, team.Chart.Version, team.Namespace)))
	if len(sets) != 1 || sets[0].Name != "teams-default-team-cart" {
		t.Fatalf("sets: %v", sets)
	}
	if _, ok := baseOf(t, sets[0])["enabled"]; ok {
		t.Error("base says enabled")
	}
	if sets = renderSets(t, catalog("teams"), valuesFile(t, "group: teams\n")); len(sets) != 0 {
		t.Errorf("an entry of all teams has an ApplicationSet: %v", sets)
	}
}

// TestDeniedKindsOfFlux: on a cluster that Flux deploys to, a policy denies the team's
// ServiceAccount the kinds that the team's project denies Argo CD, by patterns, too. The API
// server's own code decides.
func TestDeniedKindsOfFlux(t *testing.T) {
	for _, denied := range []string{
		"{group: batch, kind: CronJob}", "{group: batch, kind: '*'}", "{group: '*', kind: Ingress}", "{group: '*.k8s.io', kind: '*'}", "{group: 'networking?k8s.io', kind: 'In*s'}", "{kind: Secret}",
	} {
		const said = "name: a, tenant: t, owners: [o], namespaces: [{name: one, preset: small}]"
		project := projectOf(t, "team: {"+said+", clusters: [three], repositories: ['https://git/a'], deniedKinds: ["+denied+"]}\n")
		policy := one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{KubeVersion: "1.30"}.objects(t, teamChart, "team: {"+said+", deniedKinds: ["+denied+"]}\n"), "team-a")
		groups := policy.Spec.MatchConstraints.ResourceRules[0].APIGroups
		for _, gvk := range []schema.GroupVersionKind{
			{Group: "batch", Version: "v1", Kind: "CronJob"},
			{Group: "batch", Version: "v1", Kind: "Job"},
			{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
			{Group: "networkingxk8sxio", Version: "v1", Kind: "Ingress"},
			{Version: "v1", Kind: "Secret"},
			{Version: "v1", Kind: "ConfigMap"},
			{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
		} {
			matches := slices.Contains(groups, "*") || slices.Contains(groups, gvk.Group)
			if got, want := matches && !permits(t, policy, gvk), !project.IsGroupKindPermitted(gvk.GroupKind(), true); got != want {
				t.Errorf("%s: %s: the policy denies it %t, the project %t", denied, gvk, got, want)
			}
		}
	}
}

// TestTeamsTakeNoExternalIPs: no one adds an address to a Service's externalIPs in a team's
// namespaces, by name or by prefix; what is there may stay or go, and elsewhere the policy says
// nothing. The API server's own code decides.
func TestTeamsTakeNoExternalIPs(t *testing.T) {
	const said = "team: {name: a, tenant: t, owners: [o], namespaces: [{name: one, preset: small}, {prefix: a-pr-}]}\n"
	objects := rendering{KubeVersion: "1.30"}.objects(t, teamChart, said)
	policy := one[*admissionv1.ValidatingAdmissionPolicy](t, objects, "team-a-external-ips")
	binding := one[*admissionv1.ValidatingAdmissionPolicyBinding](t, objects, "team-a-external-ips")
	if binding.Spec.PolicyName != policy.Name || !slices.Equal(binding.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}) {
		t.Errorf("%+v", binding.Spec)
	}
	scope := policy.DeepCopy()
	scope.Spec.Validations = nil
	for _, c := range policy.Spec.MatchConditions {
		scope.Spec.Validations = append(scope.Spec.Validations, admissionv1.Validation{Expression: c.Expression})
	}
	service := func(namespace string, ips ...string) *corev1.Service {
		return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: namespace}, Spec: corev1.ServiceSpec{ExternalIPs: ips}}
	}
	gvk, gvr := corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithResource("services")
	for _, c := range []struct {
		what       string
		is, was    *corev1.Service
		in, denied bool
	}{
		{"none", service("one"), nil, true, false},
		{"one", service("one", "10.0.0.1"), nil, true, true},
		{"in a namespace of the prefix", service("a-pr-7", "10.0.0.1"), nil, true, true},
		{"one more", service("one", "10.0.0.1", "10.0.0.2"), service("one", "10.0.0.1"), true, true},
		{"another", service("one", "10.0.0.2"), service("one", "10.0.0.1"), true, true},
		{"the same", service("one", "10.0.0.1"), service("one", "10.0.0.1"), true, false},
		{"removed", service("one"), service("one", "10.0.0.1"), true, false},
		{"elsewhere", service("other", "10.0.0.1"), nil, false, true},
		{"a name that begins so", service("one-more", "10.0.0.1"), nil, false, true},
	} {
		operation, was := admission.Create, runtime.Object(nil)
		if c.was != nil {
			operation, was = admission.Update, c.was
		}
		attributes := admission.NewAttributesRecord(c.is, was, gvk, c.is.Namespace, c.is.Name, gvr, "", operation, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "u"})
		request := &admission.VersionedAttributes{Attributes: attributes, VersionedKind: gvk, VersionedObject: c.is, VersionedOldObject: was}
		if in, denied := allows(t, scope, request), !allows(t, policy, request); in != c.in || denied != c.denied {
			t.Errorf("%s: in scope %t, denied %t", c.what, in, denied)
		}
	}
	for values, version := range map[string]string{said + "denyExternalIPs: false\n": "1.30", said: "1.29"} {
		if policies := all[*admissionv1.ValidatingAdmissionPolicy](rendering{KubeVersion: version}.objects(t, teamChart, values)); len(policies) > 0 {
			t.Errorf("%s: %d policies", version, len(policies))
		}
	}
}

// permits reports whether the expressions of a policy permit to create an object of a kind.
func permits(t *testing.T, policy *admissionv1.ValidatingAdmissionPolicy, gvk schema.GroupVersionKind) bool {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	gvr := gvk.GroupVersion().WithResource("any")
	attributes := admission.NewAttributesRecord(object, nil, gvk, "one", "x", gvr, "", admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "u"})
	return allows(t, policy, &admission.VersionedAttributes{Attributes: attributes, VersionedKind: gvk, VersionedObject: object})
}

// TestNullPermitsOneKind: a kind that a user permits again is no other one.
func TestNullPermitsOneKind(t *testing.T) {
	project := projectOf(t, "team: {name: a, tenant: t, owners: [o], viewers: [v], clusters: [three], namespaces: [{name: one, preset: small}], repositories: ['https://git/a']}\ndeniedKinds: {networking.k8s.io/NetworkPolicy: null}\n")
	for kind, want := range map[schema.GroupKind]bool{{Group: "networking.k8s.io", Kind: "NetworkPolicy"}: true, {Group: "cilium.io", Kind: "CiliumNetworkPolicy"}: false} {
		assert.Equal(t, want, project.IsGroupKindPermitted(kind, true), "%s: permitted", kind)
	}
}

// TestPresetsAreUsable: null removes a limit of a level below, and a team that may have load
// balancers may have the node ports that each takes.
func TestPresetsAreUsable(t *testing.T) {
	objects := rendering{}.objects(t, teamChart, "team: {name: a, tenant: t, owners: [o], namespaces: [{name: one, preset: small}, {name: two, preset: isolated}]}\n",
		"presets: {small: {limits: {max: {cpu: '4', memory: 8Gi}, min: {cpu: 1m}}}}\n", "presets: {small: {limits: {max: {cpu: null}, min: {cpu: null}}}}\n")
	limits, quotas := all[*corev1.LimitRange](objects), all[*corev1.ResourceQuota](objects)
	if len(limits) != 2 || len(quotas) != 2 {
		t.Fatalf("%d limits, %d quotas", len(limits), len(quotas))
	}
	for _, l := range limits {
		x := l.Spec.Limits[0]
		if _, is := x.Max["cpu"]; is || len(x.Min) > 0 || l.Namespace == "one" && x.Max.Memory().String() != "8Gi" || x.Default.Memory().String() != "256Mi" {
			t.Errorf("%s: %+v", l.Namespace, x)
		}
	}
	for _, q := range quotas {
		balancers, ports := q.Spec.Hard["services.loadbalancers"], q.Spec.Hard["services.nodeports"]
		if balancers.Value() > ports.Value() {
			t.Errorf("%s: %s load balancers with %s node ports", q.Namespace, balancers.String(), ports.String())
		}
	}
}
