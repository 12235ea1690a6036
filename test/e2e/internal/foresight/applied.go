package foresight

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// applied is what Kustomizations have made: by whose engine and which Kustomization, by id.
type applied map[string]objects

// appliedBy are objects by what has made them, as kustomize-controller notes it.
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
			out[by][id(o.GetKind(), o.GetName())] = told(t, o)
		}
	}
	return out
}

// both are what Kustomizations have made that had made something before, and have now: a plan does not list what comes and goes with its maker.
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

// applied is what becomes of what Kustomizations make.
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
