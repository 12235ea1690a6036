package adopt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// world is an API server with Argo CD's controllers and the garbage collector in small. They act in
// any order, on what they have read earlier, and note what must not happen.
type world struct {
	*rand.Rand
	version       int
	sets, apps    map[string]*Object
	makes         map[string]map[string]string // contents of Applications by ApplicationSet
	tracked       map[string]string            // Applications by content
	reading       map[string]*Object           // what a reconciliation under way has read
	record        *Object
	wrong         []string
	observed      int
	writes, kills int
	// kill ends the process at a write: before it, or after it.
	kill func(write int, after bool) bool
}

var errKilled = errors.New("killed")

func newWorld(seed uint64) *world {
	return &world{
		Rand: rand.New(rand.NewPCG(seed, 1)), sets: map[string]*Object{}, apps: map[string]*Object{}, makes: map[string]map[string]string{},
		tracked: map[string]string{}, reading: map[string]*Object{}, kill: func(int, bool) bool { return false },
	}
}

func (w *world) fail(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func contentOf(app *Object) string { return manifest.Text(app.Object, "spec", "source", "path") }

func specOf(content string) map[string]any {
	return map[string]any{"project": "default", "source": map[string]any{"path": content}, "syncPolicy": map[string]any{"automated": map[string]any{"prune": true}}}
}

// put writes an object with a new version.
func (w *world) put(all map[string]*Object, o *Object) {
	w.version++
	out := o.DeepCopy()
	out.SetResourceVersion(strconv.Itoa(w.version))
	if out.GetUID() == "" {
		out.SetUID(types.UID("uid-" + strconv.Itoa(w.version)))
	}
	all[out.GetName()] = out
	if out.GetDeletionTimestamp() != nil && len(out.GetFinalizers()) == 0 {
		delete(all, out.GetName())
	}
}

func (w *world) remove(all map[string]*Object, o *Object) {
	out := o.DeepCopy()
	out.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	w.put(all, out)
}

// Observe implements Cluster.
func (w *world) Observe(context.Context) (Observed, error) {
	w.observed++
	for range w.IntN(6) {
		w.act()
	}
	if w.observed > 20000 {
		return Observed{}, errors.New("no end")
	}
	return Observed{maps.Clone(w.sets), maps.Clone(w.apps)}, nil // an object is replaced, never changed
}

// killed reports whether the process ends here.
func (w *world) killed(after bool) bool {
	if !w.kill(w.writes, after) {
		return false
	}
	w.kills++
	return true
}

// Do implements Cluster.
func (w *world) Do(_ context.Context, a Action) error {
	if w.writes++; w.killed(false) {
		return errKilled
	}
	all, o := w.apps, a.Object
	if o.GetKind() == kindApplicationSet {
		all = w.sets
	}
	switch live := all[o.GetName()]; {
	case a.Verb == verbCreate && live == nil:
		w.put(all, o)
	case a.Verb == verbCreate, live == nil, live.GetResourceVersion() != o.GetResourceVersion():
		return ErrConflict
	case a.Verb == verbUpdate:
		if live.GetKind() == kindApplication && !slices.Equal(manifest.Canonical(live.Object["spec"]), manifest.Canonical(o.Object["spec"])) {
			w.fail("the spec of Application %s is written", o.GetName())
		}
		w.put(all, o)
	case o.GetKind() == kindApplicationSet: // orphans
		for _, app := range sorted(w.apps) {
			if IsOwner(live, app) && slices.Contains(app.GetFinalizers(), argoFinalizer) {
				w.fail("%s has a finalizer that deletes workloads, and its ApplicationSet is deleted", app.GetName())
			}
		}
		out := live.DeepCopy()
		out.SetFinalizers(append(out.GetFinalizers(), "orphan"))
		w.remove(all, out)
	default:
		w.remove(all, live)
	}
	if w.IntN(3) == 0 {
		w.act()
	}
	if w.killed(true) {
		return errKilled
	}
	return nil
}

// Write implements Cluster.
func (w *world) Write(_ context.Context, r *Record) (err error) {
	if w.writes++; w.killed(false) {
		return errKilled
	}
	if w.record, err = r.ConfigMap("argocd"); r.Undo && r.Done {
		w.record = nil
	}
	if w.killed(true) {
		return errKilled
	}
	return err
}

// act is one thing that a controller does.
func (w *world) act() {
	one := func(all map[string]*Object) *Object {
		if list := sorted(all); len(list) > 0 {
			return list[w.IntN(len(list))]
		}
		return nil
	}
	switch w.IntN(4) {
	case 0:
		w.collect()
	case 1:
		if set := one(w.sets); set != nil && w.reading[set.GetName()] == nil {
			w.reading[set.GetName()] = set
		}
	case 2:
		if set := one(w.reading); set != nil {
			delete(w.reading, set.GetName())
			w.generate(set)
		}
	default:
		if app := one(w.apps); app != nil {
			w.compare(app)
		}
	}
}

// generate is the ApplicationSet controller with a set that it has read, perhaps some time ago.
func (w *world) generate(set *Object) {
	live := w.sets[set.GetName()]
	isSame := live != nil && live.GetUID() == set.GetUID()
	if set.GetDeletionTimestamp() != nil {
		if isSame {
			w.put(w.sets, without(live, func(f string) bool { return f == argoFinalizer }))
		}
		return
	}
	failed := "False"
	made := map[string]bool{}
	for name, content := range w.makes[set.GetName()] {
		generators, _, _ := unstructured.NestedSlice(set.Object, "spec", "generators")
		expressions, _ := manifest.At(generators[0], "selector", "matchExpressions").([]any)
		if len(expressions) > 0 && !slices.Contains(manifest.Strings(manifest.At(expressions[0], "values")), name) {
			continue
		}
		made[name] = true
		app := &Object{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": kindApplication}}
		if old := w.apps[name]; old != nil {
			app = old.DeepCopy()
		}
		if owner := metav1.GetControllerOf(app); owner != nil && owner.UID != set.GetUID() {
			failed = "True"
			continue
		}
		before := app.DeepCopy()
		app = without(app, func(f string) bool { return f == argoFinalizer })
		if preserve, _, _ := unstructured.NestedBool(set.Object, "spec", "syncPolicy", "preserveResourcesOnDeletion"); !preserve {
			app.SetFinalizers(append(app.GetFinalizers(), argoFinalizer))
		}
		app.SetName(name)
		app.SetNamespace("argocd")
		app.SetAnnotations(nil)
		app.Object["spec"] = specOf(content)
		app.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(set, set.GroupVersionKind())})
		if !slices.Equal(manifest.Canonical(app), manifest.Canonical(before)) {
			w.put(w.apps, app)
		}
	}
	for _, app := range sorted(w.apps) {
		if owner := metav1.GetControllerOf(app); owner != nil && owner.Name == set.GetName() && !made[app.GetName()] {
			w.remove(w.apps, app)
		}
	}
	if isSame {
		out := live.DeepCopy()
		_ = unstructured.SetNestedSlice(out.Object, []any{map[string]any{"type": "ParametersGenerated", "status": "True"}, map[string]any{"type": "ErrorOccurred", "status": failed, "message": "another owner"}}, "status", "conditions")
		w.put(w.sets, out)
	}
}

