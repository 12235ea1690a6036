package importer

import (
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/expand/manifest"
	"github.com/argosy-hub/argosy/internal/verify"
)

// tree is a map of values as encoding/json decodes it.
type tree = map[string]any

// place says where a cluster's values may stand: a folder for each level, least specific first;
// empty where the cluster has no such level. The last folder is the cluster's own.
type place struct {
	cluster string
	folders []string
}

// factor writes the values of clusters as few times as possible: what all clusters below a folder
// have in common stands there alone. It returns the values by folder. Merged along a cluster's
// folders they are the cluster's own values again, because no two folders of one cluster hold the
// same leaf, but for exceptions (rule 5).
func factor(places []place, values map[string]tree) map[string]tree {
	out := map[string]tree{}
	rest := maps.Clone(values)
	levels := 0
	for _, p := range places {
		levels = max(levels, len(p.folders))
	}
	for level := range levels {
		below := map[string][]string{} // clusters by folder
		for _, p := range places {
			if _, runs := values[p.cluster]; runs && level < len(p.folders) && p.folders[level] != "" {
				below[p.folders[level]] = append(below[p.folders[level]], p.cluster)
			}
		}
		for folder, clusters := range below {
			all := make([]tree, len(clusters))
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

// common are the leaves that all trees have alike. With exceptions it is also what most of them
// have where all have a leaf. Texts that name the cluster own are none.
func common(all []tree, own string, exceptions bool) tree {
	out := tree{}
	for _, key := range slices.Sorted(maps.Keys(all[0])) {
		var values []any
		var maps []tree
		for _, t := range all {
			v, ok := t[key]
			if !ok {
				break
			}
			values = append(values, v)
			if m, ok := v.(tree); ok && len(m) > 0 {
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

// mostFrequent is the value that most have, the first of several.
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

// without is a tree without the leaves that another one has alike.
func without(t, shared tree) tree {
	out := tree{}
	for key, v := range t {
		s, both := shared[key]
		if !both {
			out[key] = v
			continue
		}
		below, isMap := v.(tree)
		over, isSharedMap := s.(tree)
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

// overlay is a tree with another one over it, as Helm merges value files.
func overlay(t, over tree) tree {
	out := maps.Clone(t)
	if out == nil {
		out = tree{}
	}
	for key, v := range over {
		below, isMap := out[key].(tree)
		above, areMaps := v.(tree)
		if isMap && areMaps {
			out[key] = overlay(below, above)
		} else {
			out[key] = v
		}
	}
	return out
}
