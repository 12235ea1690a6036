package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// ClusterLabels returns what the first cluster generator of an ApplicationSet selects; nil without
// one.
func ClusterLabels(applicationSet manifest.Tree) (labels manifest.Tree) {
	var find func(v any)
	find = func(v any) {
		generators, _ := v.([]any)
		for _, g := range generators {
			if body := manifest.At(g, "clusters"); body != nil && labels == nil {
				labels = manifest.Copy(manifest.At(body, "selector", "matchLabels"))
			}
			find(manifest.At(g, "matrix", "generators"))
			find(manifest.At(g, "merge", "generators"))
		}
	}
	find(manifest.At(applicationSet, "spec", "generators"))
	return labels
}

// ClusterFlags returns the flags of argosy plan for a cluster that an ApplicationSet selects, after
// a space.
func ClusterFlags(applicationSet manifest.Tree) (out string) {
	labels := ClusterLabels(applicationSet)
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out += fmt.Sprintf(" --cluster NAME=%s=%v", k, labels[k])
	}
	return cmp.Or(out, " --cluster NAME")
}
