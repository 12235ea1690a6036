package adopt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// fleetOf is a hub with two plain ApplicationSets, and the fleet's one, which makes their
// Applications: three under another name, the others under the same.
func fleetOf(seed uint64) (*world, []*object.Object) {
	w := newWorld(seed)
	w.makes = map[string]map[string]string{
		"shop":   {"a-shop": "a", "b-shop": "b", "shop-c": "c"},
		"dns":    {"dns-a": "d", "a-dns": "e"},
		"addons": {"shop-a": "a", "shop-b": "b", "shop-c": "c", "dns-a": "d", "dns-b": "e"},
	}
	for _, name := range []string{"shop", "dns"} {
		w.put(w.sets, setOf(name, "list"))
		for app, content := range w.makes[name] {
			w.tracked[content] = app
		}
	}
	for len(w.apps) < 5 {
		w.act()
	}
	set := &object.Object{Tree: setOf("addons", "plugin").Object}
	var objects []*object.Object
	for _, name := range slices.Sorted(maps.Keys(w.makes["addons"])) {
		app := manifest.Tree{"apiVersion": "argoproj.io/v1alpha1", "kind": kindApplication, "metadata": manifest.Tree{"name": name}, "spec": specOf(w.makes["addons"][name])}
		component, cluster, _ := strings.Cut(name, "-")
		objects = append(objects, &object.Object{Tree: app, Parent: set, Entry: object.Entry{Component: component, Cluster: cluster}})
	}
	return w, objects
}

func setOf(name, generator string) *Object {
	return &Object{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": kindApplicationSet, "metadata": map[string]any{"name": name, "namespace": "argocd"},
		"spec": map[string]any{"generators": []any{map[string]any{generator: map[string]any{}}}, "template": map[string]any{}},
	}}
}

var names = map[string]string{"a-shop": "shop-a", "b-shop": "shop-b", "a-dns": "dns-b"}

func (w *world) live() Observed { return Observed{w.sets, w.apps} }

// handOver carries out a handover as the command does, and starts it again when it is killed. flip
// says whether the next run goes the other way.
func (w *world) handOver(t *testing.T, name string, objects []*object.Object, undo bool, flip func() bool) (isUndone bool) {
	t.Helper()
	for {
		if w.record == nil && undo {
			return true // an earlier run has forgotten it at its end
		}
		var r *Record
		var err error
		if w.record == nil {
			r, err = Prepare(name, w.live(), objects, names)
		} else if r, err = ReadRecord(w.record); err == nil {
			err = r.Turn(undo, w.live())
		}
		require.NoError(t, err)
		if r.Done {
			return undo
		}
		switch err := r.Run(t.Context(), w, time.Hour, 0, func(string, string) {}); {
		case err == nil:
			return undo
		case !errors.Is(err, errKilled):
			t.Fatalf("%v: %+v", err, Next(r, w.live()))
		case flip():
			undo = !undo
		}
	}
}

func (w *world) check(t *testing.T, what string, owners map[string]string) {
	t.Helper()
	for range 500 {
		w.act()
	}
	for _, text := range w.wrong {
		t.Errorf("%s: %s", what, text)
	}
	w.wrong = nil
	if got := slices.Sorted(maps.Keys(w.apps)); !slices.Equal(got, slices.Sorted(maps.Keys(owners))) {
		t.Errorf("%s: the Applications are %v; expected %v", what, got, owners)
	}
	for name, owner := range owners {
		app := w.apps[name]
		if app == nil || metav1.GetControllerOf(app) == nil || metav1.GetControllerOf(app).Name != owner || contentOf(app) != w.makes[owner][name] || w.tracked[contentOf(app)] != name {
			t.Errorf("%s: Application %s is %v; expected owner %s", what, name, app, owner)
		}
	}
	for name, set := range w.sets {
		if isHeld(set) {
			t.Errorf("%s: ApplicationSet %s still has the finalizer", what, name)
		}
	}
}

var (
	before    = map[string]string{"a-shop": "shop", "b-shop": "shop", "shop-c": "shop", "dns-a": "dns", "a-dns": "dns"}
	shopTaken = map[string]string{"shop-a": "addons", "shop-b": "addons", "shop-c": "addons", "dns-a": "dns", "a-dns": "dns"}
	after     = map[string]string{"shop-a": "addons", "shop-b": "addons", "shop-c": "addons", "dns-a": "addons", "dns-b": "addons"}
	dnsTaken  = map[string]string{"a-shop": "shop", "b-shop": "shop", "shop-c": "shop", "dns-a": "addons", "dns-b": "addons"}
)

func never() bool { return false }

