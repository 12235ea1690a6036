package argocd

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/argoproj/argo-cd/v2/applicationset/utils"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// newer lists the fields of an Application's spec that Argo CD added after 2.14, whose types drop
// them. newerOfSource lists the added fields of each of its sources.
//
// Source: argo-cd v3.2.11, pkg/apis/application/v1alpha1/types.go.
var (
	newer = [][]string{
		{"syncPolicy", "automated", "enabled"},
		{"syncPolicy", "retry", "refresh"},
		{"source", "kustomize", "ignoreMissingComponents"},
		{"source", "kustomize", "labelIncludeTemplates"},
	}
	newerOfSource = [][]string{{"kustomize", "ignoreMissingComponents"}, {"kustomize", "labelIncludeTemplates"}}
)

// made is an ApplicationSet with the specs of its templates as they are written.
type made struct {
	*v1alpha1.ApplicationSet
	specs []any
}

// specsOf returns the specs of an ApplicationSet's template, and of the template of one of its
// generators. Argo CD merges the latter over the former.
func specsOf(tree manifest.Tree, generator int) []any {
	out := []any{manifest.At(tree, "spec", "template", "spec")}
	generators, _ := manifest.At(tree, "spec", "generators").([]any)
	if generator >= len(generators) {
		return out
	}
	kinds, _ := generators[generator].(manifest.Tree)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if own := manifest.At(kinds[kind], "template", "spec"); own != nil {
			out = append(out, own)
		}
	}
	return out
}

// addNewer puts the newer fields of specs into an Application. Later specs win.
func addNewer(app manifest.Tree, specs ...any) {
	spec, _ := app["spec"].(manifest.Tree)
	for _, path := range newer {
		put(spec, path, newest(specs, path))
	}
	given, _ := newest(specs, []string{"sources"}).([]any)
	sources, _ := spec["sources"].([]any)
	for i := range min(len(sources), len(given)) {
		source, _ := sources[i].(manifest.Tree)
		for _, path := range newerOfSource {
			put(source, path, newest(given[i:i+1], path))
		}
	}
}

// newest returns the value at a path of the last spec that has one; null removes it.
func newest(specs []any, path []string) (value any) {
	for _, spec := range specs {
		for i, key := range path {
			fields, _ := spec.(manifest.Tree)
			below, has := fields[key]
			if !has {
				break
			}
			if spec = below; below == nil || i == len(path)-1 {
				value = below
			}
		}
	}
	return value
}

// put sets a value that is not the field's default: only automated sync is enabled by default.
func put(tree manifest.Tree, path []string, value any) {
	last := len(path) - 1
	if tree == nil || value != (path[last] != "enabled") {
		return
	}
	for _, key := range path[:last] {
		below, is := tree[key].(manifest.Tree)
		if !is {
			below = manifest.Tree{}
			tree[key] = below
		}
		tree = below
	}
	tree[path[last]] = value
}

// patched returns the spec of a rendered templatePatch, or nil for none.
func patched(patch string) any {
	if patch == "" {
		return nil
	}
	var tree manifest.Tree
	text, err := utils.ConvertYAMLToJSON(patch)
	if err != nil || json.Unmarshal([]byte(text), &tree) != nil {
		return nil
	}
	return tree["spec"]
}
