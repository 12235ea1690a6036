package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// edited is an object with another value at a path.
func edited(t Tree, value any, path ...string) Tree {
	out := manifest.Copy(t)
	if len(path) == 1 {
		out[path[0]] = value
		return out
	}
	out[path[0]] = edited(manifest.Copy(out[path[0]]), value, path[1:]...)
	return out
}

// What must not be handed over is refused before anything is written, with its name and a hint.
func TestRefused(t *testing.T) {
	t.Parallel()
	managing := func(pruned bool, automated any, options string) func(*Proposal) {
		return func(p *Proposal) {
			set := p.Live.Sets["shop"]
			root := Tree{"metadata": Tree{"name": "root"}, "status": Tree{"resources": []any{Tree{"kind": kindApplicationSet, "name": "shop", "namespace": "argocd", "requiresPruning": pruned}}}}
			root = edited(root, automated, "spec", "syncPolicy", "automated")
			p.Live.Applications["root"] = root
			p.Live.Sets["shop"] = edited(set, options, "metadata", "annotations", "argocd.argoproj.io/sync-options")
		}
	}
	app := func(name string, value any, path ...string) func(*Proposal) {
		return func(p *Proposal) {
			p.Live.Applications[name] = edited(p.Live.Applications[name], value, path...)
		}
	}
	fleetSet := func(value any, path ...string) func(*Proposal) {
		return func(p *Proposal) {
			set := &object.Object{Tree: edited(p.Argosy[0].Parent.Tree, value, path...)}
			for i, o := range p.Argosy {
				p.Argosy[i] = &object.Object{Tree: o.Tree, Parent: set, Entry: o.Entry}
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*Proposal)
		want   string // empty: it is accepted
	}{
		"accepted":               {func(*Proposal) {}, ""},
		"no such ApplicationSet": {func(p *Proposal) { p.Name = "shops" }, `ApplicationSet "shops" does not live`},
		"being deleted": {func(p *Proposal) {
			p.Live.Sets["shop"] = edited(p.Live.Sets["shop"], "now", "metadata", "deletionTimestamp")
		}, `ApplicationSet "shop" is being deleted`},
		"an Application that is being deleted": {app("a-shop", "now", "metadata", "deletionTimestamp"), `Application "a-shop" is being deleted`},
		"not compared":                         {app("a-shop", "Unknown", "status", "sync", "status"), `Argo CD cannot compare Application "a-shop"`},
		"deployed by an Application":           {managing(false, Tree{}, ""), `ApplicationSet "shop" is deployed by Application "root"`},
		"gone from Git":                        {managing(true, Tree{}, ""), `is deployed by Application "root"`},
		"gone from Git, and kept":              {managing(true, Tree{}, "Replace=true,Prune=false"), ""},
		"deployed by hand":                     {managing(false, nil, ""), ""},
		"automated sync is switched off":       {managing(false, Tree{"enabled": false, "prune": true}, ""), ""},
		"a name that lives": {
			func(p *Proposal) { p.Live.Applications["shop-a"] = Tree{"metadata": Tree{"name": "shop-a"}} },
			`Application "a-shop" would be called "shop-a", and such an Application lives: no ApplicationSet made it`,
		},
		"a name of another ApplicationSet": {
			func(p *Proposal) { p.Names = map[string]string{"a-shop": "dns-a", "b-shop": "shop-b"} },
			`Application "a-shop" would be called "dns-a", and such an Application lives: ApplicationSet dns made it`,
		},
		"one name for two": {func(p *Proposal) { p.Names = map[string]string{"a-shop": "shop-b", "b-shop": "shop-b"} }, `Applications "a-shop" and "b-shop" would both be called "shop-b"`},
		"no counterpart":   {func(p *Proposal) { p.Names = nil }, `Application "a-shop" has no counterpart`},
		"objects to prune under another name": {
			app("a-shop", []any{Tree{"kind": "Secret", "name": "x", "requiresPruning": true}}, "status", "resources"),
			`Application "a-shop" has objects that are not in Git any more, and would lose them: Secret x`,
		},
		"objects to prune under the same name": {app("shop-c", []any{Tree{"kind": "Secret", "name": "x", "requiresPruning": true}}, "status", "resources"), ""},
		"no shared resources": {func(p *Proposal) {
			for i, o := range p.Argosy {
				p.Argosy[i] = &object.Object{Tree: edited(o.Tree, []any{"FailOnSharedResource=true"}, "spec", "syncPolicy", "syncOptions"), Parent: o.Parent, Entry: o.Entry}
			}
		}, "FailOnSharedResource=true forbids to take over objects"},
		"the same ApplicationSet": {fleetSet("shop", "metadata", "name"), `the fleet's ApplicationSet has the name "shop", too`},
		"another namespace":       {fleetSet("teams", "metadata", "namespace"), `is for namespace "teams"`},
		"no plugin":               {fleetSet([]any{Tree{"list": Tree{}}}, "spec", "generators"), `a generator of the fleet's ApplicationSet "addons" is no plugin`},
		"the fleet's lives":       {func(p *Proposal) { p.Live.Sets["addons"] = setOf("addons", Tree{"plugin": Tree{}}) }, `ApplicationSet "addons" lives already`},
	} {
		w, objects := fleetOf(1)
		p := w.propose("shop", objects)
		p.Live.Sets, p.Live.Applications = maps.Clone(w.sets), maps.Clone(w.apps)
		p.Argosy = slices.Clone(objects)
		c.change(&p)
		r, refusals := Prepare(p)
		switch text := fmt.Sprint(refusals); {
		case c.want == "" && (len(refusals) > 0 || len(r.Applications) != 3):
			t.Errorf("%s: %s", name, text)
		case c.want != "" && (r != nil || !strings.Contains(text, c.want)):
			t.Errorf("%s: refused with %s; expected %s", name, text, c.want)
		}
	}
}

// prepared is a fleet that is to get the Applications of shop, with the record of it.
func prepared(t *testing.T) (*world, *Record) {
	t.Helper()
	w, objects := fleetOf(1)
	r, refusals := Prepare(w.propose("shop", objects))
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	return w, r
}

// handedOver is a fleet that has got the Applications of shop, with the record of it.
func handedOver(t *testing.T) (*world, *Record) {
	t.Helper()
	w, objects := fleetOf(1)
	w.handOver(t, "shop", objects, false, never)
	r, err := w.kept("shop")
	if err != nil || r == nil || !r.Done {
		t.Fatal(r, err)
	}
	return w, r
}

// Undo is refused where the fleet has made something else of an Application since.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	w, r := handedOver(t)
	turn := func(apps map[string]Tree) string {
		again := *r
		return fmt.Sprint(Turn(&again, true, Observed{w.sets, apps}, identity))
	}
	if got := turn(w.apps); got != "[]" {
		t.Errorf("unchanged: %s", got)
	}
	apps := maps.Clone(w.apps)
	apps["shop-a"] = edited(apps["shop-a"], "9.9.9", "spec", "source", "targetRevision")
	if got := turn(apps); !strings.Contains(got, `Application "shop-a" has changed since it was handed over`) {
		t.Error(got)
	}
	apps = maps.Clone(w.apps)
	apps["shop-z"] = edited(apps["shop-a"], "shop-z", "metadata", "name")
	if got := turn(apps); !strings.Contains(got, `Application "shop-z" has come since`) {
		t.Error(got)
	}
}

