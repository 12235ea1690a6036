package charts_test

import "testing"

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
