package charts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v2/util/lua"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	clusterKro        = repo + "/charts/cluster-kro"
	clusterCrossplane = repo + "/charts/cluster-crossplane"
)

func TestClusterKroGoldens(t *testing.T) { chartGoldens(t, clusterKro) }

func TestClusterCrossplaneGoldens(t *testing.T) { chartGoldens(t, clusterCrossplane) }

// specOf is the schema of the spec that a CompositeResourceDefinition gives its kind.
func specOf(t *testing.T, kind string) *structuralschema.Structural {
	t.Helper()
	for _, o := range (rendering{}).objects(t, clusterCrossplane, "part: definitions") {
		u, is := o.(*unstructured.Unstructured)
		if !is || u.GetKind() != "CompositeResourceDefinition" {
			continue
		}
		if got, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind"); got != kind {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
		text, err := json.Marshal(versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"])
		require.NoError(t, err)
		var v1 apiextensionsv1.JSONSchemaProps
		var props apiextensions.JSONSchemaProps
		require.NoError(t, json.Unmarshal(text, &v1))
		require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &props, nil))
		structural, err := structuralschema.NewStructural(&props)
		require.NoError(t, err)
		return structural
	}
	t.Fatalf("no definition of %s", kind)
	return nil
}

// C2: the API server refuses a version out of order from any hand, by the rules of the definition.
func TestDefinitionsRefuseVersionsOutOfOrder(t *testing.T) {
	object := func(version string) map[string]any {
		return map[string]any{"spec": map[string]any{"version": version, "region": "eu", "roleARN": "arn:x", "nodeRoleARN": "arn:x", "subnetIDs": []any{"a", "b"}}}
	}
	for _, c := range []struct{ kind, was, is, want string }{
		{"XEKSCluster", "1.31", "1.31", ""},
		{"XEKSCluster", "1.31", "1.32", ""},
		{"XEKSCluster", "1.9", "1.10", ""},
		{"XEKSCluster", "1.31", "1.33", "expected one minor version at a time"},
		{"XEKSCluster", "1.31", "2.31", "expected one minor version at a time"},
		{"XEKSCluster", "1.31", "1.30", "expected no version before the one that is there"},
		{"XEKSNodes", "1.30", "1.33", ""},
		{"XEKSNodes", "1.31", "2.31", "expected the same major version"},
		{"XEKSNodes", "1.31", "1.30", "expected no version before the one that is there"},
	} {
		spec := specOf(t, c.kind)
		problems, _ := cel.NewValidator(spec, true, celconfig.PerCallLimit).Validate(t.Context(), nil, spec, object(c.is), object(c.was), celconfig.RuntimeCELCostBudget)
		var got []string
		for _, p := range problems {
			got = append(got, p.Detail)
		}
		assert.Equal(t, c.want, strings.Join(got, "; "), "%s from %s to %s", c.kind, c.was, c.is)
	}
}

// The example's Argo CD has the health check of each class, as its chart ships it.
func TestExampleHasTheHealthChecksOfClasses(t *testing.T) {
	text, err := os.ReadFile(repo + "/addons/control-plane/defaults/fleet/argo-cd/values.yaml")
	require.NoError(t, err)
	var values struct {
		Configs struct{ CM map[string]any }
	}
	require.NoError(t, yaml.Unmarshal(text, &values))
	for kind, chart := range map[string]string{
		"provision.argosy.dev_EKSCluster": clusterKro, "provision.argosy.dev_EKSNodes": clusterKro,
		"provision.argosy.dev_XEKSCluster": clusterCrossplane, "provision.argosy.dev_XEKSNodes": clusterCrossplane,
		"resources.argosy.dev_Database": clusterCrossplane, "resources.argosy.dev_Queue": clusterCrossplane, "resources.argosy.dev_Table": clusterCrossplane,
	} {
		script, err := os.ReadFile(chart + "/health.lua")
		require.NoError(t, err)
		if values.Configs.CM["resource.customizations.health."+kind] != string(script) {
			t.Errorf("the health check of %s is not that of %s", kind, chart)
		}
	}
}

