package fleetstate

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Group is one group of a cluster.
type Group struct {
	Name, Root string
	Folders    []hierarchy.Folder
	stack      *hierarchy.Stack // the same folders
	// Catalogs are the layout's catalogs and the hierarchy's, least specific first; only those that
	// are there.
	Catalogs catalog.Layers
	Release  release.Release
	// errors of the catalog, mounts and the release's choice: they concern this group alone.
	Errors []problem.Problem
}

// group chooses a group's release and reads its catalogs.
func (b *Resolver) group(c *Cluster, g *Group) {
	var err error
	if g.Release, err = b.Fleet.Versions.Of(g.Name).Choose(c.Labels.All); err != nil {
		g.Errors = append(g.Errors, c.ReleaseProblems(err, release.LabelOf(g.Name))...)
	}
	if l, ok := b.ofOwnChart(g); ok {
		g.Catalogs = append(g.Catalogs, l)
	}
	g.Catalogs = append(g.Catalogs, b.Catalogs[g.Name]...)
	g.Errors = append(g.Errors, c.Attribute(b.Mounts.Unknown(c.Member, g.Name, b.Snapshot))...)
	fail := func(err error) {
		g.Errors = append(g.Errors, c.Attribute(problem.From(err, problem.InvalidYAML, c.Member.Pos))...)
	}
	layers, err := b.levelCatalogs(c, g)
	if err != nil {
		fail(err)
	}
	if err := tenancy.ChargeKept(b.Fleet.Layout, c.account, layers); err != nil {
		fail(err)
	}
	for _, l := range layers {
		if !l.Missing() {
			g.Catalogs = append(g.Catalogs, l)
			g.Errors = append(g.Errors, c.Attribute(b.memo.CatalogErrors(l.Root))...)
		}
	}
}

// levelCatalogs are a group's catalogs of levels. A catalog is the values file of a group as a
// whole: a level that is required for values need not have one.
func (b *Resolver) levelCatalogs(c *Cluster, g *Group) ([]hierarchy.Layer, error) {
	optional := hierarchy.Optional(g.Folders)
	facts, t := c.templateFacts.Lazy(g.Name, "", g.Root), b.Fleet.Layout.Catalog
	resolve := func(level string, folders []hierarchy.Folder) ([]hierarchy.Layer, error) {
		file, err := b.file(t, g.Name, "", level, facts)
		if err != nil {
			return nil, err
		}
		return hierarchy.Resolve(folders, b.Documents, facts, c.account, file)
	}
	if !t.ReadsLevel {
		return resolve("", optional)
	}
	var out []hierarchy.Layer
	var problems problem.List
	for i, f := range optional {
		layers, err := resolve(f.Level, optional[i:i+1])
		out = append(out, layers...)
		problems = append(problems, problem.From(err, problem.InvalidYAML, c.Member.Pos)...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return out, nil
}

// Components are the names of all components that the group's catalogs know for this cluster,
// sorted.
func (g *Group) Components() []string { return g.Catalogs.Components() }

// Has reports whether a component is among those.
func (g *Group) Has(component string) bool { return g.Catalogs.Has(component) }

// WithoutOwnChart is the group by the repository alone, without the catalog of its release's chart
// that this program has.
func (g *Group) WithoutOwnChart() *Group {
	if len(g.Catalogs) == 0 || !catalog.IsOfOwnChart(g.Catalogs[0].Path) {
		return g
	}
	out := *g
	out.Catalogs = g.Catalogs[1:]
	return &out
}

// HasCatalog reports whether the layout has a catalog for the group.
func (g *Group) HasCatalog() bool { return len(g.Catalogs.OfLayout()) > 0 }

// InCatalog reports whether the catalog has a component, which levels of the hierarchy may have
// without.
func (g *Group) InCatalog(component string) bool { return g.Catalogs.OfLayout().Has(component) }
