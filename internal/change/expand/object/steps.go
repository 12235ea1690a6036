package object

import (
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Steps returns the rollout steps in which Argo CD syncs an ApplicationSet's Applications. It
// returns none without the strategy RollingSync, or for any other object. Steps assumes that
// progressive syncs are enabled (--enable-progressive-syncs).
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

// InSteps returns a rendered Application as Argo CD makes it where it syncs in steps: without the
// automated sync. Argo CD then syncs itself, and prunes if the template says so
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

// Unsteered returns an Application as its template renders it: as it would be without steps.
func (o *Object) Unsteered() *Object {
	if o.Template == nil {
		return o
	}
	return &Object{Engine: o.Engine, Tree: o.Template, Parent: o.Parent, Pos: o.Pos, Parameters: o.Parameters}
}

// digestAnnotation holds the digest of an Application's parameter set (internal/fleet/facts).
const digestAnnotation = "argosy.dev/digest"

// WithoutDigest returns an Application without the digest of its parameter set. The digest repeats
// the Application's other contents, and only the plugin needs it.
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