// Healthy means ready at the newest generation. A cluster and its nodes are seen on their version,
// and a cluster of Crossplane has the role of its own Crossplane.
func TestHealthOfClasses(t *testing.T) {
	script, err := os.ReadFile(clusterCrossplane + "/health.lua")
	require.NoError(t, err)
	ready := func(status string) string {
		return "conditions: [{type: Ready, status: '" + status + "', message: of the engine}]"
	}
	for _, c := range []struct{ kind, spec, status, want string }{
		{"XEKSCluster", "version: '1.33'", "", "Progressing waits for version 1.33"},
		{"XEKSCluster", "version: '1.33'", "version: '1.33', crossplaneRoleARN: arn, " + ready("True"), "Healthy seen on version 1.33"},
		{"XEKSCluster", "version: '1.33'", "version: '1.33', " + ready("True"), "Progressing of the engine"},
		{"XEKSCluster", "version: '1.33'", "version: '1.32', crossplaneRoleARN: arn, " + ready("True"), "Progressing of the engine"},
		{"XEKSCluster", "version: '1.33'", "conditions: [{type: Synced, status: 'False', message: no kind}]", "Degraded no kind"},
		{"XEKSNodes", "version: '1.33'", "version: '1.33', " + ready("True"), "Healthy seen on version 1.33"},
		{"XEKSNodes", "version: '1.33'", "version: '1.33', " + ready("False"), "Progressing of the engine"},
		{"EKSCluster", "version: '1.33'", "version: '1.33', " + ready("True"), "Healthy seen on version 1.33"},
		{"EKSCluster", "version: '1.33'", "state: ERROR, " + ready("False"), "Degraded of the engine"},
		{"EKSNodes", "version: '1.33'", "version: '1.33', conditions: [{type: Ready, status: 'True', observedGeneration: 1}]", "Progressing waits for version 1.33"},
		{"Queue", "deletionPolicy: Orphan", "", "Progressing waits for the resource"},
		{"Queue", "deletionPolicy: Orphan", ready("True"), "Healthy "},
		{"Database", "engine: postgres", ready("False"), "Progressing of the engine"},
	} {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte("{kind: "+c.kind+", metadata: {generation: 2}, spec: {"+c.spec+"}, status: {"+c.status+"}}"), &object.Object))
		got, err := lua.VM{}.ExecuteHealthLua(object, string(script))
		require.NoError(t, err, "%s", c.kind)
		assert.Equal(t, c.want, string(got.Status)+" "+got.Message, "%s with status {%s}", c.kind, c.status)
	}
}

// The health checks that charts/agent-flux gives Flux agree with those of Argo CD, for all kinds
// that Flux does not know by itself.
func TestFluxHealthOfClasses(t *testing.T) {
	text, err := os.ReadFile(repo + "/charts/agent-flux/health-checks.yaml")
	require.NoError(t, err)
	var checks []struct{ Kind, Current string }
	require.NoError(t, yaml.Unmarshal(text, &checks))
	current := map[string]string{}
	for _, c := range checks {
		current[c.Kind] = c.Current
	}
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true).Env(environment.StoredExpressions)
	require.NoError(t, err)
	all := func(kinds ...string) string {
		var conditions []string
		for _, kind := range kinds {
			kind, status, _ := strings.Cut(kind, "=")
			conditions = append(conditions, fmt.Sprintf("{type: %s, status: '%s'}", kind, map[bool]string{true: "True", false: "False"}[status == ""]))
		}
		return "conditions: [" + strings.Join(conditions, ", ") + "]"
	}
	tried := map[string]map[bool]bool{}
	for _, c := range []struct {
		kind, spec, status string
		want               bool
	}{
		{"Provider", "", all("Installed", "Healthy"), true},
		{"Provider", "", all("Installed", "Healthy=no"), false},
		{"Provider", "", all("Healthy"), false},
		{"Provider", "", "", false},
		{"Function", "", all("Installed", "Healthy"), true},
		{"Function", "", all("Installed=no"), false},
		{"CompositeResourceDefinition", "", all("Established"), true},
		{"CompositeResourceDefinition", "", all("Established=no"), false},
		{"CompositeResourceDefinition", "claimNames: {kind: Queue}", all("Established"), false},
		{"CompositeResourceDefinition", "claimNames: {kind: Queue}", all("Established", "Offered"), true},
		{"XEKSCluster", "version: '1.33'", "version: '1.33', crossplaneRoleARN: arn, " + all("Ready"), true},
		{"XEKSCluster", "version: '1.33'", "version: '1.33', " + all("Ready"), false},
		{"XEKSCluster", "version: '1.33'", "version: '1.32', crossplaneRoleARN: arn, " + all("Ready"), false},
		{"XEKSCluster", "version: '1.33'", "version: '1.33', crossplaneRoleARN: arn, conditions: [{type: Ready, status: 'True', observedGeneration: 1}]", false},
		{"XEKSNodes", "version: '1.33'", "version: '1.33', " + all("Ready"), true},
		{"XEKSNodes", "version: '1.33'", all("Ready"), false},
		{"EKSCluster", "version: '1.33'", "version: '1.33', " + all("Ready"), true},
		{"EKSCluster", "version: '1.33'", "version: '1.33', " + all("Ready=no"), false},
		{"EKSNodes", "version: '1.33'", "version: '1.33', " + all("Ready"), true},
		{"EKSNodes", "version: '1.33'", "version: '1.32', " + all("Ready"), false},
	} {
		var object map[string]any
		require.NoError(t, yaml.Unmarshal([]byte("{kind: "+c.kind+", metadata: {generation: 2}, spec: {"+c.spec+"}, status: {"+c.status+"}}"), &object))
		parsed, issues := env.Parse(current[c.kind]) // without declarations, as Flux does
		if issues.Err() != nil {
			t.Fatalf("%s: %v", c.kind, issues.Err())
		}
		program, err := env.Program(parsed)
		require.NoError(t, err, "%s", c.kind)
		got, _, err := program.Eval(object)
		if err != nil || got.Value() != c.want {
			t.Errorf("%s with spec {%s} and status {%s}: %v, %v; want %t", c.kind, c.spec, c.status, got, err, c.want)
		}
		if tried[c.kind] == nil {
			tried[c.kind] = map[bool]bool{}
		}
		tried[c.kind][c.want] = true
	}
	for kind := range current {
		assert.Equal(t, 2, len(tried[kind]), "the check of %s is tried with %v; expected both", kind, tried[kind])
	}
}

