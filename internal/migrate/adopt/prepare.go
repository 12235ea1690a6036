package adopt

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
)

func refuse(hint, format string, args ...any) error {
	return &problem.Failure{Findings: true, Err: fmt.Errorf(format, args...), Hints: []string{hint, "nothing was changed"}}
}

// Prepare returns the record of a handover that has not begun, or says why it must not begin. The
// Applications must be equal on both sides, as package verify compares them. names are the fleet's
// names by the live names, where these differ.
func Prepare(name string, live Observed, argosy []*object.Object, names map[string]string) (*Record, error) {
	old := live.Sets[name]
	if old == nil || old.GetDeletionTimestamp() != nil {
		return nil, refuse("kubectl get applicationsets -n argocd lists them", "ApplicationSet %q does not live, or is being deleted", name)
	}
	if err := checkManager(old, live); err != nil {
		return nil, err
	}
	made := map[string]*object.Object{}
	for _, o := range argosy {
		if o.Application() && o.Parent.IsSet() {
			made[o.Name()] = o
		}
	}
	r := &Record{Old: written(old.Object, old.GetNamespace())}
	for _, app := range sorted(live.Applications) {
		if !IsOwner(old, app) {
			continue
		}
		if app.GetDeletionTimestamp() != nil {
			return nil, refuse("wait until it is gone", "Application %q is being deleted", app.GetName())
		}
		o := made[cmp.Or(names[app.GetName()], app.GetName())]
		if o == nil {
			return nil, refuse("argosy verify says more", "Application %q has no counterpart that an ApplicationSet of the fleet makes", app.GetName())
		}
		p := Pair{app.GetName(), o.Name(), o.Parent.Name()}
		if err := errors.Join(r.addSet(o.Parent, live, argosy), checkRename(p, live, o)); err != nil {
			return nil, err
		}
		r.Applications = append(r.Applications, p)
	}
	if len(r.Applications) == 0 {
		return nil, refuse("kubectl get applications -n argocd lists them", "ApplicationSet %q has no Application", name)
	}
	r.noteOthers(live)
	return r, nil
}

// checkRename refuses an Application that cannot get another name.
func checkRename(p Pair, live Observed, o *object.Object) error {
	set, other := live.Sets[p.Set], live.Applications[p.New]
	switch {
	case p.Old == p.New:
	case other != nil:
		return refuse("rename or delete it first, or give the component another name", "Application %q would be called %q, and such an Application lives", p.Old, p.New)
	case set != nil && !isNaming(set, set):
		return refuse("delete it with kubectl delete --cascade=orphan; adopt creates it when it is time", "ApplicationSet %q lives already, and would make Application %q beside %q", p.Set, p.New, p.Old)
	case slices.Contains(manifest.Strings(manifest.At(o.Tree, "spec", "syncPolicy", "syncOptions")), "FailOnSharedResource=true"):
		return refuse("remove the option until the Applications are handed over", "Application %q gets the name %q, and its sync option FailOnSharedResource=true forbids to take over objects", p.Old, p.New)
	}
	return nil
}

// addSet adds an ApplicationSet of the fleet, if it can take over single Applications.
func (r *Record) addSet(set *object.Object, live Observed, argosy []*object.Object) error {
	name, namespace := set.Name(), r.Old.GetNamespace()
	if slices.Contains(r.names(), name) {
		return nil
	}
	generators, _ := manifest.At(set.Tree, "spec", "generators").([]any)
	switch {
	case name == r.Name():
		return refuse("rename it in "+set.Pos.String(), "the fleet's ApplicationSet has the name %q, too", name)
	case set.Namespace() != "" && set.Namespace() != namespace:
		return refuse("an ApplicationSet takes over Applications of its own namespace only", "the fleet's ApplicationSet %q is for namespace %q", name, set.Namespace())
	case slices.ContainsFunc(generators, func(g any) bool { return manifest.At(g, "plugin") == nil }):
		return refuse("adopt restricts plugin generators with view: components by a selector", "a generator of the fleet's ApplicationSet %q is not a plugin", name)
	}
	s := &Set{Manifest: written(set.Tree, namespace)}
	for _, o := range argosy {
		if o.Application() && o.Parent == set {
			s.All = append(s.All, o.Name())
			if want := catalog.ApplicationName(o.Entry.Component, o.Entry.Cluster); want != o.Name() {
				return refuse("its template names Applications {{ .applicationName }}", "the fleet's ApplicationSet %q makes Application %q, which its parameter set calls %q", name, o.Name(), want)
			}
		}
	}
	r.New = append(r.New, s)
	return checkManager(live.Sets[name], live)
}

