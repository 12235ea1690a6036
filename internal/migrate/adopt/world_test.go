package adopt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// world is an API server with Argo CD's controllers and the garbage collector in small. They act in
// any order, on what they have read earlier, and note what must not happen.
type world struct {
	*rand.Rand
	version       int
	sets, apps    map[string]Tree
	makes         map[string]map[string]Tree // specs of Applications by ApplicationSet
	deployed      map[string]*deployed
	reading       map[string]Tree // what a reconciliation under way has read
	record        []Tree
	wrong         []string
	observed      int
	writes, kills int
	// kill ends the process at a write: before it, or after it.
	kill func(write int, after bool) bool
}

// deployed is an object on a cluster.
type deployed struct{ tracked string }

var errKilled = errors.New("killed")

const cascade = argoFinalizer

func newWorld(seed uint64) *world {
	return &world{
		Rand: rand.New(rand.NewPCG(seed, 1)), sets: map[string]Tree{}, apps: map[string]Tree{}, makes: map[string]map[string]Tree{},
		deployed: map[string]*deployed{}, reading: map[string]Tree{}, kill: func(int, bool) bool { return false },
	}
}

func (w *world) fail(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func specOf(content string) Tree {
	return Tree{
		"project": "default", "source": Tree{"repoURL": "https://git.example.com/apps.git", "path": content},
		"syncPolicy": Tree{"automated": Tree{"prune": true}},
	}
}

func contentOf(app Tree) string { return manifest.Text(app, "spec", "source", "path") }

// put writes an object with a new version.
func (w *world) put(all map[string]Tree, t Tree) Tree {
	w.version++
	out, metadata := manifest.Copy(t), manifest.Copy(t["metadata"])
	out["metadata"] = metadata
	metadata["resourceVersion"] = strconv.Itoa(w.version)
	if metadata["uid"] == nil {
		metadata["uid"] = "uid-" + strconv.Itoa(w.version)
	}
	all[nameOf(out)] = out
	if isDeleting(out) && len(finalizers(out)) == 0 {
		delete(all, nameOf(out))
	}
	return out
}

func (w *world) remove(all map[string]Tree, t Tree) {
	if len(finalizers(t)) == 0 {
		delete(all, nameOf(t))
		return
	}
	out, metadata := manifest.Copy(t), manifest.Copy(t["metadata"])
	metadata["deletionTimestamp"], out["metadata"] = "2026-11-23T00:00:00Z", metadata
	w.put(all, out)
}

// Observe implements Cluster.
func (w *world) Observe(context.Context) (Observed, error) {
	w.observed++
	for range w.IntN(6) {
		w.act()
	}
	o := Observed{Sets: map[string]Tree{}, Applications: map[string]Tree{}}
	maps.Copy(o.Sets, w.sets) // objects are written anew, never changed
	maps.Copy(o.Applications, w.apps)
	if w.observed > 20000 {
		return o, errors.New("no end")
	}
	return o, nil
}

// Do implements Cluster.
func (w *world) Do(_ context.Context, r *Record, a Action) error {
	w.writes++
	if w.kill(w.writes, false) {
		w.kills++
		return errKilled
	}
	if err := w.do(r, a); err != nil {
		return err
	}
	if w.IntN(3) == 0 {
		w.act()
	}
	if w.kill(w.writes, true) {
		w.kills++
		return errKilled
	}
	return nil
}

func (w *world) do(r *Record, a Action) (err error) {
	all := w.apps
	switch {
	case a.Verb == verbRecord:
		return w.keep(r)
	case a.Verb == verbForget:
		w.record = nil
		return nil
	case a.Kind == kindApplicationSet:
		all = w.sets
	}
	live := all[nameOf(a.Object)]
	switch {
	case a.Verb == verbCreate && live == nil:
		w.put(all, a.Object)
	case a.Verb == verbCreate, live == nil, manifest.Text(live, "metadata", "resourceVersion") != manifest.Text(a.Object, "metadata", "resourceVersion"):
		return ErrConflict
	case a.Verb == verbUpdate:
		w.put(all, a.Object)
	case a.Kind == kindApplicationSet: // orphans
		w.remove(all, withFinalizers(live, append(finalizers(live), "orphan")))
	default:
		w.remove(all, live)
	}
	return nil
}

// keep stores a record as its ConfigMaps.
func (w *world) keep(r *Record) (err error) {
	w.record, err = r.ConfigMaps("argocd")
	return err
}

// kept reads it.
func (w *world) kept(applicationSet string) (*Record, error) {
	all := map[string]Tree{}
	for _, m := range w.record {
		all[nameOf(m)] = m
	}
	return ReadRecord(applicationSet, all)
}

// act is one thing that a controller does.
func (w *world) act() {
	names := func(all map[string]Tree) string {
		list := sortedValues(all)
		if len(list) == 0 {
			return ""
		}
		return nameOf(list[w.IntN(len(list))])
	}
	switch w.IntN(4) {
	case 0:
		w.collect()
	case 1:
		if name := names(w.sets); name != "" && w.reading[name] == nil {
			w.reading[name] = w.sets[name]
		}
	case 2:
		if name := names(w.reading); name != "" {
			set := w.reading[name]
			delete(w.reading, name)
			w.generate(set)
		}
	default:
		if name := names(w.apps); name != "" {
			w.compare(w.apps[name])
		}
	}
}

// generate is the ApplicationSet controller with a set that it has read, perhaps some time ago.
func (w *world) generate(set Tree) {
	if isDeleting(set) {
		if live := w.sets[nameOf(set)]; live != nil && uidOf(live) == uidOf(set) && slices.Contains(finalizers(live), cascade) {
			w.put(w.sets, withFinalizers(live, without(finalizers(live), cascade)))
		}
		return
	}
	failed := ""
	made := map[string]bool{}
	for name, spec := range w.makes[nameOf(set)] {
		generators, _ := manifest.At(set, "spec", "generators").([]any)
		expressions, _ := manifest.At(generators[0], "selector", "matchExpressions").([]any)
		if len(expressions) > 0 && !slices.Contains(manifest.Strings(manifest.At(expressions[0], "values")), name) {
			continue
		}
		made[name] = true
		app := w.apps[name]
		if app == nil {
			app = Tree{"apiVersion": apiVersion, "kind": kindApplication, "metadata": Tree{"name": name, "namespace": "argocd"}}
		}
		if owner := ownerOf(app); owner != "" && owner != uidOf(set) {
			failed = name + " has another owner"
			continue
		}
		want := slices.DeleteFunc(finalizers(app), func(f string) bool { return f == cascade })
		if preserve, _ := manifest.At(set, "spec", "syncPolicy", "preserveResourcesOnDeletion").(bool); !preserve {
			want = append(want, cascade)
		}
		out := withFinalizers(app, want)
		metadata, _ := out["metadata"].(Tree)
		delete(metadata, "annotations")
		metadata["ownerReferences"] = []any{Tree{"apiVersion": apiVersion, "kind": kindApplicationSet, "name": nameOf(set), "uid": uidOf(set), "controller": true}}
		if out["spec"] = spec; app["spec"] != nil && manifest.At(set, "spec", "ignoreApplicationDifferences") != nil {
			if out["spec"] = spec; manifest.At(app, "spec", "syncPolicy") == nil {
				out["spec"] = withoutAutomated(spec)
			}
		}
		if !same(out, app) {
			w.put(w.apps, out)
		}
	}
	for _, app := range sortedValues(w.apps) {
		if manifest.Text(controller(app), "name") == nameOf(set) && !made[nameOf(app)] {
			w.remove(w.apps, app)
		}
	}
	if live := w.sets[nameOf(set)]; live != nil && uidOf(live) == uidOf(set) {
		out, status := manifest.Copy(live), "False"
		if failed != "" {
			status = "True"
		}
		out["status"] = Tree{"conditions": []any{Tree{"type": "ParametersGenerated", "status": "True"}, Tree{"type": "ErrorOccurred", "status": status, "message": failed}}}
		w.put(w.sets, out)
	}
}

// collect is the garbage collector.
func (w *world) collect() {
	for _, set := range sortedValues(w.sets) {
		if isDeleting(set) && slices.Contains(finalizers(set), "orphan") {
			for _, app := range sortedValues(w.apps) {
				if owns(uidOf(set), app) {
					out, metadata := manifest.Copy(app), manifest.Copy(app["metadata"])
					delete(metadata, "ownerReferences")
					out["metadata"] = metadata
					w.put(w.apps, out)
				}
			}
			w.put(w.sets, withFinalizers(set, without(finalizers(set), "orphan")))
		}
	}
	for _, app := range sortedValues(w.apps) {
		if owner := ownerOf(app); owner != "" && !isDeleting(app) && !slices.ContainsFunc(sortedValues(w.sets), func(s Tree) bool { return uidOf(s) == owner }) {
			w.remove(w.apps, app)
		}
	}
}

// compare is the application controller: it compares, syncs, and cleans up after a deletion.
func (w *world) compare(app Tree) {
	name, content := nameOf(app), contentOf(app)
	if isDeleting(app) {
		if len(cascading(app)) > 0 {
			w.fail("%s: its deletion deletes what it deployed", name)
		}
		if len(finalizers(app)) > len(cascading(app)) {
			w.fail("%s: its deletion runs hooks", name)
		}
		w.put(w.apps, withFinalizers(app, nil))
		return
	}
	d := w.deployed[content]
	if d == nil {
		w.fail("%s deploys %s, which was not there", name, content)
		return
	}
	status := synced
	if d.tracked != name {
		status = "OutOfSync"
		if manifest.At(app, "spec", "syncPolicy", "automated") != nil && w.IntN(2) == 0 {
			for _, other := range sortedValues(w.apps) {
				if nameOf(other) != name && contentOf(other) == content && manifest.At(other, "spec", "syncPolicy", "automated") != nil {
					w.fail("%s takes %s from %s, which syncs by itself", name, content, nameOf(other))
				}
			}
			d.tracked, status = name, synced
		}
	}
	if hook := "post-delete-finalizer.argocd.argoproj.io"; content == "b" && w.IntN(3) == 0 && !slices.Contains(finalizers(app), hook) {
		app = withFinalizers(app, append(finalizers(app), hook))
	}
	out := manifest.Copy(app)
	out["status"] = Tree{
		"sync":      Tree{"status": status, "comparedTo": Tree{"source": manifest.At(app, "spec", "source")}},
		"resources": []any{Tree{"kind": "Deployment", "group": "apps", "namespace": "x", "name": content, "status": status}},
	}
	w.put(w.apps, out)
}
