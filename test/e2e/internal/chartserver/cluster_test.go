package chartserver_test

import (
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// On a cluster a stand-in's pods become available, and custom resources of the kinds that it
// defines are ready, as Argo CD's health checks ask (resource_customizations/karpenter.sh of Argo
// CD 3.2).
func TestOnACluster(t *testing.T) {
	t.Parallel()
	helm := helm(t)
	if helm == "" {
		return // said by helm
	}
	client := testcluster.Start(t).Client

	s := serve(t, charts...)
	for _, manifests := range []string{
		template(t, helm, "karpenter", "karpenter", "--repo", s.URL(), "--namespace", "default", "--set", "replicas=2"),
		template(t, helm, "pools", filepath.Join(checkout, "charts", "karpenter-node-pools"), "--set", "clusterName=one",
			"--set-json", `nodePools={"general":{"requirements":[{"key":"kubernetes.io/arch","operator":"In","values":["arm64"]}]}}`),
	} {
		require.NoError(t, client.Apply(t.Context(), "default", []byte(manifests)))
	}
	for _, test := range []struct {
		resource        schema.GroupVersionResource
		namespace, name string
		condition       string
	}{
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "default", "karpenter", "Available"},
		{schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}, "", "general", "Ready"},
		{schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}, "", "default", "Ready"},
	} {
		becomes(t, client, test.resource, test.namespace, test.name, test.condition)
	}
}

// becomes waits until an object has a condition.
func becomes(t *testing.T, client *kube.Client, resource schema.GroupVersionResource, namespace, name, condition string) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		object, err := client.Get(t.Context(), resource, namespace, name)
		require.NoError(t, err)
		if object != nil && is(object, condition) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s %s is not %s after a minute: %v", resource.Resource, name, condition, object)
		}
	}
}

// is tells whether an object has a condition.
func is(object *unstructured.Unstructured, condition string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == condition && c["status"] == "True" {
			return true
		}
	}
	return false
}