// checkManager refuses an ApplicationSet that an Application deploys, syncing by itself: it would
// put it back. It does not where the ApplicationSet has gone from Git, and is kept.
func checkManager(set *Object, live Observed) error {
	if set == nil {
		return nil
	}
	isKept := slices.Contains(strings.Split(set.GetAnnotations()["argocd.argoproj.io/sync-options"], ","), "Prune=false")
	for _, app := range sorted(live.Applications) {
		resources, _ := manifest.At(app.Object, "status", "resources").([]any)
		for _, x := range resources {
			gone, _ := manifest.At(x, "requiresPruning").(bool)
			if !(gone && isKept) && manifest.IsAutomated(app.Object) && manifest.Text(x, "kind") == kindApplicationSet && manifest.Text(x, "name") == set.GetName() && manifest.Text(x, "namespace") == set.GetNamespace() {
				return refuse("in Git, give it the annotation argocd.argoproj.io/sync-options: Prune=false, and then remove it there",
					"ApplicationSet %q is deployed by Application %q, which syncs by itself and would put it back", set.GetName(), app.GetName())
			}
		}
	}
	return nil
}

// noteOthers notes the fleet's ApplicationSets' Applications that the handover is not about.
func (r *Record) noteOthers(live Observed) {
	isOwn := map[string]bool{}
	for _, p := range r.Applications {
		isOwn[p.New] = true
	}
	for _, s := range r.New {
		s.Others = nil
		for name, app := range live.Applications {
			if IsOwner(live.Sets[s.Manifest.GetName()], app) && !isOwn[name] {
				s.Others = append(s.Others, name)
			}
		}
		slices.Sort(s.Others)
	}
}

// Turn sets a record's direction, or says why it must not.
func (r *Record) Turn(undo bool, live Observed) error {
	if r.Undo == undo {
		return nil
	}
	for _, name := range r.names() {
		if err := checkManager(live.Sets[name], live); err != nil {
			return err
		}
	}
	if r.Done {
		r.noteOthers(live)
	}
	if old := live.Sets[r.Name()]; old != nil && old.GetDeletionTimestamp() == nil { // what it has removed itself does not come back
		r.Applications = slices.DeleteFunc(r.Applications, func(p Pair) bool { return live.Applications[p.Old] == nil && live.Applications[p.New] == nil })
	}
	r.Undo, r.Done = undo, false
	return nil
}

// written returns an ApplicationSet as it is written, without the fields that the API server and
// Argo CD add.
func written(set manifest.Tree, namespace string) *Object {
	is, out := &Object{}, &Object{Object: map[string]any{}}
	_ = is.UnmarshalJSON(manifest.Canonical(set)) // with the types of the API's own decoder
	out.SetGroupVersionKind(is.GroupVersionKind())
	out.SetName(is.GetName())
	out.SetNamespace(namespace)
	out.SetLabels(is.GetLabels())
	out.SetAnnotations(is.GetAnnotations())
	out.SetFinalizers(is.GetFinalizers())
	out.Object["spec"] = is.Object["spec"]
	return out
}

// sorted returns objects by name.
func sorted(all map[string]*Object) (out []*Object) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}
