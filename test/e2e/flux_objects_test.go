package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plancheck"
)

// fluxReady says why an object of Flux is not ready; nothing if it is.
func fluxReady(o *unstructured.Unstructured) string {
	generation, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	ready := fluxCondition(o, "Ready")
	switch {
	case o.GetName() == "":
		return "there is none"
	case ready["status"] == "True" && generation == o.GetGeneration():
		return ""
	case ready == nil:
		return "it is new"
	}
	return fmt.Sprintf("%v: %v", ready["reason"], ready["message"])
}

func fluxCondition(o *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

// fluxOf is an engine's Flux. What it has of an Application is called the same.
func fluxOf(owner string, client *kube.Client) plancheck.Engine {
	ours := func(o *unstructured.Unstructured) bool {
		return o.GetLabels()["app.kubernetes.io/managed-by"] == "argosy"
	}
	return plancheck.Engine{
		Owner: owner, Kube: client, Kinds: []string{"HelmRelease", "Kustomization"}, Manager: "kustomize-controller", Ours: ours,
		All: func(t testing.TB) (out []*unstructured.Unstructured) {
			for _, r := range []schema.GroupVersionResource{flux.HelmReleases, flux.Kustomizations} {
				all, err := client.List(t.Context(), r, flux.Namespace, "app.kubernetes.io/managed-by=argosy")
				must(t, err)
				out = slices.AppendSeq(out, maps.Values(all))
			}
			return out
		},
	}
}

// fluxText is a text of an object, empty when there is none of either.
func fluxText(o *unstructured.Unstructured, fields ...string) string {
	if o == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(o.Object, fields...)
	return text
}