// A class that makes no credentials registers its cluster by a role of the cloud: the address is
// the kubeconfig's, the login is what the platform's values say.
func TestProvisionedClusterIsReachedByARole(t *testing.T) {
	values := provisioned + "connectionSecret: {awsAuth: {clusterName: retail-dev-eu-1, roleARN: 'arn:aws:iam::111122223333:role/hub'}}\n"
	es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, values), "retail-dev-eu-1")
	at := &clientcmdapi.Cluster{Server: "https://eks.example.com", CertificateAuthorityData: []byte("ca")}
	secret, err := reconcile(t, es, connectionOf(kubeconfig(t, at, &clientcmdapi.AuthInfo{Token: "not this one"})), nil)
	require.NoError(t, err)
	var got v1alpha1.ClusterConfig
	require.NoError(t, json.Unmarshal(secret.Data["config"], &got))
	if got.AWSAuthConfig == nil || got.AWSAuthConfig.RoleARN != "arn:aws:iam::111122223333:role/hub" || got.AWSAuthConfig.ClusterName != "retail-dev-eu-1" ||
		got.BearerToken != "" || string(got.CAData) != "ca" || string(secret.Data["server"]) != "https://eks.example.com" {
		t.Errorf("the connection is %s to %s", secret.Data["config"], secret.Data["server"])
	}
}

// A tenant's values cannot have the token of another cluster sent to the tenant's own.
func TestClusterKroTakesNoTokenOfAnotherCluster(t *testing.T) {
	const values = "{part: controlPlane, clusterName: shop-1, version: '1.33', region: eu-west-1, inputs: {roleARN: 'arn:aws:iam::111122223333:role/eks', subnetIDs: [subnet-1], tokenSecret: "
	for _, other := range []string{"shop-2-token", "argocd-secret", "shop-1-2-token", "shop-1-kubeconfig"} {
		rendering{}.fails(t, `"`+other+`" is not this cluster's own`, clusterKro, values+other+"}}\n")
	}
	rendering{}.objects(t, clusterKro, values+"shop-1-token}}\n")
}

