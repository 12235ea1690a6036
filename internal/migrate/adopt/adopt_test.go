package adopt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
)

// fleetOf is a hub with two plain ApplicationSets, and the fleet's one, which makes their
// Applications: three under another name, the others under the same. With an odd seed, they ignore
// differences of the sync policy.
func fleetOf(seed uint64) (*world, []*object.Object) {
	w := newWorld(seed)
	w.makes = map[string]map[string]Tree{
		"shop":   {"a-shop": specOf("a"), "b-shop": specOf("b"), "shop-c": specOf("c")},
		"dns":    {"dns-a": specOf("d"), "a-dns": specOf("e")},
		"addons": {"shop-a": specOf("a"), "shop-b": specOf("b"), "shop-c": specOf("c"), "dns-a": specOf("d"), "dns-b": specOf("e")},
	}
	ignoring := func(set Tree) Tree {
		if seed%2 == 1 {
			set = edited(set, []any{Tree{"jsonPointers": []any{"/spec/syncPolicy"}}}, "spec", "ignoreApplicationDifferences")
		}
		return set
	}
	for _, name := range []string{"shop", "dns"} {
		w.put(w.sets, ignoring(setOf(name, Tree{"list": Tree{}})))
	}
	for _, specs := range []map[string]Tree{w.makes["shop"], w.makes["dns"]} {
		for name, spec := range specs {
			w.deployed[manifest.Text(spec, "source", "path")] = &deployed{tracked: name}
		}
	}
	for !w.isSettled("shop") || !w.isSettled("dns") {
		w.act()
	}
	set := &object.Object{Tree: ignoring(setOf("addons", Tree{"plugin": Tree{}}))}
	var objects []*object.Object
	for _, name := range slices.Sorted(maps.Keys(w.makes["addons"])) {
		component, cluster, _ := strings.Cut(name, "-")
		app := Tree{"apiVersion": apiVersion, "kind": kindApplication, "metadata": Tree{"name": name}, "spec": w.makes["addons"][name]}
		objects = append(objects, &object.Object{Tree: app, Parent: set, Entry: object.Entry{Component: component, Cluster: cluster}})
	}
	return w, objects
}

func setOf(name string, generator Tree) Tree {
	return Tree{"apiVersion": apiVersion, "kind": kindApplicationSet, "metadata": Tree{"name": name, "namespace": "argocd"}, "spec": Tree{"generators": []any{generator}, "template": Tree{}}}
}

// isSettled reports whether an ApplicationSet has all of its Applications, and they are synced.
func (w *world) isSettled(name string) bool {
	set := w.sets[name]
	for app := range w.makes[name] {
		a := w.apps[app]
		if set == nil || a == nil || ownerOf(a) != uidOf(set) || manifest.Text(a, "status", "sync", "status") != synced || !isCompared(a) {
			return false
		}
	}
	return true
}

var names = map[string]string{"a-shop": "shop-a", "b-shop": "shop-b", "a-dns": "dns-b"}

func identity(t Tree) (Tree, error) { return manifest.Plain(t), nil }

func (w *world) propose(name string, objects []*object.Object) Proposal {
	return Proposal{Name: name, Live: Observed{Sets: w.sets, Applications: w.apps}, Argosy: objects, Names: names, Normalize: identity}
}

// handOver carries out a handover as the command does, and starts it anew when it is killed. flip
// says whether the next run goes the other way.
func (w *world) handOver(t *testing.T, name string, objects []*object.Object, undo bool, flip func() bool) (isUndone bool) {
	t.Helper()
	for {
		r, err := w.kept(name)
		if err != nil {
			t.Fatal(err)
		}
		if r == nil && undo {
			return true // an earlier run has forgotten it at its end
		}
		if r == nil {
			var refused []Refusal
			if r, refused = Prepare(w.propose(name, objects)); len(refused) > 0 {
				t.Fatal(refused)
			}
			if err := w.keep(r); err != nil {
				t.Fatal(err)
			}
		}
		if r.Undo != undo {
			if refused := Turn(r, undo, Observed{w.sets, w.apps}, identity); len(refused) > 0 {
				t.Fatal(refused)
			}
			if err := w.keep(r); err != nil {
				t.Fatal(err)
			}
		}
		run := Run{Cluster: w, Record: r, Timeout: time.Hour, Begin: func(string) {}, Waiting: func(string, []string) {}}
		switch err := run.Do(context.Background()); {
		case err == nil:
			return undo
		case !errors.Is(err, errKilled):
			o, _ := w.Observe(context.Background())
			t.Fatalf("%v: %+v", err, Next(r, o))
		case flip():
			undo = !undo
		}
	}
}

func (w *world) check(t *testing.T, what string, owners map[string]string) {
	t.Helper()
	for range 60 {
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
		if app == nil || manifest.Text(controller(app), "name") != owner || !same(app["spec"], w.makes[owner][name]) || manifest.Text(app, "status", "sync", "status") != synced {
			t.Errorf("%s: Application %s is %v; expected owner %s", what, name, app, owner)
		}
	}
	for _, set := range w.sets {
		if slices.Contains(finalizers(set), finalizer) {
			t.Errorf("%s: ApplicationSet %s still has the finalizer", what, nameOf(set))
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
		if isStaged(w.sets["addons"]) || !same(w.sets["addons"]["spec"], objects[0].Parent.Tree["spec"]) {
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
