package adopt

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// The kinds that a handover reads and writes.
const (
	kindApplication    = "Application"
	kindApplicationSet = "ApplicationSet"
	kindRecord         = "ConfigMap"
)

const (
	// finalizer keeps a deleted ApplicationSet until it owns nothing.
	finalizer = "argosy.dev/adopt"
	// argoFinalizer is Argo CD's. On an Application, it deletes the workloads. On an
	// ApplicationSet, the controller removes it at the deletion, and does nothing else for it.
	//
	// Source: argo-cd 2.14.21, 3.2.11 and 3.5.7, applicationset_controller.go, Reconcile.
	argoFinalizer = "resources-finalizer.argocd.argoproj.io"
	// skipAnnotation makes Argo CD's application controller leave an Application alone. An
	// ApplicationSet that takes the Application over removes it, as any annotation but its own.
	//
	// Source: argo-cd 2.14.21 and 3.5.7, controller/appcontroller.go, canProcessApp.
	skipAnnotation = "argocd.argoproj.io/skip-reconcile"
	// namesAnnotation is on an ApplicationSet whose selector names Applications, with their digest.
	namesAnnotation = "argosy.dev/adopt"
	// parameter is the parameter that the selector compares with names.
	parameter = "applicationName"
)

// Verbs of actions.
const (
	verbCreate = "create"
	verbUpdate = "update" // of the version that Object has
	verbDelete = "delete" // of the version that Object has; its dependents stay
)

// Action is one write.
type Action struct {
	Verb   string
	Object *Object
}

// Step is the next thing to do or to wait for. A step without both is the end.
type Step struct {
	Name    string
	Actions []Action
	Waits   []string
}

func (s *Step) act(verb string, o *Object) { s.Actions = append(s.Actions, Action{verb, o}) }

func (s *Step) wait(format string, args ...any) {
	s.Waits = append(s.Waits, fmt.Sprintf(format, args...))
}

// IsEnd reports whether there is nothing left.
func (s *Step) IsEnd() bool { return len(s.Actions)+len(s.Waits) == 0 }

// Observed is the state of the cluster: objects by name.
type Observed struct{ Sets, Applications map[string]*Object }

// The steps of a handover.
const (
	stepAnnounce = "announce"
	stepOrphan   = "orphan"
	stepRelease  = "release"
	stepTake     = "take"
	stepDelete   = "delete"
)

// Next returns the first step that is not done.
func Next(r *Record, o Observed) Step {
	h := handover{o, r, r.moves()}
	for _, s := range []struct {
		name string
		do   func(*Step)
	}{
		{stepRelease, h.release}, // of a run in the other direction, too
		{stepAnnounce, h.announce},
		{stepOrphan, h.orphan},
		{stepTake, h.take},
		{stepDelete, h.delete},
	} {
		step := Step{Name: s.name}
		if s.do(&step); !step.IsEnd() {
			return step
		}
	}
	return Step{}
}

// handover is a record in its direction, with the state of the cluster.
type handover struct {
	Observed
	record *Record
	moves  []move
}

// move is an Application in the direction of the handover, with the ApplicationSet that gets it.
type move struct{ from, to, taker string }

func (m move) isRenamed() bool { return m.from != m.to }

// moves also has the other Applications of the fleet's ApplicationSets: one that is made again
// takes them over.
func (r *Record) moves() (out []move) {
	for _, p := range r.Applications {
		if r.Undo {
			out = append(out, move{p.New, p.Old, r.Name()})
		} else {
			out = append(out, move{p.Old, p.New, p.Set})
		}
	}
	for _, s := range r.New {
		for _, name := range s.Others {
			out = append(out, move{name, name, s.Manifest.GetName()})
		}
	}
	return out
}

// takers are the ApplicationSets that get or keep Applications, as they are at the end.
func (h *handover) takers() (out []*Object) {
	for _, s := range h.record.New {
		var names []string
		for _, m := range h.moves {
			if m.taker == s.Manifest.GetName() {
				names = append(names, m.to)
			}
		}
		if len(names) > 0 {
			out = append(out, s.naming(names))
		}
	}
	if h.record.Undo {
		out = append(out, h.record.Old)
	}
	return out
}

