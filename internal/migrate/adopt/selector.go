package adopt

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// staged returns an ApplicationSet that creates only the Applications of some names.
//
// Argo CD matches a generator's selector with each parameter set, and puts no limit on its values.
// Source: argo-cd 2.14.21, applicationset/generators/generator_spec_processor.go, Transform.
func staged(set Tree, names []string) Tree {
	out := withAnnotation(set, markAnnotation, staging)
	out["spec"] = selecting(set["spec"], names)
	return out
}

// restaged returns a live ApplicationSet with other names, and the rest as in the manifest.
func restaged(live, set Tree, names []string) Tree {
	out := withAnnotation(live, markAnnotation, staging)
	out["spec"] = selecting(set["spec"], names)
	return out
}

func selecting(spec any, names []string) Tree {
	values := []any{nothing}
	for _, name := range names {
		values = append(values, name)
	}
	out := manifest.Copy(spec)
	generators, _ := out["generators"].([]any)
	generators = slices.Clone(generators)
	for i, g := range generators {
		generator := manifest.Copy(g)
		selector := manifest.Copy(generator["selector"])
		expressions, _ := selector["matchExpressions"].([]any)
		selector["matchExpressions"] = append(slices.Clone(expressions), Tree{"key": parameter, "operator": "In", "values": values})
		generator["selector"], generators[i] = selector, generator
	}
	out["generators"] = generators
	return out
}

// isStaged reports whether an ApplicationSet has a selector that names Applications.
func isStaged(set Tree) bool {
	return manifest.Text(set, "metadata", "annotations", markAnnotation) == staging
}

// Names returns the names of Applications in an ApplicationSet's selector.
func Names(set Tree) (out []string) {
	generators, _ := manifest.At(set, "spec", "generators").([]any)
	for _, g := range generators {
		expressions, _ := manifest.At(g, "selector", "matchExpressions").([]any)
		for _, e := range expressions {
			if manifest.Text(e, "key") == parameter && isStaged(set) {
				out = append(out, without(manifest.Strings(manifest.At(e, "values")), nothing)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// held returns an ApplicationSet whose deletion deletes nothing, with both finalizers. In reverse
// order, Argo CD 3 would delete the Applications itself.
func held(set Tree) Tree {
	out := manifest.Copy(set)
	all := finalizers(set)
	for _, f := range []string{finalizer, argoFinalizer} {
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	out = withFinalizers(out, all)
	spec := manifest.Copy(out["spec"])
	policy := manifest.Copy(spec["syncPolicy"])
	policy["preserveResourcesOnDeletion"] = true
	spec["syncPolicy"] = policy
	if strategy := manifest.Copy(spec["strategy"]); strategy["deletionOrder"] != nil {
		delete(strategy, "deletionOrder")
		spec["strategy"] = strategy
	}
	if manifest.At(spec, "template", "metadata", "finalizers") != nil {
		template := manifest.Copy(spec["template"])
		metadata := manifest.Copy(template["metadata"])
		delete(metadata, "finalizers")
		template["metadata"], spec["template"] = metadata, template
	}
	out["spec"] = spec
	return out
}
