package charts_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/external-secrets/external-secrets/pkg/template/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/change/externalsecrets"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func TestAWSResourcesGoldens(t *testing.T) { chartGoldens(t, repo+"/charts/aws-resources") }

// TestAWSResourcesDefinesNoOtherKinds: neither a resource nor what a definition makes or reads is
// of another kind than those of ACK and of definitions: kro makes them, past the project.
func TestAWSResourcesDefinesNoOtherKinds(t *testing.T) {
	const chart, bucket = repo + "/charts/aws-resources", "{id: b, template: {apiVersion: s3.services.k8s.aws/v1alpha1, kind: Bucket}}"
	definition := func(parts string) string {
		return "definitions: {a: {schema: {apiVersion: v1alpha1, kind: A}, resources: [" + bucket + ", " + parts + "]}}\n"
	}
	for values, want := range map[string]string{
		definition("{id: a, template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding}}"): "definitions.a.resources[1]: rbac.authorization.k8s.io/v1 ClusterRoleBinding is no kind of ACK",
		definition("{id: a, externalRef: {apiVersion: v1, kind: Secret, metadata: {name: s}}}"):               "v1 Secret is no kind of ACK",
		definition("{id: a, template: {apiVersion: kro.run/v1alpha1, kind: ResourceGraphDefinition}}"):        "ResourceGraphDefinition is no kind of ACK",
		definition("{id: a}"): "is no kind of ACK",
		"resources: {a: {apiVersion: kro.run/v1alpha1, kind: ResourceGraphDefinition, spec: {}}}\n": "resources/a/kind",
	} {
		rendering{}.fails(t, want, chart, values)
	}
	if n := len(rendering{}.objects(t, chart, definition("{id: c, template: {apiVersion: kro.run/v1alpha1, kind: TeamBucket}}"))); n != 1 {
		t.Errorf("%d objects, want the definition", n)
	}
}

// A plan parses templates with names of functions alone: External Secrets has no other ones
// (externalsecrets, rule 3).
func TestPlanKnowsTheFunctionsOfExternalSecrets(t *testing.T) {
	t.Parallel()
	known := externalsecrets.Functions()
	for _, name := range slices.Sorted(maps.Keys(template.FuncMap())) {
		if known[name] == nil {
			t.Errorf("External Secrets has the function %s, which a plan refuses", name)
		}
	}
	for _, name := range []string{"env", "expandenv", "include", "tpl", "lookup"} {
		if known[name] != nil || template.FuncMap()[name] != nil {
			t.Errorf("External Secrets has no function %s", name)
		}
	}
}

func TestMemberAccessGoldens(t *testing.T) { chartGoldens(t, repo+"/charts/member-access") }

// The role of a binding cannot change in place: other rights are another binding.
func TestMemberAccessRightsMayChange(t *testing.T) {
	binding := func(rights string) *rbacv1.RoleBinding {
		for _, b := range all[*rbacv1.RoleBinding](rendering{}.objects(t, repo+"/charts/member-access", "{side: member, namespace: argocd, namespaces: {shop: "+rights+"}}\n")) {
			if b.Namespace == "shop" {
				return b
			}
		}
		t.Fatal("no binding")
		return nil
	}
	was := binding("{clusterRole: admin}")
	for _, rights := range []string{"{clusterRole: edit}", "{rules: [{apiGroups: [batch], resources: [jobs], verbs: [get]}]}"} {
		if is := binding(rights); is.Name == was.Name && is.RoleRef != was.RoleRef {
			t.Errorf("%s: %s would change its role from %s to %s", rights, is.Name, was.RoleRef.Name, is.RoleRef.Name)
		}
	}
}

// TestSealedSecretsStartsAfterItsKey: the controller's pod mounts the very Secret that
// charts/fleet-secret brings, in its namespace, and may not start without it; and the controller
// makes no key of its own.
func TestSealedSecretsStartsAfterItsKey(t *testing.T) {
	var chart struct {
		SealedSecrets struct{ Namespace, Name string }
	}
	var entries struct {
		Components map[string]struct {
			Namespace string
			Values    struct {
				Keyrenewperiod    string
				AdditionalVolumes []struct {
					Secret struct {
						SecretName string
						Optional   *bool
					}
				}
				AdditionalVolumeMounts []struct{ Name string }
			}
		}
	}
	for file, into := range map[string]any{fleetSecret + "/values.yaml": &chart, catalog("addons"): &entries} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, into))
	}
	entry := entries.Components["sealed-secrets"]
	volumes := entry.Values.AdditionalVolumes
	if entry.Namespace != chart.SealedSecrets.Namespace || len(volumes) != 1 || volumes[0].Secret.SecretName != chart.SealedSecrets.Name ||
		volumes[0].Secret.Optional != nil || len(entry.Values.AdditionalVolumeMounts) != 1 || entry.Values.Keyrenewperiod != "0" {
		t.Errorf("the entry is %+v; the key is %+v", entry, chart.SealedSecrets)
	}
}
