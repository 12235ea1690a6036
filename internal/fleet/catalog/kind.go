package catalog

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/labels"
)

// A component is a chart, or with `kind: manifests` a folder in Git that an engine applies as it
// is: a kustomization, or files. It has no values: where clusters differ, so do the folders
// (chart.path is a template), or Flux's variables.

// KindManifests is the ComponentSet.Kind of such a folder. A chart's is empty.
const KindManifests = "manifests"

const kindChart = "chart"

// maxDependsOn bounds the dependencies of one component: each engine walks the order of all.
const maxDependsOn = 100

// readKind reads an entry's kind, and the keys that go with it.
func (e *Entry) readKind(r *yamldoc.Reader, m *yamldoc.MapReader) {
	switch kind := m.String(KeyKind); kind {
	case "", kindChart:
	case KindManifests:
		e.Kind = KindManifests
	default:
		r.Add(problem.InvalidValue, m.Node().Get(KeyKind), `key "kind"`, fmt.Sprintf("is %q", kind), kindChart+" or "+KindManifests, problem.Nearest(kind, []string{kindChart, KindManifests})...)
	}
	dependsOn := m.List(KeyDependsOn)
	if len(dependsOn) > maxDependsOn {
		r.Add(problem.LimitExceeded, m.Node().Get(KeyDependsOn), `key "dependsOn"`, fmt.Sprintf("has %d elements", len(dependsOn)), fmt.Sprintf("at most %d", maxDependsOn))
		return
	}
	for _, n := range dependsOn {
		group, name, qualified := strings.Cut(n.Text(), "/")
		if !qualified {
			name = group
		}
		if n.Kind != yamldoc.String || !labels.IsName(group) || !labels.IsName(name) {
			r.Add(problem.InvalidValue, n, `key "dependsOn"`, "has an element that is not a component's name", "components of the same cluster, as component or group/component")
			continue
		}
		e.DependsOn = append(e.DependsOn, n.Text())
	}
	if e.Substitute = m.Bool(KeySubstitute, false); e.Substitute && e.Kind != KindManifests {
		r.Add(problem.InvalidValue, m.Node().Get(KeySubstitute), `key "substitute"`, "is for "+KindManifests, "a chart's values, which are templates over the facts")
	}
}

// Incomplete reports coordinates that cannot be deployed, as Chart.Incomplete does for a chart.
func (e *Entry) Incomplete(at Chart, catalogued bool) (found, expected string) {
	if e.Kind != KindManifests {
		return at.Incomplete(catalogued)
	}
	if at.Name != "" {
		return "is of kind manifests and has chart.name", "chart.path, a folder in Git"
	}
	var missing []string
	for _, key := range []struct{ name, value string }{{"chart.path", at.Path}, {"chart.repoURL", at.RepoURL}, {"chart.version", at.Version}} {
		if key.value == "" {
			missing = append(missing, key.name)
		}
	}
	if len(missing) == 0 {
		return "", ""
	}
	return "lacks " + strings.Join(missing, ", "), "a folder in Git and its revision"
}

// KindName returns a kind as a catalog names it.
func KindName(kind string) string {
	if kind == "" {
		return kindChart
	}
	return kind
}
