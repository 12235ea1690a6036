package generator

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/release"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// resolved is one component of one cluster.
type resolved struct {
	known    bool // some catalog, or the request's base, has an entry
	enabled  bool // switched on, and the entry's selector matches
	chart    Chart
	ns       string
	relName  string
	entry    *hierarchy.Tree
	selector labels.Selector
	lowest   []hierarchy.Layer // the catalogs' values, not yet rendered
	// values is the merged tree; only computed when the component is enabled or everything is to be checked.
	values *hierarchy.Tree
}

// merge is memo.merge with the rules of a component.
func (b *ground) merge(layers []hierarchy.Layer, group, component string) *hierarchy.Tree {
	return b.memo.merge(layers, b.rulesFor(group, component), group+"/"+component)
}

// resolve computes one component of one cluster: its merged catalog entry and its merged values. Base is the request's
// catalog entry, nil for the layout's catalog. Problems are the cluster's own.
func (b *ground) resolve(c *cluster, g *clusterGroup, component string, base *yamldoc.Node) (resolved, []problem.Problem) {
	catalogs := g.catalogs
	if base != nil {
		catalogs = withBase(catalogs, component, base)
	}
	var out resolved
	var entries []hierarchy.Layer
	entries, out.lowest = b.memo.entryLayers(catalogs, component)
	if len(entries) == 0 {
		return out, nil
	}
	out.known = true
	var e *entry
	var problems []problem.Problem
	if out.entry, e, problems = b.mergeEntry(entries, component); len(problems) > 0 {
		return out, c.own(problems)
	}
	out.selector = e.selector
	out.enabled = e.enabled && e.selector.Matches(c.labels.All)
	if !out.enabled {
		return out, nil // what its templates need may be there only for the clusters that the selector selects
	}
	return b.whole(c, g, component, base, out)
}

// whole computes what is left of a component when its entry is known: chart coordinates and values.
func (b *ground) whole(c *cluster, g *clusterGroup, component string, base *yamldoc.Node, out resolved) (resolved, []problem.Problem) {
	facts := c.data.lazy(g, component)
	e := b.memo.entry(out.entry)
	if problems := b.kindFaults(c, g, component, e, out.entry); len(problems) > 0 {
		return out, problems
	}
	if problems := b.coordinates(c, g, component, e, facts, base != nil, &out); len(problems) > 0 {
		return out, problems
	}
	layers := make([]hierarchy.Layer, 0, len(out.lowest)+len(g.folders))
	for _, l := range out.lowest {
		root, err := b.memo.render(l.Root, facts)
		if err != nil {
			return out, c.own(problem.From(err, problem.TemplateFailed, l.Root.Pos()))
		}
		l.Root = root
		layers = append(layers, l)
	}
	files, problems := b.valueLayers(c, g, component)
	if len(problems) > 0 {
		return out, problems
	}
	layers = append(layers, files...)
	if e.kind == KindManifests {
		if problems := c.valueless(component, layers); len(problems) > 0 {
			return out, problems
		}
	}
	out.values = b.merge(layers, g.name, component)
	return out, nil
}

// mergeEntry merges the entries of one component and reads the result.
func (b *ground) mergeEntry(entries []hierarchy.Layer, component string) (*hierarchy.Tree, *entry, []problem.Problem) {
	for _, l := range entries {
		if !l.Root.IsMap() && !l.Root.IsNull() {
			return nil, nil, []problem.Problem{{
				Reason: problem.InvalidValue, Severity: problem.Error, Pos: l.Root.Pos(), Subject: fmt.Sprintf("component %q", component),
				Found: "is a " + l.Root.Kind.String(), Expected: "a map",
			}}
		}
		if !labels.IsName(component) {
			return nil, nil, []problem.Problem{{
				Reason: problem.InvalidValue, Severity: problem.Error, Pos: l.Root.Pos(), Subject: fmt.Sprintf("component %q", component),
				Found: "is no DNS-1123 label", Expected: "lower case letters, digits and inner hyphens",
			}}
		}
	}
	tree := b.memo.merge(entries, nil, "")
	e := b.memo.entry(tree)
	return tree, e, e.problems
}

// withBase puts the request's entry in the place of the layout's catalog.
func withBase(catalogs []hierarchy.Layer, component string, base *yamldoc.Node) []hierarchy.Layer {
	if len(catalogs) > 0 && catalogs[0].Level == catalogLevel {
		catalogs = catalogs[1:]
	}
	root := yamldoc.NewMap(base.Doc, yamldoc.Field{Key: component, Value: base})
	return append([]hierarchy.Layer{{Level: catalogLevel, Path: basePath, Root: root}}, catalogs...)
}

// basePath stands for the request's base where a file is named.
const basePath = "base"

// coordinates executes the templates of an entry's own keys and checks that the chart can be deployed.
func (b *ground) coordinates(c *cluster, g *clusterGroup, component string, e *entry, facts func() any, based bool, out *resolved) []problem.Problem {
	out.chart, out.ns, out.relName = e.chart, e.namespace, e.release
	for _, field := range []struct {
		text *string
		path []string
	}{
		{&out.chart.RepoURL, []string{keyChart, "repoURL"}},
		{&out.chart.Name, []string{keyChart, "name"}},
		{&out.chart.Version, []string{keyChart, "version"}},
		{&out.chart.Path, []string{keyChart, "path"}},
		{&out.ns, []string{keyNamespace}},
		{&out.relName, []string{keyReleaseName}},
	} {
		n := out.entry.At(field.path)
		if !b.memo.isDynamic(n) {
			continue
		}
		rendered, err := b.memo.render(n, facts)
		if err != nil {
			return c.own(problem.From(err, problem.TemplateFailed, n.Pos()))
		}
		*field.text = rendered.Text
	}
	out.chart.RepoURL = release.WithoutScheme(out.chart.RepoURL)
	_, catalogued := b.catalogs[g.name]
	if found, expected := e.incomplete(out.chart, catalogued && !based); found != "" {
		return c.own([]problem.Problem{{
			Reason: problem.IncompleteCatalog, Severity: problem.Error, Pos: e.node.Pos(),
			Subject: fmt.Sprintf("component %q of group %q", component, g.name), Found: found, Expected: expected,
		}})
	}
	if out.ns == "" && e.kind != KindManifests { // manifests say theirs
		out.ns = component
	}
	if out.relName == "" {
		out.relName = component
	}
	return nil
}

// valueLayers are the value files of a component, level by level. Problems are the cluster's own.
func (b *ground) valueLayers(c *cluster, g *clusterGroup, component string) ([]hierarchy.Layer, []problem.Problem) {
	facts := c.data.lazy(g, component)
	file, err := b.file(b.Fleet.Layout.Values, g.name, component, facts)
	if err != nil {
		return nil, c.own(problem.From(err, problem.TemplateFailed, c.member.Pos))
	}
	layers, err := hierarchy.Resolve(g.folders, b.cache, file, facts)
	if err != nil {
		return nil, c.own(problem.From(err, problem.InvalidYAML, c.member.Pos))
	}
	return layers, nil
}
