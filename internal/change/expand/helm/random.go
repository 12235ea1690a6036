package helm

import (
	"reflect"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Random replaces a text that differs each time a chart is rendered.
const Random = "(random)"

// withoutRandom returns the objects of a rendering, with Random wherever a second rendering
// differs. If the two have different objects, it returns the first unchanged.
func withoutRandom(once, again []manifest.Manifest) []manifest.Manifest {
	if len(once) != len(again) {
		return once
	}
	out := make([]manifest.Manifest, len(once))
	for i, m := range once {
		out[i] = m
		if reflect.DeepEqual(m.Tree, again[i].Tree) {
			continue
		}
		if tree, ok := masked(m.Tree, again[i].Tree).(map[string]any); ok {
			out[i] = manifest.New(m.Template, tree, m.Size)
		}
	}
	return out
}

func masked(a, b any) any {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return Random
		}
		out := make(map[string]any, len(x))
		for k, v := range x {
			other, both := y[k]
			if !both {
				out[k] = Random
				continue
			}
			out[k] = masked(v, other)
		}
		return out
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return Random
		}
		out := make([]any, len(x))
		for i := range x {
			out[i] = masked(x[i], y[i])
		}
		return out
	}
	if reflect.DeepEqual(a, b) {
		return a
	}
	return Random
}
