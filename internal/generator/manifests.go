package generator

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// A component is a chart, or with `kind: manifests` a folder in Git that an engine applies as it is: a kustomization, or
// files. It has no values: where clusters differ, so do the folders (chart.path is a template), or Flux's variables.

// KindManifests is ComponentSet.Kind of such a folder. A chart's is empty.
const KindManifests = "manifests"

const kindChart = "chart"

// readKind reads what an entry says of its kind, and the keys that go with it.
func (e *Entry) readKind(r *yamldoc.Reader, m *yamldoc.MapReader) {
	switch kind := m.String(KeyKind); kind {
	case "", kindChart:
	case KindManifests:
		e.Kind = KindManifests
	default:
		r.Add(problem.InvalidValue, m.Node().Get(KeyKind), `key "kind"`, fmt.Sprintf("is %q", kind), kindChart+" or "+KindManifests, problem.Nearest(kind, []string{kindChart, KindManifests})...)
	}
	for _, n := range m.List(KeyDependsOn) {
		if n.Kind != yamldoc.String || !labels.IsName(n.Text) {
			r.Add(problem.InvalidValue, n, `key "dependsOn"`, "has an element that is no component's name", "names of components, without their groups")
			continue
		}
		e.DependsOn = append(e.DependsOn, n.Text)
	}
	if e.Substitute = m.Bool(KeySubstitute, false); e.Substitute && e.Kind != KindManifests {
		r.Add(problem.InvalidValue, m.Node().Get(KeySubstitute), `key "substitute"`, "is for "+KindManifests, "a chart's values, which are templates over the facts")
	}
}

// incomplete reports coordinates that cannot be deployed, as Chart.incomplete does of a chart's.
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

// kindFaults are what is wrong with a component's kind on a cluster. The catalog alone says of which kind a component is:
// its ApplicationSet is made for that.
func (b *Resolver) kindFaults(c *Cluster, g *Group, component string, e *Entry, tree *hierarchy.Tree) []problem.Problem {
	fault := func(key, found, expected string, reason problem.Reason) []problem.Problem {
		return c.Attribute([]problem.Problem{{
			Reason: reason, Severity: problem.Error, Pos: tree.At([]string{key}).Pos(),
			Subject: fmt.Sprintf("key %q of component %q of group %q", key, component, g.Name), Found: found, Expected: expected,
		}})
	}
	if first := tree.Layers(); len(first) > 0 && first[0].Level == CatalogLevel {
		said := "" // in the catalog
		if n := first[0].Root.Get(KeyKind); n != nil && n.Text == KindManifests {
			said = KindManifests
		}
		if said != e.Kind {
			return fault(KeyKind, fmt.Sprintf("is not that of the catalog, %s", kindText(said)), "kind where the catalog of the release has the component, and nowhere else", problem.InvalidValue)
		}
	}
	if e.Substitute && !b.IsDeployedByFlux(c, g.Name) {
		return fault(KeySubstitute, "is true, and Argo CD has no variables", "an engine flux, or folders that need none", problem.UnsupportedEngine)
	}
	return nil
}

func kindText(kind string) string {
	if kind == "" {
		return kindChart
	}
	return kind
}

// byFlux reports whether Flux deploys a group to a cluster: the member's own, or that of its hub.
func (b *Resolver) IsDeployedByFlux(c *Cluster, group string) bool {
	if c.Member.Owner(group) != fleet.OwnerHub {
		return c.Member.Engine == fleet.EngineFlux
	}
	self := b.Fleet.HubMember(c.Member.Hub)
	return self != nil && self.Engine == fleet.EngineFlux
}

// valueless reports values of a component that takes none.
func (c *Cluster) valueless(component string, layers []hierarchy.Layer) []problem.Problem {
	for _, l := range layers {
		if l.Root.IsMap() && len(l.Root.Fields) > 0 {
			return c.Attribute([]problem.Problem{{
				Reason: problem.InvalidValue, Severity: problem.Error, Pos: l.Root.Pos(), Subject: fmt.Sprintf("component %q", component),
				Found: "has values, and is of kind manifests", Expected: "no values: manifests are applied as they are",
				Hints: []string{"chart.path is a template: a folder for each environment, for one"},
			}})
		}
	}
	return nil
}
