package tmpl

import "maps"

// Facts are the data of the templates in a cluster's files.
type Facts map[string]any

// Lazy returns a function that makes the facts With a group, its root and a component at its first
// call.
func (f Facts) Lazy(group, component, root string) func() any {
	var out map[string]any
	return func() any {
		if out == nil {
			out = f.With(group, component, root)
		}
		return out
	}
}

// With returns the facts with a group, its root and a component.
func (f Facts) With(group, component, root string) map[string]any {
	out := make(map[string]any, len(f)+3)
	maps.Copy(out, f)
	out["group"], out["component"], out["root"] = group, component, root
	return out
}

// WithLabels returns the facts with other labels and annotations.
func (f Facts) WithLabels(labels, annotations map[string]string) Facts {
	out := make(Facts, len(f)+3)
	maps.Copy(out, f)
	l, a := AnyMap(labels), AnyMap(annotations)
	out["labels"], out["annotations"] = l, a
	out["metadata"] = map[string]any{"labels": l, "annotations": a}
	return out
}

// AnyMap converts a map to the type that sprig's functions (get, dig, hasKey) take.
func AnyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
