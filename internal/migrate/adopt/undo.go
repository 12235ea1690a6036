package adopt

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// renderHint is the hint for differences that undo does not revert.
const renderHint = "argosy render --form applicationsets writes ApplicationSets for what the fleet makes now"

// Turn sets a record's direction, or returns why it must not. Undo puts the Applications back as
// they were: it refuses where the fleet has changed or removed them since. A handover that
// continues refuses where the plain ApplicationSet has changed its Applications meanwhile.
func Turn(r *Record, undo bool, live Observed, normalize func(Tree) (Tree, error)) []Refusal {
	old := live.Sets[r.Name()]
	isGiven := old == nil || isDeleting(old)
	if r.Undo == undo {
		if undo || r.Done || isGiven {
			return nil
		}
		return r.drifted(old, live, normalize)
	}
	var out []Refusal
	if undo {
		out = r.changed(live, normalize)
		for _, p := range r.Applications {
			if isGiven && live.isGone(p) {
				out = append(out, Refusal{fmt.Sprintf("Application %q has been removed since it was handed over", p.New), renderHint})
			}
		}
	}
	for _, s := range r.New {
		if set := live.Sets[nameOf(s.Manifest)]; set != nil {
			if manager := Manager(set, live.Applications); manager != "" {
				out = append(out, Refusal{
					fmt.Sprintf("ApplicationSet %q is deployed by Application %q, which syncs by itself and would put it back", nameOf(set), manager),
					"in Git, give it the annotation argocd.argoproj.io/sync-options: Prune=false, and then remove it there",
				})
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	r.Undo, r.Done = undo, false
	if !undo {
		return nil
	}
	if !isGiven { // it has removed them itself
		r.Applications = slices.DeleteFunc(slices.Clone(r.Applications), live.isGone)
	}
	r.beginWith(live)
	for i := range r.New {
		s := &r.New[i]
		set := live.Sets[nameOf(s.Manifest)]
		if set == nil || isDeleting(set) {
			continue
		}
		names := s.All
		if isStaged(set) {
			names = Names(set)
		}
		for _, name := range names { // to the names of an undo that was running before
			if !slices.Contains(s.Rest, name) && !slices.ContainsFunc(r.Applications, func(p Pair) bool { return p.New == name }) {
				s.Rest = append(s.Rest, name)
			}
		}
	}
	return nil
}

// beginWith records the objects that the fleet's Applications have now, because Git may have
// changed since the handover. Undo compares with them.
func (r *Record) beginWith(live Observed) {
	r.Applications = slices.Clone(r.Applications)
	for i := range r.Applications {
		p := &r.Applications[i]
		set, app := live.Sets[p.Set], live.Applications[p.New]
		if set == nil || app == nil || ownerOf(app) != uidOf(set) || !isCompared(app) {
			continue
		}
		p.Objects, _ = objectsOf(app)
		if p.Old == p.New {
			p.Synced = manifest.Text(app, "status", "sync", "status") == synced
		}
	}
}

// isGone reports whether an Application lives under neither of its names.
func (o Observed) isGone(p Pair) bool {
	return o.Applications[p.Old] == nil && o.Applications[p.New] == nil
}

// drifted returns refusals for the Applications that the plain ApplicationSet still has, and now
// creates differently than when the handover began.
func (r *Record) drifted(old Tree, live Observed, normalize func(Tree) (Tree, error)) (out []Refusal) {
	const hint = "--undo leaves the Applications to their ApplicationSet; then begin again"
	refuse := func(name, what string) {
		out = append(out, Refusal{fmt.Sprintf("Application %q %s since the handover began", name, what), hint})
	}
	for _, app := range sortedValues(live.Applications) {
		if !IsOwner(old, app) {
			continue
		}
		i := slices.IndexFunc(r.Applications, func(p Pair) bool { return p.Old == nameOf(app) })
		switch {
		case i < 0:
			refuse(nameOf(app), "has come")
		case !hasSpec(app, r.Applications[i].OldSpec, normalize):
			refuse(nameOf(app), "has changed")
		}
	}
	for _, p := range r.Applications {
		if live.isGone(p) {
			refuse(p.Old, "has been removed")
		}
	}
	return out
}

// hasSpec reports whether an Application has a spec in its normal form, except for automated sync.
func hasSpec(app, want Tree, normalize func(Tree) (Tree, error)) bool {
	normal, err := normalize(app)
	spec, _ := normal["spec"].(Tree)
	return err == nil && same(withoutAutomated(manifest.Plain(spec)), withoutAutomated(want))
}

// changed returns refusals for the Applications that the fleet now creates differently than at the
// handover.
func (r *Record) changed(live Observed, normalize func(Tree) (Tree, error)) (out []Refusal) {
	for _, s := range r.New {
		set := live.Sets[nameOf(s.Manifest)]
		for _, app := range sortedValues(live.Applications) {
			name := nameOf(app)
			if set == nil || ownerOf(app) != uidOf(set) {
				continue
			}
			i := slices.IndexFunc(r.Applications, func(p Pair) bool { return p.New == name })
			if i < 0 {
				if !slices.Contains(s.All, name) {
					out = append(out, Refusal{fmt.Sprintf("Application %q has come since ApplicationSet %q was handed over", name, r.Name()), renderHint})
				}
				continue
			}
			if !hasSpec(app, r.Applications[i].NewSpec, normalize) {
				out = append(out, Refusal{fmt.Sprintf("Application %q has changed since it was handed over", name), renderHint})
			}
		}
	}
	return out
}