// Undo does not bring back what the fleet has removed since.
func TestRemovedSince(t *testing.T) {
	t.Parallel()
	w, r := handedOver(t)
	apps := maps.Clone(w.apps)
	delete(apps, "shop-b")
	got := fmt.Sprint(Turn(r, true, Observed{w.sets, apps}, identity))
	if !strings.Contains(got, `Application "shop-b" has been removed since it was handed over`) {
		t.Errorf("%s; expected a refusal", got)
	}
}

// A handover that was stopped goes on only with the Applications that it began with, while the
// plain ApplicationSet still has them. Undo leaves it what it has removed.
func TestChangedBeforeItGoesOn(t *testing.T) {
	t.Parallel()
	w, r := prepared(t)
	turned := func(undo bool, change func(map[string]Tree)) (*Record, string) {
		apps, again := maps.Clone(w.apps), *r
		change(apps)
		return &again, fmt.Sprint(Turn(&again, undo, Observed{w.sets, apps}, identity))
	}
	if _, got := turned(false, func(map[string]Tree) {}); got != "[]" {
		t.Errorf("unchanged: %s", got)
	}
	remove := func(apps map[string]Tree) { delete(apps, "b-shop") }
	for want, change := range map[string]func(map[string]Tree){
		`Application "d-shop" has come since`: func(apps map[string]Tree) {
			apps["d-shop"] = edited(apps["a-shop"], "d-shop", "metadata", "name")
		},
		`Application "a-shop" has changed since`: func(apps map[string]Tree) {
			apps["a-shop"] = edited(apps["a-shop"], "9.9.9", "spec", "source", "targetRevision")
		},
		`Application "b-shop" has been removed since`: remove,
	} {
		if _, got := turned(false, change); !strings.Contains(got, want) {
			t.Errorf("%s; expected %s", got, want)
		}
	}
	undone, got := turned(true, remove)
	if got != "[]" || len(undone.Applications) != len(r.Applications)-1 {
		t.Errorf("undo: %s, %d of %d Applications", got, len(undone.Applications), len(r.Applications))
	}
}

