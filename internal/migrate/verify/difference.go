package verify

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Difference is a field that differs between two Applications. A nil side lacks it.
type Difference struct {
	Path       []string
	Ours, Live any
}

// Differences returns the differences of two normal forms, sorted by path. They end at fields that
// one side lacks.
func Differences(ours, live Application) []Difference {
	return differences([]string{"spec"}, ours.Spec, live.Spec)
}

func differences(at []string, a, b any) []Difference {
	at = slices.Clip(at)
	x, isMap := a.(manifest.Tree)
	y, areMaps := b.(manifest.Tree)
	if isMap && areMaps {
		var out []Difference
		keys := slices.Collect(maps.Keys(x))
		for key := range y {
			if _, both := x[key]; !both {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			p, inX := x[key]
			q, inY := y[key]
			switch {
			case inX != inY && (p == nil && q == nil): // null and nothing: Helm drops a default only for null
				out = append(out, Difference{append(at, key), shownNull(inX), shownNull(inY)})
			default:
				out = append(out, differences(append(at, key), p, q)...)
			}
		}
		return out
	}
	s, isList := a.([]any)
	t, areLists := b.([]any)
	if isList && areLists && len(s) == len(t) {
		var out []Difference
		for i := range s {
			out = append(out, differences(append(at, strconv.Itoa(i)), s[i], t[i])...)
		}
		return out
	}
	if Equal(a, b) {
		return nil
	}
	return []Difference{{at, a, b}}
}

func shownNull(there bool) any {
	if there {
		return "null"
	}
	return nil
}

// Equal reports whether two values are the same as JSON.
func Equal(a, b any) bool {
	if s, is := a.(string); is { // the most, and fast
		if t, are := b.(string); are {
			return s == t
		}
	}
	return bytes.Equal(manifest.Canonical(a), manifest.Canonical(b))
}