// naming returns an ApplicationSet that creates the Applications of some names: as it is in Git,
// if these are all.
//
// Argo CD matches a generator's selector with each parameter set, and puts no limit on its values.
// Source: argo-cd 2.14.21, applicationset/generators/generator_spec_processor.go, Transform.
func (s *Set) naming(names []string) *Object {
	out := s.Manifest.DeepCopy()
	if sets.New(names...).HasAll(s.All...) {
		return out
	}
	slices.Sort(names)
	values := []any{"-"} // a list must not be empty, and no Application has this name
	for _, name := range names {
		values = append(values, name)
	}
	generators, _, _ := unstructured.NestedSlice(out.Object, "spec", "generators")
	for _, g := range generators {
		generator, _ := g.(map[string]any)
		expressions, _, _ := unstructured.NestedSlice(generator, "selector", "matchExpressions")
		expressions = append(expressions, map[string]any{"key": parameter, "operator": "In", "values": values})
		_ = unstructured.SetNestedSlice(generator, expressions, "selector", "matchExpressions")
	}
	_ = unstructured.SetNestedSlice(out.Object, generators, "spec", "generators")
	_ = unstructured.SetNestedField(out.Object, manifest.Digest(names), "metadata", "annotations", namesAnnotation)
	return out
}

// announce creates the new ApplicationSets without any of the Applications.
func (h *handover) announce(s *Step) {
	for _, n := range h.record.New {
		set := h.Sets[n.Manifest.GetName()]
		_, isGenerating := conditions(set)["ParametersGenerated"]
		switch {
		case h.record.Undo:
		case set == nil:
			s.act(verbCreate, n.naming(slices.Clone(n.Others)))
		case !isGenerating:
			s.wait("ApplicationSet %q has no parameters%s", set.GetName(), because(set))
		}
	}
}

// orphan deletes the ApplicationSets that give Applications, with the finalizers that keep them
// until release is done with them. Before, it removes the finalizers by which Argo CD would delete
// workloads, in case someone removes the ApplicationSet's finalizers.
func (h *handover) orphan(s *Step) {
	givers, takers, known := []string{h.record.Name()}, h.takers(), sets.New[string]()
	if h.record.Undo {
		givers = h.record.names()
	}
	for _, m := range h.moves {
		known.Insert(m.from)
	}
	for _, name := range givers {
		set := h.Sets[name]
		if set == nil || slices.ContainsFunc(takers, func(t *Object) bool { return t.GetName() == name && isNaming(set, t) }) {
			continue // it is gone, or was made again for the Applications that it keeps
		}
		if held := hold(set); !equality.Semantic.DeepEqual(held, set) {
			s.act(verbUpdate, held)
			continue
		}
		before := len(s.Actions) + len(s.Waits)
		for _, app := range h.owned(set) {
			safe := without(app, func(f string) bool { return isArgo(f) && !strings.Contains(f, "-delete-finalizer.") }) // Argo CD would add a hook's again
			switch {
			case !known.Has(app.GetName()):
				s.wait("Application %q has come since the handover began: --undo, and begin again", app.GetName())
			case len(safe.GetFinalizers()) < len(app.GetFinalizers()):
				s.act(verbUpdate, safe)
			}
		}
		if len(s.Actions)+len(s.Waits) == before {
			s.act(verbDelete, set)
		}
	}
}

// release takes the owner from the Applications of ApplicationSets that are being deleted. Argo
// CD's controller removes its own finalizer when it sees the deletion. Then no earlier
// reconciliation is running that would make the ApplicationSet an owner again.
func (h *handover) release(s *Step) {
	for _, name := range append(h.record.names(), h.record.Name()) {
		set := h.Sets[name]
		switch {
		case set == nil || set.GetDeletionTimestamp() == nil:
			continue
		case !isHeld(set):
			s.wait("ApplicationSet %q is being deleted; its finalizers are %s", name, strings.Join(set.GetFinalizers(), ", "))
			continue
		case slices.Contains(set.GetFinalizers(), argoFinalizer):
			s.wait("Argo CD's ApplicationSet controller has not seen the deletion of ApplicationSet %q%s", name, because(set))
			continue
		}
		owned := h.owned(set)
		for _, app := range owned {
			out := app.DeepCopy()
			out.SetOwnerReferences(nil)
			s.act(verbUpdate, out)
		}
		if len(owned) == 0 {
			s.act(verbUpdate, without(set, func(f string) bool { return f == finalizer }))
		}
	}
	if !s.IsEnd() {
		return
	}
	for _, m := range h.moves { // of two Applications for the same objects, one must not sync
		app := h.Applications[m.from]
		if !m.isRenamed() || app == nil || metav1.GetControllerOf(app) != nil {
			continue
		}
		if phase := manifest.Text(app.Object, "status", "operationState", "phase"); app.Object["operation"] != nil || phase == "Running" {
			s.wait("Application %q is syncing", m.from) // one that began before may still
			continue
		}
		if app.GetAnnotations()[skipAnnotation] == "true" {
			continue
		}
		out := app.DeepCopy()
		_ = unstructured.SetNestedField(out.Object, "true", "metadata", "annotations", skipAnnotation)
		s.act(verbUpdate, out)
	}
}

