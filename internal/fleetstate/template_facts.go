package fleetstate

import "maps"

// templateFacts are the facts as templates see them.
type templateFacts map[string]any

// lazy are the facts with the group and component that are being computed, put together when they
// are first needed.
func (f templateFacts) lazy(g *Group, component string) func() any {
	var out map[string]any
	return func() any {
		if out == nil {
			out = f.with(g.Name, component, g.Root)
		}
		return out
	}
}

// with are the facts with a group, component and root.
func (f templateFacts) with(group, component, root string) map[string]any {
	out := make(map[string]any, len(f)+3)
	maps.Copy(out, f)
	out["group"], out["component"], out["root"] = group, component, root
	return out
}

// withLabels are the facts with other labels and annotations.
func (f templateFacts) withLabels(labels, annotations map[string]string) templateFacts {
	out := make(templateFacts, len(f)+3)
	maps.Copy(out, f)
	l, a := AnyMap(labels), AnyMap(annotations)
	out["labels"], out["annotations"] = l, a
	out["metadata"] = map[string]any{"labels": l, "annotations": a}
	return out
}

// AnyMap is a map as sprig's functions (get, dig, hasKey) take it.
func AnyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
