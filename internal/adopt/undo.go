package adopt

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/expand/manifest"
)

// Turn gives a record its other direction, or says why it must not have it. Undo puts the
// Applications back as they were: it refuses where the fleet has changed them since.
func Turn(r *Record, undo bool, live Observed, normalize func(Tree) (Tree, error)) []Refusal {
	if r.Undo == undo {
		return nil
	}
	var out []Refusal
	if undo {
		out = r.changed(live, normalize)
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
		for _, name := range names { // to those of an undo that was under way before
			if !slices.Contains(s.Rest, name) && !slices.ContainsFunc(r.Applications, func(p Pair) bool { return p.New == name }) {
				s.Rest = append(s.Rest, name)
			}
		}
	}
	return nil
}

// changed are the Applications that the fleet makes otherwise than when they were handed over.
func (r *Record) changed(live Observed, normalize func(Tree) (Tree, error)) (out []Refusal) {
	const hint = "argosy render --form applicationsets writes ApplicationSets for what the fleet makes now"
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
					out = append(out, Refusal{fmt.Sprintf("Application %q has come since ApplicationSet %q was handed over", name, r.Name()), hint})
				}
				continue
			}
			normal, err := normalize(app)
			spec, _ := normal["spec"].(Tree)
			if err != nil || !same(withoutAutomated(manifest.Plain(spec)), withoutAutomated(r.Applications[i].NewSpec)) {
				out = append(out, Refusal{fmt.Sprintf("Application %q has changed since it was handed over", name), hint})
			}
		}
	}
	return out
}
