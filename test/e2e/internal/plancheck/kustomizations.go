package plancheck

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// applied are the objects that Kustomizations made, by engine and Kustomization, then by id.
type applied map[string]objects

// appliedBy groups objects by the Kustomization that kustomize-controller recorded.
func appliedBy(t testing.TB, all map[string][]*unstructured.Unstructured) applied {
	t.Helper()
	out := applied{}
	for owner, list := range all {
		for _, o := range list {
			maker := o.GetLabels()["kustomize.toolkit.fluxcd.io/name"]
			if maker == "" {
				continue
			}
			by := owner + " " + maker
			if out[by] == nil {
				out[by] = objects{}
			}
			out[by][id(o.GetKind(), o.GetName())] = Normalized(t, o)
		}
	}
	return out
}

// both returns the objects, before and after, of Kustomizations that exist in both: a plan does not
// list objects that appear or disappear with their Kustomization.
func both(before, after applied) (was, is objects) {
	was, is = objects{}, objects{}
	for by, old := range before {
		updated, stays := after[by]
		if !stays {
			continue
		}
		for name, o := range old {
			was[by+": "+name] = o
		}
		for name, o := range updated {
			is[by+": "+name] = o
		}
	}
	return was, is
}

// applied returns what happens to each object of a Kustomization.
func (p *planned) applied() map[string]string {
	out := map[string]string{}
	if p == nil {
		return out
	}
	for _, h := range p.Hubs {
		for _, o := range h.Objects {
			if maker, is := strings.CutPrefix(o.From, "Kustomization "); is && !o.Left {
				out[o.Owner+" "+maker+": "+id(o.Kind, o.Name)] = o.Action
			}
		}
	}
	return out
}
