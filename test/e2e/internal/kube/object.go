package kube

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Controller is the name of what controls an object, empty if nothing does.
func Controller(o *unstructured.Unstructured) string {
	for _, ref := range o.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller {
			return ref.Name
		}
	}
	return ""
}

// Substance is a value without what is empty or false in its maps.
func Substance(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if x = Substance(x); x != nil && x != false && x != "" && !reflect.DeepEqual(x, map[string]any{}) {
				out[k] = x
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = Substance(x)
		}
		return out
	}
	return value
}