// Killed before and after each of its writes, a handover comes to its end, and so does the
// way back. No deployed object is deleted, no hook runs, and no two Applications compete.
func TestKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	kills := 0
	for _, isAfter := range []bool{false, true} {
		for at := 1; ; at++ {
			w, objects := fleetOf(uint64(at))
			first := at
			w.kill = func(write int, after bool) bool { return after == isAfter && write == first }
			w.handOver(t, "shop", objects, false, never)
			what := fmt.Sprintf("killed at write %d", at)
			w.check(t, what, shopTaken)
			adopted := w.kills
			back := w.writes
			w.kill = func(write int, after bool) bool { return after == isAfter && write == back+first }
			w.handOver(t, "shop", objects, true, never)
			w.check(t, what+" of the way back", before)
			kills += w.kills
			if t.Failed() || adopted == 0 && w.kills == 0 {
				break
			}
		}
	}
	if t.Logf("%d kills", kills); kills < 50 {
		t.Errorf("%d kills", kills)
	}
}

// A handover comes to its end under any order of Argo CD's controllers, kills at any writes, and
// changes of direction in between; two ApplicationSets share the fleet's one.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	kills := 0
	for seed := range uint64(cases.Times(10)) {
		w, objects := fleetOf(seed)
		w.kill = func(int, bool) bool { return w.IntN(20) == 0 }
		step := func(name string, undo bool) {
			// It ends in the direction that is wanted.
			for w.handOver(t, name, objects, undo, func() bool { return w.IntN(4) == 0 }) != undo {
				continue
			}
		}
		what := fmt.Sprintf("seed %d", seed)
		step("shop", false)
		w.check(t, what+", first", shopTaken)
		shop := w.record
		w.record = nil
		step("dns", false)
		w.check(t, what+", both", after)
		if isNaming(w.sets["addons"], w.sets["addons"]) || !slices.Equal(manifest.Canonical(w.sets["addons"].Object["spec"]), manifest.Canonical(objects[0].Parent.Tree["spec"])) {
			t.Errorf("%s: the fleet's ApplicationSet is not as in Git: %v", what, w.sets["addons"])
		}
		w.record = shop
		step("shop", true)
		w.check(t, what+", the first undone", dnsTaken)
		if t.Failed() {
			return
		}
		kills += w.kills
	}
	t.Logf("%d kills", kills)
}

// Undo does not end before the fleet's ApplicationSet, made again, has its other Applications: the
// next handover asks which they are.
func TestUndoWaitsForTheOthers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		w, objects := fleetOf(seed)
		w.handOver(t, "shop", objects, false, never)
		w.record = nil
		w.handOver(t, "dns", objects, false, never)
		w.handOver(t, "dns", objects, true, never)
		for _, name := range []string{"shop-a", "shop-b", "shop-c"} {
			if !IsOwner(w.sets["addons"], w.apps[name]) {
				t.Errorf("seed %d: Application %s has no owner", seed, name)
			}
		}
	}
}

// What has changed on the fleet since a handover: undo ends without an Application that is gone
// under both names, and makes no second one beside an Application that has another owner.
func TestUndoAfterChangesOfTheFleet(t *testing.T) {
	t.Parallel()
	settle := func(w *world) {
		for range 500 {
			w.act()
		}
	}
	for seed := range uint64(5) {
		w, objects := fleetOf(seed)
		w.handOver(t, "shop", objects, false, never)
		delete(w.makes["addons"], "shop-a")
		delete(w.makes["shop"], "a-shop")
		settle(w)
		w.handOver(t, "shop", objects, true, never)
		if settle(w); w.apps["shop-a"] != nil || w.apps["a-shop"] != nil || w.apps["b-shop"] == nil {
			t.Errorf("seed %d: the Applications are %v", seed, slices.Sorted(maps.Keys(w.apps)))
		}

		w, objects = fleetOf(seed)
		w.handOver(t, "shop", objects, false, never)
		w.put(w.sets, setOf("other", "plugin"))
		w.makes["other"] = map[string]string{"shop-a": "a"}
		delete(w.makes["addons"], "shop-a")
		app := w.apps["shop-a"].DeepCopy()
		yes := true
		app.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: kindApplicationSet, Name: "other", UID: w.sets["other"].GetUID(), Controller: &yes}})
		w.put(w.apps, app)
		settle(w)
		r, err := ReadRecord(w.record)
		if err == nil {
			err = r.Turn(true, w.live())
		}
		require.NoError(t, err)
		err = r.Run(t.Context(), w, 200*time.Millisecond, 0, func(string, string) {})
		if err == nil || !strings.Contains(err.Error(), `Application "shop-a" has another owner: ApplicationSet other`) || w.apps["a-shop"] != nil {
			t.Errorf("seed %d: %v; the Applications are %v", seed, err, slices.Sorted(maps.Keys(w.apps)))
		}
	}
}
