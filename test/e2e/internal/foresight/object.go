package foresight

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// objects are some as they are told, by id.
type objects map[string]map[string]any

// id names an object.
func id(kind, name string) string { return kind + " " + name }

// others are what somebody else puts onto objects, by the part of the metadata.
var others = map[string][]string{
	"annotations": {
		"argocd.argoproj.io/refresh",                 // whoever wants an Application compared, until Argo CD has
		"argocd.argoproj.io/application-set-refresh", // whoever wants an ApplicationSet to ask, until it has
		"argosy.dev/refreshed-at",                    // the service, when it wants that
		"argocd.argoproj.io/tracking-id",             // Argo CD 3, onto what an Application makes
	},
	"labels": {
		"app.kubernetes.io/instance",            // Argo CD 2, onto what an Application makes
		"kustomize.toolkit.fluxcd.io/name",      // Flux, onto what a Kustomization makes
		"kustomize.toolkit.fluxcd.io/namespace", // the same
	},
}

// told is an object as whoever made it wants it: without its status and a running operation, without what Kubernetes notes of it (uid,
// resourceVersion, generation, creationTimestamp, managedFields), without who controls it (ownerReferences, which need a uid),
// and without what others add.
func told(t testing.TB, o *unstructured.Unstructured) map[string]any {
	t.Helper()
	metadata := map[string]any{"name": o.GetName(), "namespace": o.GetNamespace()}
	for part, all := range map[string]map[string]string{"labels": o.GetLabels(), "annotations": o.GetAnnotations()} {
		all = maps.Clone(all)
		maps.DeleteFunc(all, func(key, _ string) bool { return slices.Contains(others[part], key) })
		if len(all) > 0 {
			metadata[part] = all
		}
	}
	if finalizers := o.GetFinalizers(); len(finalizers) > 0 {
		metadata["finalizers"] = finalizers
	}
	out := map[string]any{"metadata": metadata}
	for field, value := range o.Object {
		if field != "metadata" && field != "status" && field != "operation" {
			out[field] = value
		}
	}
	switch o.GetKind() {
	case "ApplicationSet": // its controller writes it with what is empty added or left out
		out["spec"] = kube.Substance(out["spec"])
	case "Application": // its controller leaves out what is false when it writes one that others have made
		out["spec"] = withoutFalse(out["spec"])
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	var same map[string]any // with JSON's types
	if err := json.Unmarshal(text, &same); err != nil {
		t.Fatal(err)
	}
	return same
}

// withoutFalse is a value without what is false in its maps.
func withoutFalse(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if x != false {
				out[k] = withoutFalse(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = withoutFalse(x)
		}
		return out
	}
	return value
}

// differing says what is not as it is wanted, up to a few objects of it.
func differing(want, have objects) string {
	const most = 4
	var out []string
	for _, name := range slices.Sorted(maps.Keys(merge(want, have))) {
		w, wanted := want[name]
		h, has := have[name]
		switch {
		case !has:
			out = append(out, name+" is foreseen, and not there")
		case !wanted:
			out = append(out, name+" is there, and not foreseen")
		default:
			if diff := cmp.Diff(w, h); diff != "" {
				out = append(out, name+" (-foreseen +API server):\n"+diff)
			}
		}
	}
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return strings.Join(out, "\n")
}

func merge(a, b objects) objects {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// became is what has become of objects, by id.
func became(before, after objects) map[string]string {
	out := map[string]string{}
	for name := range merge(before, after) {
		b, was := before[name]
		a, is := after[name]
		switch {
		case !was:
			out[name] = "create"
		case !is:
			out[name] = "remove"
		case !cmp.Equal(b, a):
			out[name] = "change"
		}
	}
	return out
}

// deployments are Applications, and what Flux has in their place, by name.
func deployments(all map[string]string) map[string]string {
	out := map[string]string{}
	for object, action := range all {
		if kind, name, _ := strings.Cut(object, " "); kind == "Application" || kind == "HelmRelease" || kind == "Kustomization" {
			out[name] = action
		}
	}
	return out
}

func toldAll(t testing.TB, all map[string]*unstructured.Unstructured) objects {
	t.Helper()
	out := objects{}
	for name, o := range all {
		out[name] = told(t, o)
	}
	return out
}
