package catalog

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// A component is a chart, or with `kind: manifests` a folder in Git that an engine applies as it
// is: a kustomization, or files. It has no values: where clusters differ, so do the folders
// (chart.path is a template), or Flux's variables.

// KindManifests is the ComponentSet.Kind of such a folder. A chart's is empty.
const KindManifests = "manifests"

const kindChart = "chart"

// KindName returns a kind as a catalog names it.
func KindName(kind string) string {
	if kind == "" {
		return kindChart
	}
	return kind
}

// KindProblems checks the kind of a group's component. Only the catalog sets the kind: the
// component's ApplicationSet is made for it. The entry was read from tree.
func KindProblems(group, component string, e *Entry, tree *hierarchy.Tree, isFlux bool) []problem.Problem {
	fault := func(key, found, expected string, reason problem.Reason) []problem.Problem {
		return []problem.Problem{{
			Reason: reason, Severity: problem.Error, Pos: tree.At([]string{key}).Pos(),
			Subject: fmt.Sprintf("key %q of component %q of group %q", key, component, group), Found: found, Expected: expected,
		}}
	}
	if first := tree.First(); first.Level == Level {
		said := "" // in the catalog
		if n := first.Root.Get(KeyKind); n != nil && n.Text() == KindManifests {
			said = KindManifests
		}
		if said != e.Kind {
			return fault(KeyKind, fmt.Sprintf("differs from the catalog's, %s", KindName(said)), "kind where the catalog of the release has the component, and nowhere else", problem.InvalidValue)
		}
	}
	if e.Substitute && !isFlux {
		return fault(KeySubstitute, "is true, and Argo CD has no variables", "an engine flux, or folders that need none", problem.UnsupportedEngine)
	}
	return nil
}

// UnexpectedValues reports values of a component that takes none.
func UnexpectedValues(component string, layers []hierarchy.Layer) []problem.Problem {
	for _, l := range layers {
		if l.Root.IsMap() && len(l.Root.Fields()) > 0 {
			return []problem.Problem{{
				Reason: problem.InvalidValue, Severity: problem.Error, Pos: l.Root.Pos(), Subject: fmt.Sprintf("component %q", component),
				Found: "has values, and is of kind manifests", Expected: "no values: manifests are applied as they are",
				Hints: []string{"chart.path is a template: a folder for each environment, for one"},
			}}
		}
	}
	return nil
}
