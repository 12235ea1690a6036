package object

import (
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Steps are the rollout steps in which Argo CD syncs an ApplicationSet's Applications: none
// without the strategy RollingSync, or for any other object. Steps assumes progressive syncs to be
// enabled (--enable-progressive-syncs).
//
// Source: argo-cd 2.14 and 3.2, applicationset_controller.go,
// progressiveSyncsRollingSyncStrategyEnabled.
func (o *Object) Steps() []any {
	if !o.IsSet() || manifest.Text(o.Tree, "spec", "strategy", "type") != "RollingSync" {
		return nil
	}
	steps, _ := manifest.At(o.Tree, "spec", "strategy", "rollingSync", "steps").([]any)
	return steps
}

// InSteps is an Application of a template as Argo CD makes it where it syncs in steps: without the
// automated sync, which Argo CD does itself, pruning if the template says so
// (syncValidApplications, ibid.). Argo CD 3.5 keeps the policy and switches it off instead
// (disableAutomatedSync), which is the same to the Application.
func InSteps(rendered manifest.Tree) manifest.Tree {
	policy, _ := manifest.At(rendered, "spec", "syncPolicy").(manifest.Tree)
	if policy["automated"] == nil {
		return rendered
	}
	tree, spec, without := manifest.Copy(rendered), manifest.Copy(rendered["spec"]), manifest.Copy(policy)
	delete(without, "automated")
	spec["syncPolicy"], tree["spec"] = without, spec
	return tree
}

// Unsteered is an Application as its template says: as it would be without steps.
func (o *Object) Unsteered() *Object {
	if o.Template == nil {
		return o
	}
	return &Object{Engine: o.Engine, Tree: o.Template, Parent: o.Parent, Pos: o.Pos, Parameters: o.Parameters}
}

// digestAnnotation has the digest of an Application's parameter set (internal/fleet/facts).
const digestAnnotation = "argosy.dev/digest"

// WithoutDigest is an Application without the digest of its parameter set, which repeats what else
// is in it, and counts where the plugin is asked alone.
func (o *Object) WithoutDigest() *Object {
	metadata, _ := o.Tree["metadata"].(manifest.Tree)
	annotations, _ := metadata["annotations"].(manifest.Tree)
	if _, has := annotations[digestAnnotation]; !has || !o.Application() {
		return o
	}
	out := *o
	out.digest, out.Sum = "", nil
	out.Tree, metadata, annotations = manifest.Copy(o.Tree), manifest.Copy(metadata), manifest.Copy(annotations)
	if delete(annotations, digestAnnotation); len(annotations) == 0 {
		delete(metadata, "annotations")
	} else {
		metadata["annotations"] = annotations
	}
	out.Tree["metadata"] = metadata
	return &out
}
