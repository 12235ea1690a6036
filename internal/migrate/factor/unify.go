package factor

import (
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// Unify returns what trees of clusters have in common, and the rest of each. Texts that differ
// become one template, where facts explain them, or isOneTemplate holds for their path.
func (c Clusters) Unify(of map[string]any, isOneTemplate func(path []string) bool) (shared any, rest map[string]any) {
	return unifier{c, isOneTemplate}.unify(nil, of)
}

// unifier walks through trees of clusters.
type unifier struct {
	Clusters
	isOneTemplate func(path []string) bool
}

// unify returns what the values of clusters at a path have in common, and the rest of each.
func (u unifier) unify(at []string, of map[string]any) (shared any, rest map[string]any) {
	clusters := slices.Sorted(maps.Keys(of))
	if len(clusters) == 0 {
		return nil, nil
	}
	first := of[clusters[0]]
	texts, trees, lists := map[string]string{}, map[string]Tree{}, map[string][]any{}
	same := true
	for _, cluster := range clusters {
		same = same && verify.Equal(of[cluster], first)
		switch v := of[cluster].(type) {
		case string:
			texts[cluster] = v
		case Tree:
			trees[cluster] = v
		case []any:
			lists[cluster] = v
		}
	}
	switch {
	case same && (len(clusters) > 1 || len(texts)+len(trees)+len(lists) == 0):
		return first, nil
	case len(texts) == len(clusters):
		if text, ok := u.unescapedPhrase(texts); ok {
			return text, nil
		}
		if same {
			return first, nil
		}
		if u.isOneTemplate(at) {
			return u.Conditional(texts, func(s string) string { return s }), nil
		}
	case len(trees) == len(clusters):
		return u.unifyTrees(at, clusters, trees)
	case len(lists) == len(clusters):
		if items, ok := u.unifyLists(at, clusters, lists); ok {
			return items, nil
		}
	}
	return nil, of
}

// unescapedPhrase returns a phrase of texts that are escaped already.
func (c Clusters) unescapedPhrase(texts map[string]string) (string, bool) {
	for _, text := range texts {
		if strings.Contains(text, "{{") {
			return "", false
		}
	}
	return c.Phrase(texts)
}

func (u unifier) unifyTrees(at, clusters []string, trees map[string]Tree) (shared any, rest map[string]any) {
	out, left := Tree{}, map[string]Tree{}
	keys := map[string]bool{}
	for _, t := range trees {
		for key := range t {
			keys[key] = true
		}
	}
	leave := func(cluster, key string, v any) {
		if left[cluster] == nil {
			left[cluster] = Tree{}
		}
		left[cluster][key] = v
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		below := map[string]any{}
		for _, cluster := range clusters {
			if v, ok := trees[cluster][key]; ok {
				below[cluster] = v
			}
		}
		if len(below) < len(clusters) {
			for cluster, v := range below {
				leave(cluster, key, v)
			}
			continue
		}
		v, more := u.unify(append(slices.Clip(at), key), below)
		if v != nil || len(more) == 0 { // null is a value, too
			out[key] = v
		}
		for cluster, v := range more {
			leave(cluster, key, v)
		}
	}
	rest = map[string]any{}
	for cluster, t := range left {
		rest[cluster] = t
	}
	return out, rest
}

// unifyLists unifies lists item by item; a patch could only replace them as a whole.
func (u unifier) unifyLists(at, clusters []string, lists map[string][]any) ([]any, bool) {
	out := []any{}
	for i := range lists[clusters[0]] {
		below := map[string]any{}
		for _, cluster := range clusters {
			if len(lists[cluster]) != len(lists[clusters[0]]) {
				return nil, false
			}
			below[cluster] = lists[cluster][i]
		}
		v, rest := u.unify(append(slices.Clip(at), "-"), below)
		if len(rest) > 0 {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}
