package plancheck

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

// objects are normalized objects by id.
type objects map[string]map[string]any

// id names an object.
func id(kind, name string) string { return kind + " " + name }

// others are the keys that other controllers set, by the part of the metadata.
var others = map[string][]string{
	"annotations": {
		"argocd.argoproj.io/refresh",                 // requests a comparison, until Argo CD ran it
		"argocd.argoproj.io/application-set-refresh", // requests a reconciliation, until Argo CD ran it
		"argosy.dev/refreshed-at",                    // the service, when it requests one
		"argosy.dev/digest",                          // the service's parameter set, which plan does without
		"argocd.argoproj.io/tracking-id",             // Argo CD 3, onto what an Application makes
		"reconcile.fluxcd.io/requestedAt",            // the digest, until somebody requests a reconciliation
		"meta.helm.sh/release-name",                  // Helm, onto what `helm install` makes
		"meta.helm.sh/release-namespace",             // the same
	},
	"labels": {
		"app.kubernetes.io/instance",            // Argo CD 2, onto what an Application makes
		"kustomize.toolkit.fluxcd.io/name",      // Flux, onto what a Kustomization makes
		"kustomize.toolkit.fluxcd.io/namespace", // the same
	},
}

// Normalized returns what the maker of an object declares. It drops the status, a running
// operation, the metadata that Kubernetes sets (uid, resourceVersion, generation,
// creationTimestamp, managedFields), ownerReferences, which need a uid, and what other controllers
// add.
func Normalized(t testing.TB, o *unstructured.Unstructured) map[string]any {
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
		out["spec"] = withoutNothing(automatedOrNot(out["spec"]))
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

// heldByBudget returns an Application as the removal budget keeps it: its annotation says so.
func heldByBudget(application map[string]any) map[string]any {
	out := (&unstructured.Unstructured{Object: application}).DeepCopy()
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["argosy.dev/hold"] = "removal"
	out.SetAnnotations(annotations)
	return out.Object
}

// automatedOrNot returns a spec without an automated policy that is switched off, as Argo CD 3.5
// does where 2.14 and 3.2 remove it: while an ApplicationSet syncs in steps.
func automatedOrNot(spec any) any {
	if enabled, found, err := unstructured.NestedBool(map[string]any{"spec": spec}, "spec", "syncPolicy", "automated", "enabled"); err != nil || !found || enabled {
		return spec
	}
	out := map[string]any{"spec": spec}
	out = (&unstructured.Unstructured{Object: out}).DeepCopy().Object
	unstructured.RemoveNestedField(out, "spec", "syncPolicy", "automated")
	return out["spec"]
}

// withoutNothing returns a value without the entries of its maps that are false, and without an
// empty jsonnet, which 2.14 and 3.2 write for each folder, and 3.5 leaves out.
func withoutNothing(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if empty, isMap := x.(map[string]any); x != false && (k != "jsonnet" || !isMap || len(empty) > 0) {
				out[k] = withoutNothing(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = withoutNothing(x)
		}
		return out
	}
	return value
}

// wasThere reports whether somebody else made an object before Flux, which leaves such a one as it
// is where its annotation says so.
func wasThere(declared, live map[string]any) bool {
	annotation := func(object map[string]any) string {
		text, _, _ := unstructured.NestedString(object, "metadata", "annotations", "kustomize.toolkit.fluxcd.io/ssa")
		return text
	}
	return annotation(declared) == "IfNotPresent" && annotation(live) == ""
}

// differing describes the first few objects that differ.
func differing(want, have objects) string {
	const most = 4
	var out []string
	for _, name := range slices.Sorted(maps.Keys(merge(want, have))) {
		w, wanted := want[name]
		h, has := have[name]
		switch {
		case !has:
			out = append(out, name+" is declared, and not live")
		case !wanted:
			out = append(out, name+" is live, and not declared")
		case wasThere(w, h):
		default:
			if diff := cmp.Diff(w, h); diff != "" {
				out = append(out, name+" (-declared +API server):\n"+diff)
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

// changes returns what happened to each object, by id: create, change or remove.
func changes(before, after objects) map[string]string {
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

// deployments selects Applications, HelmReleases and Kustomizations, by name.
func deployments(all map[string]string) map[string]string {
	out := map[string]string{}
	for object, action := range all {
		if kind, name, _ := strings.Cut(object, " "); kind == "Application" || kind == "HelmRelease" || kind == "Kustomization" {
			out[name] = action
		}
	}
	return out
}

func normalizedAll(t testing.TB, all map[string]*unstructured.Unstructured) objects {
	t.Helper()
	out := objects{}
	for name, o := range all {
		out[name] = Normalized(t, o)
	}
	return out
}
