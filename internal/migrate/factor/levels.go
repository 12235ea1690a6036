package factor

import (
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// Tree is a map of values as encoding/json decodes it.
type Tree = map[string]any

// Place says which folders may hold a cluster's values: one for each level, least specific first;
// empty where the cluster has no such level. The last folder is the cluster's own.
type Place struct {
	Cluster string
	Folders []string
}

// ByLevel writes the values of clusters as few times as possible: what all clusters below a folder
// have in common is only in that folder. It returns the values by folder. Merged along a cluster's
// folders they are the cluster's own values again. No two folders of one cluster hold the same
// leaf, except for exceptions of a few clusters.
func ByLevel(places []Place, values map[string]Tree) map[string]Tree {
	out := map[string]Tree{}
	rest := maps.Clone(values)
	levels := 0
	for _, p := range places {
		levels = max(levels, len(p.Folders))
	}
	for level := range levels {
		below := map[string][]string{} // clusters by folder
		for _, p := range places {
			if _, runs := values[p.Cluster]; runs && level < len(p.Folders) && p.Folders[level] != "" {
				below[p.Folders[level]] = append(below[p.Folders[level]], p.Cluster)
			}
		}
		for folder, clusters := range below {
			all := make([]Tree, len(clusters))
			for i, c := range clusters {
				all[i] = rest[c]
			}
			last := level == levels-1
			own := ""
			if len(clusters) == 1 && !last {
				own = clusters[0]
			}
			shared := common(all, own, level > 0 && level == levels-2)
			if len(shared) == 0 {
				continue
			}
			out[folder] = shared
			for _, c := range clusters {
				rest[c] = without(rest[c], shared)
			}
		}
	}
	return out
}

// common returns the leaves that are equal in all trees. With exceptions, it adds the value of more
// than half where all have a leaf. Texts that contain the cluster's own name are left out.
func common(all []Tree, own string, exceptions bool) Tree {
	out := Tree{}
	for _, key := range slices.Sorted(maps.Keys(all[0])) {
		var values []any
		var maps []Tree
		for _, t := range all {
			v, ok := t[key]
			if !ok {
				break
			}
			values = append(values, v)
			if m, ok := v.(Tree); ok && len(m) > 0 {
				maps = append(maps, m)
			}
		}
		switch {
		case len(values) < len(all):
		case len(maps) == len(all):
			if below := common(maps, own, exceptions); len(below) > 0 {
				out[key] = below
			}
		case len(maps) > 0:
		default:
			v, count := mostFrequent(values)
			if count == len(all) || exceptions && 2*count > len(all) && len(all) > 2 {
				if own == "" || !strings.Contains(string(manifest.Canonical(v)), own) {
					out[key] = v
				}
			}
		}
	}
	return out
}

// mostFrequent returns the value that most have, the first of several.
func mostFrequent(values []any) (value any, count int) {
	counts := map[string]int{}
	for _, v := range values {
		counts[string(manifest.Canonical(v))]++
	}
	for _, v := range values {
		if n := counts[string(manifest.Canonical(v))]; n > count {
			value, count = v, n
		}
	}
	return value, count
}

// without returns a tree without the leaves that are equal in another tree.
func without(t, shared Tree) Tree {
	out := Tree{}
	for key, v := range t {
		s, both := shared[key]
		if !both {
			out[key] = v
			continue
		}
		below, isMap := v.(Tree)
		over, isSharedMap := s.(Tree)
		if isMap && isSharedMap && len(below) > 0 && len(over) > 0 {
			if left := without(below, over); len(left) > 0 {
				out[key] = left
			}
			continue
		}
		if !verify.Equal(v, s) {
			out[key] = v
		}
	}
	return out
}

// Overlay returns a tree with another one over it, as Helm merges value files.
func Overlay(t, over Tree) Tree {
	out := maps.Clone(t)
	if out == nil {
		out = Tree{}
	}
	for key, v := range over {
		below, isMap := out[key].(Tree)
		above, areMaps := v.(Tree)
		if isMap && areMaps {
			out[key] = Overlay(below, above)
		} else {
			out[key] = v
		}
	}
	return out
}
