package expand

// Steps are those in which Argo CD syncs what an ApplicationSet makes: none without the strategy RollingSync, or for any other object.
// It is taken for granted that the engine's progressive syncs are enabled (--enable-progressive-syncs).
//
// Source: argo-cd 2.14 and 3.2, applicationset_controller.go, progressiveSyncsRollingSyncStrategyEnabled.
func (o *Object) Steps() []any {
	if !o.IsSet() || text(o.Tree, "spec", "strategy", "type") != "RollingSync" {
		return nil
	}
	steps, _ := At(o.Tree, "spec", "strategy", "rollingSync", "steps").([]any)
	return steps
}

// inSteps is an Application as Argo CD makes it of what the template says, where it syncs in steps: without the automated sync,
// which it does itself, pruning if that was said (syncValidApplications, ibid.).
func inSteps(rendered Tree) Tree {
	policy, _ := At(rendered, "spec", "syncPolicy").(Tree)
	if policy["automated"] == nil {
		return rendered
	}
	tree, spec, without := copyOf(rendered), copyOf(rendered["spec"]), copyOf(policy)
	delete(without, "automated")
	spec["syncPolicy"], tree["spec"] = without, spec
	return tree
}

// unsteered is an Application as the template says, which is how it would be if nothing synced it in steps.
func (o *Object) unsteered() *Object {
	if o.template == nil {
		return o
	}
	return &Object{Engine: o.Engine, Tree: o.template, Parent: o.Parent, Pos: o.Pos, Parameters: o.Parameters}
}