// collect is the garbage collector.
func (w *world) collect() {
	for _, set := range sorted(w.sets) {
		if slices.Contains(set.GetFinalizers(), "orphan") {
			for _, app := range sorted(w.apps) {
				if IsOwner(set, app) {
					out := app.DeepCopy()
					out.SetOwnerReferences(nil)
					w.put(w.apps, out)
				}
			}
			w.put(w.sets, without(set, func(f string) bool { return f == "orphan" }))
		}
	}
	for _, app := range sorted(w.apps) {
		owner := metav1.GetControllerOf(app)
		if owner != nil && app.GetDeletionTimestamp() == nil && !slices.ContainsFunc(sorted(w.sets), func(s *Object) bool { return s.GetUID() == owner.UID }) {
			w.fail("%s is garbage", app.GetName())
			w.remove(w.apps, app)
		}
	}
}

// compare is the application controller: it syncs, and cleans up after a deletion.
func (w *world) compare(app *Object) {
	name, content := app.GetName(), contentOf(app)
	if app.GetDeletionTimestamp() != nil {
		if len(app.GetFinalizers()) > 0 {
			w.fail("%s: its deletion deletes what it deployed, or runs hooks: %s", name, app.GetFinalizers())
		}
		w.put(w.apps, without(app, isArgo))
		return
	}
	if app.GetAnnotations()[skipAnnotation] == "true" {
		return
	}
	if w.tracked[content] != name && w.IntN(2) == 0 {
		for _, other := range sorted(w.apps) {
			if other.GetName() != name && contentOf(other) == content && other.GetAnnotations()[skipAnnotation] == "" {
				w.fail("%s takes %s from %s, which syncs by itself", name, content, other.GetName())
			}
		}
		w.tracked[content] = name
	}
	const hook = "post-delete-finalizer.argocd.argoproj.io"
	if content == "b" && w.IntN(3) == 0 && !slices.Contains(app.GetFinalizers(), hook) {
		out := app.DeepCopy()
		out.SetFinalizers(append(out.GetFinalizers(), hook))
		w.put(w.apps, out)
	}
}