// A record of several ConfigMaps is read as it was written; a part that is missing is an error.
func TestRecordInParts(t *testing.T) {
	t.Parallel()
	w, r := prepared(t)
	var b strings.Builder
	for b.Len() < 2*chunk { // what does not compress
		fmt.Fprintf(&b, "%016x", w.Uint64())
	}
	r.Applications[0].OldMetadata = Tree{"annotations": Tree{"note": b.String()}}
	list, err := r.ConfigMaps("argocd")
	if err != nil || len(list) < 2 || nameOf(list[len(list)-1]) != "argosy-adopt-shop" {
		t.Fatal(len(list), err)
	}
	all := map[string]Tree{}
	for _, m := range list {
		all[nameOf(m)] = m
	}
	again, err := ReadRecord("shop", all)
	if err != nil || !same(again, r) {
		t.Errorf("read as another: %v", err)
	}
	delete(all, nameOf(list[0]))
	if _, err := ReadRecord("shop", all); err == nil || !strings.Contains(err.Error(), `ConfigMap "argosy-adopt-shop" cannot be read`) {
		t.Errorf("a part is missing: %v", err)
	}
}

// The steps that people read are those that are carried out.
func TestStepsAreDescribed(t *testing.T) {
	t.Parallel()
	for _, undo := range []bool{false, true} {
		w, objects := fleetOf(1)
		if undo {
			w.handOver(t, "shop", objects, false, never)
		}
		r, _ := w.kept("shop")
		if r == nil {
			r, _ = Prepare(w.propose("shop", objects))
		}
		Turn(r, undo, Observed{w.sets, w.apps}, identity)
		var steps []string
		for range 5000 {
			o, _ := w.Observe(t.Context())
			step := Next(r, o)
			if !step.IsEnd() && !slices.Contains(steps, step.Name) {
				steps = append(steps, step.Name)
			}
			for _, a := range step.Actions {
				if a.Verb == verbRecord {
					r.close()
				}
				_ = w.Do(t.Context(), r, a)
			}
			if step.IsEnd() || slices.ContainsFunc(step.Actions, func(a Action) bool { return a.Verb == verbForget }) {
				break
			}
		}
		var described []string
		for _, d := range r.Steps() {
			described = append(described, d.Name)
		}
		for _, name := range steps {
			if !slices.Contains(described, name) {
				t.Errorf("undo %t: step %s is not described: %v", undo, name, described)
			}
		}
		if len(steps) < 7 {
			t.Errorf("undo %t: the steps were %v", undo, steps)
		}
	}
}

// TestObjectsToPruneUnderTheSameName: objects that are to be pruned hold up no Application that
// keeps its name, nor its way back: they were so before.
func TestObjectsToPruneUnderTheSameName(t *testing.T) {
	t.Parallel()
	w, objects := fleetOf(1)
	list, _ := manifest.At(w.apps["shop-c"], "status", "resources").([]any)
	w.apps["shop-c"] = edited(w.apps["shop-c"], append(slices.Clone(list), Tree{"kind": "Secret", "name": "x", "requiresPruning": true}), "status", "resources")
	r, refusals := Prepare(w.propose("shop", objects))
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	for _, undo := range []bool{false, true} {
		r.Undo = undo
		h := handoverOf(r, Observed{w.sets, w.apps})
		for _, m := range h.apps {
			if m.to != "shop-c" {
				continue
			}
			if text := h.differs(m); text != "" {
				t.Errorf("undo %t: Application shop-c %s", undo, text)
			}
		}
	}
}

// TestUndoAfterGitHasChanged: undo compares with the objects that the Applications have now.
func TestUndoAfterGitHasChanged(t *testing.T) {
	t.Parallel()
	w, r := handedOver(t)
	for i := range r.Applications {
		r.Applications[i].Objects = []string{"ConfigMap x/earlier"} // as Git was at the handover
	}
	if err := w.keep(r); err != nil {
		t.Fatal(err)
	}
	w.handOver(t, "shop", nil, true, never)
	w.check(t, "undone", before)
}