// take lets the ApplicationSets take over the Applications.
func (h *handover) take(s *Step) {
	for _, m := range h.moves { // two Applications for the same objects would both sync
		if app := h.Applications[m.from]; m.isRenamed() && app != nil && metav1.GetControllerOf(app) != nil {
			s.wait("Application %q has another owner: ApplicationSet %s", m.from, metav1.GetControllerOf(app).Name)
		}
	}
	if !s.IsEnd() {
		return
	}
	for _, want := range h.takers() {
		set := h.Sets[want.GetName()]
		switch {
		case set == nil:
			s.act(verbCreate, want)
		case isHeld(set), isNaming(set, set) && !isNaming(set, want):
			out := set.DeepCopy()
			out.Object["spec"] = want.Object["spec"]
			out.SetFinalizers(want.GetFinalizers())
			out.SetAnnotations(want.GetAnnotations())
			s.act(verbUpdate, out)
		}
	}
	for _, m := range h.moves {
		set, app := h.Sets[m.taker], h.Applications[m.to]
		if len(s.Actions) == 0 && (app == nil && m.isRenamed() && h.Applications[m.from] != nil || app != nil && !IsOwner(set, app)) {
			s.wait("ApplicationSet %q does not take over Application %q%s", m.taker, m.to, because(set))
		}
	}
}

// delete deletes the Applications of the old names, without the finalizers for hooks that the
// application controller has added before it skipped them.
func (h *handover) delete(s *Step) {
	for _, m := range h.moves {
		app := h.Applications[m.from]
		if !m.isRenamed() || app == nil {
			continue
		}
		switch bare := without(app, isArgo); {
		case app.GetDeletionTimestamp() != nil:
			s.wait("Application %q is being deleted; its finalizers are %s", m.from, strings.Join(app.GetFinalizers(), ", "))
		case metav1.GetControllerOf(app) != nil:
			s.wait("Application %q has an owner again: ApplicationSet %s", m.from, metav1.GetControllerOf(app).Name)
		case len(bare.GetFinalizers()) < len(app.GetFinalizers()):
			s.act(verbUpdate, bare)
		default:
			s.act(verbDelete, app)
		}
	}
}

// hold returns an ApplicationSet whose deletion deletes nothing, with both finalizers. In reverse
// order, Argo CD 3 would delete the Applications itself.
func hold(set *Object) *Object {
	out := set.DeepCopy()
	all := out.GetFinalizers()
	for _, f := range []string{finalizer, argoFinalizer} {
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	out.SetFinalizers(all)
	_ = unstructured.SetNestedField(out.Object, true, "spec", "syncPolicy", "preserveResourcesOnDeletion")
	unstructured.RemoveNestedField(out.Object, "spec", "strategy", "deletionOrder")
	unstructured.RemoveNestedField(out.Object, "spec", "template", "metadata", "finalizers")
	return out
}

func isHeld(set *Object) bool { return slices.Contains(set.GetFinalizers(), finalizer) }

// isNaming reports whether a live ApplicationSet has a selector with the names of another one.
func isNaming(live, want *Object) bool {
	names := live.GetAnnotations()[namesAnnotation]
	return names != "" && names == want.GetAnnotations()[namesAnnotation]
}

// IsOwner reports whether an ApplicationSet made an Application.
func IsOwner(set, app *Object) bool { return set != nil && metav1.IsControlledBy(app, set) }

func isArgo(f string) bool { return strings.Contains(f, "finalizer.argocd.argoproj.io") }

// owned returns the Applications that an ApplicationSet made.
func (h *handover) owned(set *Object) []*Object {
	return slices.DeleteFunc(sorted(h.Applications), func(app *Object) bool { return !IsOwner(set, app) })
}

// without returns an object without some of its finalizers.
func without(o *Object, drop func(string) bool) *Object {
	out := o.DeepCopy()
	left := slices.DeleteFunc(out.GetFinalizers(), drop)
	if out.SetFinalizers(left); len(left) == 0 {
		out.SetFinalizers(nil)
	}
	return out
}

// conditions returns the messages of an ApplicationSet's conditions that are true.
func conditions(set *Object) map[string]string {
	out := map[string]string{}
	if set == nil {
		return out
	}
	list, _ := manifest.At(set.Object, "status", "conditions").([]any)
	for _, c := range list {
		if manifest.Text(c, "status") == "True" {
			out[manifest.Text(c, "type")] = manifest.Text(c, "message")
		}
	}
	return out
}

// because returns an ApplicationSet's error, after a colon.
func because(set *Object) string {
	if message := conditions(set)["ErrorOccurred"]; message != "" {
		return ": " + message
	}
	return ""
}