// TestClassesOutliveAccidents is rule C3: no sync prunes a cluster, and definitions outlive their
// Application and their HelmRelease. Crossplane deletes all clusters with their definition, and all
// that a provider has made with the provider.
func TestClassesOutliveAccidents(t *testing.T) {
	const is = "{clusterName: shop-1, version: '1.33', nodes: {version: '1.33'}, region: eu-west-1}\n"
	const aws = "inputs: {roleARN: 'arn:aws:iam::111122223333:role/eks', nodeRoleARN: 'arn:aws:iam::111122223333:role/nodes', subnetIDs: [subnet-1, subnet-2]}\n"
	const prune, both = "Prune=false", "Prune=false,Delete=false"
	for _, c := range []struct {
		chart, part, values, kind, want string
		objects                         int
	}{
		{clusterKro, "controlPlane", aws, "EKSCluster", prune, 1},
		{clusterKro, "nodes", aws, "EKSNodes", prune, 1},
		{clusterKro, "definitions", "{}\n", "ResourceGraphDefinition", both, 2},
		{clusterCrossplane, "controlPlane", aws, "XEKSCluster", prune, 1},
		{clusterCrossplane, "nodes", aws, "XEKSNodes", prune, 1},
		{clusterCrossplane, "definitions", "{}\n", "CompositeResourceDefinition", both, 3},
		{clusterCrossplane, "claims", "{}\n", "CompositeResourceDefinition", both, 3},
		{clusterCrossplane, "provider", "{account: '111122223333', provider: {services: {eks: true}}}\n", "Provider", both, 2},
		{clusterCrossplane, "providerConfig", "{}\n", "ProviderConfig", both, 1},
	} {
		found := 0
		for _, o := range (rendering{}).objects(t, c.chart, "part: "+c.part+"\n", is, c.values) {
			u, ok := o.(*unstructured.Unstructured)
			if !ok || u.GetKind() != c.kind {
				continue
			}
			found++
			assert.Equal(t, c.want, u.GetAnnotations()["argocd.argoproj.io/sync-options"], "%s %s: sync options", c.kind, u.GetName())
			if got := u.GetAnnotations()["helm.sh/resource-policy"] == "keep"; got != (c.want == both) {
				t.Errorf("%s %s: an uninstallation by Flux keeps it: %t", c.kind, u.GetName(), got)
			}
		}
		if found != c.objects {
			t.Errorf("%s: %d objects of kind %s, want %d", c.chart, found, c.kind, c.objects)
		}
	}
}

// TestNodesAreLabelledByTheirName: the label by which a control plane's policy finds its nodes
// cannot be left out, also by an update. (C2)
func TestNodesAreLabelledByTheirName(t *testing.T) {
	for chart, c := range map[string]struct{ kind, resource string }{clusterKro: {"EKSNodes", "eksnodes"}, clusterCrossplane: {"XEKSNodes", "xeksnodes"}} {
		objects := rendering{}.objects(t, chart, "part: definitions")
		policy := one[*admissionv1.ValidatingAdmissionPolicy](t, objects, "label."+c.resource+".provision.argosy.dev")
		if binding := one[*admissionv1.ValidatingAdmissionPolicyBinding](t, objects, policy.Name); binding.Spec.PolicyName != policy.Name || binding.Spec.MatchResources != nil {
			t.Errorf("%s: binding %+v", chart, binding.Spec)
		}
		gvk := schema.GroupVersionKind{Group: "provision.argosy.dev", Version: "v1alpha1", Kind: c.kind}
		nodes := func(labels map[string]string, deleted bool) *unstructured.Unstructured {
			u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"version": "1.33"}}}
			u.SetGroupVersionKind(gvk)
			u.SetName("a")
			u.SetLabels(labels)
			if now := metav1.Now(); deleted {
				u.SetDeletionTimestamp(&now)
			}
			return u
		}
		for _, x := range []struct {
			object *unstructured.Unstructured
			want   bool
		}{
			{nodes(map[string]string{"argosy.dev/cluster": "a", "x": "y"}, false), true},
			{nodes(map[string]string{"argosy.dev/cluster": "b"}, false), false},
			{nodes(map[string]string{"x": "y"}, false), false},
			{nodes(nil, false), false},
			{nodes(nil, true), true},
		} {
			attributes := admission.NewAttributesRecord(x.object, nil, gvk, "argocd", "a", gvk.GroupVersion().WithResource(c.resource), "", admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "somebody"})
			assert.Equal(t, x.want, allows(t, policy, &admission.VersionedAttributes{Attributes: attributes, VersionedKind: gvk, VersionedObject: x.object}), "%s: labels %v: admitted", chart, x.object.GetLabels())
		}
	}
}
