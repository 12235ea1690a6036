package adopt

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// hubOf is a hub whose ApplicationSet shop can be handed over.
type hubOf struct {
	name   string
	live   Observed
	argosy []*object.Object
	names  map[string]string
}

// set writes a field of a copy of a live object.
func set(all map[string]*Object, name string, value any, path ...string) {
	out := all[name].DeepCopy()
	if err := unstructured.SetNestedField(out.Object, value, path...); err != nil {
		panic(err)
	}
	all[name] = out
}

// What must not be handed over is refused before anything is written, with its name.
func TestRefused(t *testing.T) {
	t.Parallel()
	managed := func(pruned bool, automated map[string]any) func(*hubOf) {
		return func(h *hubOf) {
			h.live.Applications["root"] = &Object{Object: map[string]any{
				"metadata": map[string]any{"name": "root"}, "spec": map[string]any{"syncPolicy": map[string]any{"automated": automated}},
				"status": map[string]any{"resources": []any{map[string]any{"kind": kindApplicationSet, "name": "shop", "namespace": "argocd", "requiresPruning": pruned}}},
			}}
		}
	}
	fleetSet := func(value any, path ...string) func(*hubOf) {
		return func(h *hubOf) {
			other := &Object{Object: h.argosy[0].Parent.Tree}
			other = other.DeepCopy()
			_ = unstructured.SetNestedField(other.Object, value, path...)
			for i, o := range h.argosy {
				h.argosy[i] = &object.Object{Tree: o.Tree, Parent: &object.Object{Tree: other.Object}, Entry: o.Entry}
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*hubOf)
		want   string // empty: it is accepted
	}{
		"accepted":               {func(*hubOf) {}, ""},
		"no such ApplicationSet": {func(h *hubOf) { h.name = "shops" }, `ApplicationSet "shops" does not live`},
		"being deleted": {
			func(h *hubOf) { set(h.live.Sets, "shop", "2026-11-29T00:00:00Z", "metadata", "deletionTimestamp") },
			`ApplicationSet "shop" does not live, or is being deleted`,
		},
		"no Application": {func(h *hubOf) { clear(h.live.Applications) }, `ApplicationSet "shop" has no Application`},

		"deployed by an Application": {managed(false, map[string]any{}), `ApplicationSet "shop" is deployed by Application "root"`},
		"about to be pruned":         {managed(true, map[string]any{}), `ApplicationSet "shop" is deployed by Application "root"`},
		"gone from Git, and kept": {func(h *hubOf) {
			managed(true, map[string]any{})(h)
			set := h.live.Sets["shop"].DeepCopy()
			set.SetAnnotations(map[string]string{"argocd.argoproj.io/sync-options": "ServerSideApply=true,Prune=false"})
			h.live.Sets["shop"] = set
		}, ""},
		"an Application being deleted": {func(h *hubOf) {
			app, now := h.live.Applications["a-shop"].DeepCopy(), metav1.Now()
			app.SetDeletionTimestamp(&now)
			h.live.Applications["a-shop"] = app
		}, `Application "a-shop" is being deleted`},
		"names of its own": {func(h *hubOf) {
			for i, o := range h.argosy {
				h.argosy[i] = &object.Object{Tree: o.Tree, Parent: o.Parent, Entry: object.Entry{Component: "x-" + o.Entry.Component, Cluster: o.Entry.Cluster}}
			}
		}, `the fleet's ApplicationSet "addons" makes Application "dns-a", which its parameter set calls "x-dns-a"`},
		"automated sync is switched off": {managed(false, map[string]any{"enabled": false, "prune": true}), ""},

		"no counterpart": {func(h *hubOf) { h.names = nil }, `Application "a-shop" has no counterpart`},
		"a name that lives": {
			func(h *hubOf) { h.live.Applications["shop-a"] = h.live.Applications["dns-a"] },
			`Application "a-shop" would be called "shop-a", and such an Application lives`,
		},
		"no shared resources": {func(h *hubOf) {
			for i, o := range h.argosy {
				h.argosy[i] = &object.Object{Tree: (&Object{Object: o.Tree}).DeepCopy().Object, Parent: o.Parent, Entry: o.Entry}
				_ = unstructured.SetNestedField(h.argosy[i].Tree, []any{"FailOnSharedResource=true"}, "spec", "syncPolicy", "syncOptions")
			}
		}, "FailOnSharedResource=true forbids to take over objects"},

		"the same ApplicationSet": {fleetSet("shop", "metadata", "name"), `the fleet's ApplicationSet has the name "shop", too`},
		"another namespace":       {fleetSet("teams", "metadata", "namespace"), `is for namespace "teams"`},
		"no plugin":               {fleetSet([]any{map[string]any{"list": map[string]any{}}}, "spec", "generators"), `a generator of the fleet's ApplicationSet "addons" is not a plugin`},
		"the fleet's lives":       {func(h *hubOf) { h.live.Sets["addons"] = setOf("addons", "plugin") }, `ApplicationSet "addons" lives already`},
	} {
		w, objects := fleetOf(1)
		h := &hubOf{"shop", Observed{maps.Clone(w.sets), maps.Clone(w.apps)}, slices.Clone(objects), names}
		c.change(h)
		r, err := Prepare(h.name, h.live, h.argosy, h.names)
		switch {
		case c.want == "" && (err != nil || len(r.Applications) != 3):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: refused with %v; expected %s", name, err, c.want)
		}
	}
}

// While the plain ApplicationSet has an Application that the record lacks, it is not deleted: the
// Application would be without an owner. Undo leaves it what it has removed since.
func TestChangedBeforeItGoesOn(t *testing.T) {
	t.Parallel()
	w, objects := fleetOf(1)
	r, err := Prepare("shop", w.live(), objects, names)
	require.NoError(t, err)
	w.makes["shop"]["d-shop"], w.tracked["f"] = "f", "d-shop"
	var step Step
	for range 5000 {
		o, err := w.Observe(t.Context())
		require.NoError(t, err)
		if step = Next(r, o); step.Name == stepOrphan && len(o.Applications) == 6 && len(step.Actions) == 0 {
			break
		}
		for _, a := range step.Actions {
			if step.Name == stepAnnounce || step.Name == stepOrphan && len(o.Applications) == 6 {
				_ = w.Do(t.Context(), a)
			}
		}
	}
	if len(step.Waits) != 1 || !strings.Contains(step.Waits[0], `Application "d-shop" has come since the handover began`) {
		t.Errorf("%+v", step)
	}
	delete(w.apps, "b-shop")
	if err := r.Turn(true, w.live()); err != nil || len(r.Applications) != 2 {
		t.Errorf("undo: %v, %d Applications", err, len(r.Applications))
	}
}

// A record that cannot be read is an error that names its ConfigMap.
func TestUnreadableRecord(t *testing.T) {
	t.Parallel()
	m := &Object{Object: map[string]any{"metadata": map[string]any{"name": "argosy-adopt-shop"}, "binaryData": map[string]any{recordKey: "H4sIAAAA"}}}
	if _, err := ReadRecord(m); err == nil || !strings.Contains(err.Error(), `the record in ConfigMap "argosy-adopt-shop" cannot be read`) {
		t.Error(err)
	}
}
