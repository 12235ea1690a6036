package fleetstate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/companion"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/memo"
)

// Component is what a group deploys on a cluster: a chart or a folder of manifests, with its merged
// values.
type Component struct {
	Known   bool // some catalog, or the request's base, has an entry
	Enabled bool // switched on, and the entry's selector matches

	Chart                  catalog.Chart
	Namespace, ReleaseName string

	// EntryTree is the merged catalog entry with its origins, and Entry what it says; both are nil
	// where no catalog has one.
	EntryTree *hierarchy.Tree
	Entry     *catalog.Entry
	// IsBroken reports that a tenant's part of the entry is left out: it does not fit the query's.
	IsBroken bool
	// Companions are the further charts, computed as Values is.
	Companions []companion.Companion
	// Values is the merged tree; only computed when the component is enabled, or by Complete.
	Values *hierarchy.Tree

	catalogs      []hierarchy.Layer // all that have an entry, also where a level above removes it
	catalogValues []hierarchy.Layer // the catalogs' values, not yet rendered
}

// memoOf is the memo for what begins with a catalog: queries' own entries have one of their own.
func (b *Resolver) memoOf(catalogs []hierarchy.Layer) *memo.Memo {
	if len(catalogs) > 0 && catalogs[0].Path == basePath && catalogs[0].Level == catalog.Level {
		return b.queried
	}
	return b.memo
}

// Merge is memo.Merge with the rules of a component.
func (b *Resolver) Merge(layers []hierarchy.Layer, group, component string) *hierarchy.Tree {
	return b.memo.Merge(layers, b.names.Rules(b.Fleet.Layout.Merge, group, component), group+"/"+component)
}

// Resolve computes one component of one cluster: its merged catalog entry and its merged values.
// Base is the request's catalog entry, nil for the layout's catalog. Problems are the cluster's
// own.
func (b *Resolver) Resolve(c *Cluster, g *Group, component string, base *yamldoc.Node) (Component, []problem.Problem) {
	out, problems := b.resolve(c, g, component, base, budget.NewAccount(c.Member.Name))
	if base == nil || len(problems) == 0 {
		return out, problems
	}
	if r, ok := c.resolveSpare(g, component, func(b *Resolver, c *Cluster, g *Group) (Component, []problem.Problem) {
		return b.resolve(c, g, component, base, budget.NewAccount(c.Member.Name))
	}); ok && r.Enabled == out.Enabled {
		r.IsBroken = true
		return r, nil
	}
	for c, g := range b.withoutTenant(c, g, component) {
		r, faults := b.resolve(c, g, component, base, budget.NewAccount(c.Member.Name))
		if len(faults) == 0 && r.Enabled == out.Enabled {
			r.IsBroken = true
			return r, nil
		}
	}
	return out, problems
}

// resolve is Resolve that charges an account.
func (b *Resolver) resolve(c *Cluster, g *Group, component string, base *yamldoc.Node, account *budget.Account) (Component, []problem.Problem) {
	out, problems := b.ResolveEntry(c, g, component, base)
	if !out.Enabled || len(problems) > 0 {
		return out, problems // what its templates need may be there only for the clusters that the selector selects
	}
	return b.complete(c, g, component, base, out, account)
}

// ResolveCoordinates is Resolve without the values: the merged catalog entry and, of an enabled
// component, its chart, namespace and release name.
func (b *Resolver) ResolveCoordinates(c *Cluster, g *Group, component string) (Component, []problem.Problem) {
	out, problems := b.ResolveEntry(c, g, component, nil)
	if !out.Enabled || len(problems) > 0 {
		return out, problems
	}
	r := renderer{c: c, g: g, component: component, memo: b.memoOf(out.catalogs), documents: b.Documents, account: budget.NewAccount(c.Member.Name)}
	problems = b.coordinates(&r, out.Entry, false, &out)
	return out, problems
}

// ResolveEntry merges a component's catalog entry, and reports whether the cluster enables it.
func (b *Resolver) ResolveEntry(c *Cluster, g *Group, component string, base *yamldoc.Node) (Component, []problem.Problem) {
	if !c.Member.IsHub {
		if problems := b.onHub.ForbiddenEntries(b.Fleet.Layout, g.Name, component, g.Catalogs); len(problems) > 0 {
			return Component{}, c.Attribute(problems)
		}
		if problems := b.tenantNames(c, g).Forbidden(component); len(problems) > 0 {
			return Component{}, c.Attribute(problems)
		}
	}
	catalogs := g.Catalogs
	if base != nil {
		catalogs = b.withBase(g, component, base)
	}
	out, problems := b.MergeEntry(catalogs, component)
	out.Enabled = c.Enables(g.Name, component, out) && !b.teams.Of(c.Member).Lacks(b.teams, b.apps, g.Name, component)
	if !out.Known || len(problems) > 0 {
		return out, c.Attribute(problems)
	}
	return out, nil
}

// Complete computes what is left of a component when its entry is known: chart coordinates and
// values.
func (b *Resolver) Complete(c *Cluster, g *Group, component string, base *yamldoc.Node, out Component) (Component, []problem.Problem) {
	return b.complete(c, g, component, base, out, budget.NewAccount(c.Member.Name))
}

// complete is Complete that charges an account.
func (b *Resolver) complete(c *Cluster, g *Group, component string, base *yamldoc.Node, out Component, account *budget.Account) (Component, []problem.Problem) {
	e := out.Entry
	if problems := catalog.KindProblems(g.Name, component, e, out.EntryTree, b.IsDeployedByFlux(c, g.Name)); len(problems) > 0 {
		return out, c.Attribute(problems)
	}
	r := renderer{c: c, g: g, component: component, memo: b.memoOf(out.catalogs), documents: b.Documents, account: account}
	if problems := b.coordinates(&r, e, base != nil, &out); len(problems) > 0 {
		return out, problems
	}
	layers, problems := r.catalogValues(out.catalogValues)
	if len(problems) > 0 {
		return out, problems
	}
	var isDone bool
	if out.Values, isDone = b.mergeStack(&r, e, layers); !isDone {
		if problems := b.mergeLayers(&r, base, layers, &out); len(problems) > 0 {
			return out, problems
		}
	}
	if problems := c.Member.Provision.Unoffered(g.Name, out.Values); len(problems) > 0 {
		return out, c.Attribute(problems)
	}
	if e.MayHaveCompanions {
		var err error
		if out.Companions, err = companion.Resolve(b.companions(r, out)); err != nil {
			return out, c.Attribute(problem.From(err, problem.InvalidValue, c.Member.Pos))
		}
	}
	if g.Name == team.Workloads {
		engine := team.EngineOf(b.IsDeployedByFlux(c, g.Name), c.Member.Owner(g.Name) == fleet.OwnerHub)
		return out, c.Attribute(b.apps.Misplaced(component, out.Namespace, append(companion.Repositories(out.Companions), out.Chart.RepoURL), out.EntryTree.Root, engine))
	}
	return out, nil
}

// mergeStack merges a component's values from what clusters with the same folders share. It reports
// false where mergeLayers has to.
func (b *Resolver) mergeStack(r *renderer, e *catalog.Entry, catalogs []hierarchy.Layer) (*hierarchy.Tree, bool) {
	c, g := r.c, r.g
	if b.Mounts != nil || g.Name == team.Group || g.Name == provision.Group || e.Kind == catalog.KindManifests || !c.Member.IsHub && b.onHub.Has(g.Name, r.component) {
		return nil, false // not all of the files count, or their layers are looked at one by one
	}
	path, err := b.valuesFile(c, g, r.component)
	if err != nil {
		return nil, false
	}
	file := memo.File{Path: path, Rules: b.names.Rules(b.Fleet.Layout.Merge, g.Name, r.component)}
	if len(file.Rules) > 0 {
		file.Scope = g.Name + "/" + r.component
	}
	if b.CatalogValuesWin(g.Name) {
		t, isDone := r.memo.MergeStack(nil, g.stack, file, b.Documents, r.account)
		return r.memo.MergeOnto(t, catalogs, file.Rules, file.Scope), isDone
	}
	return r.memo.MergeStack(r.memo.MergeOnto(nil, catalogs, file.Rules, file.Scope), g.stack, file, b.Documents, r.account)
}

// mergeLayers merges a component's values level by level.
func (b *Resolver) mergeLayers(r *renderer, base *yamldoc.Node, layers []hierarchy.Layer, out *Component) []problem.Problem {
	c, g, component := r.c, r.g, r.component
	files, problems := b.valueLayers(c, g, component, r.account)
	if len(problems) > 0 {
		return problems
	}
	if problems := b.forbiddenValues(c, g.Name, component, files); len(problems) > 0 {
		return problems
	}
	if b.CatalogValuesWin(g.Name) {
		layers, files = files, layers
	}
	layers = slices.Concat(layers, files)
	if g.Name == team.Group {
		if problems := c.Attribute(b.teams.Of(c.Member).Forbidden(component, layers)); len(problems) > 0 {
			return problems
		}
	}
	if out.Entry.Kind == catalog.KindManifests {
		if problems := catalog.UnexpectedValues(component, layers); len(problems) > 0 {
			if base == nil || len(catalog.UnexpectedValues(component, tenancy.PlatformLayers(b.Fleet.Layout, layers))) > 0 {
				return c.Attribute(problems)
			}
			layers, out.IsBroken = nil, true
		}
	}
	out.Values = r.memo.Merge(layers, b.names.Rules(b.Fleet.Layout.Merge, g.Name, component), g.Name+"/"+component)
	return nil
}

// companions are what a component's further charts are resolved by.
func (b *Resolver) companions(r renderer, out Component) companion.Component {
	c, g, component := r.c, r.g, r.component
	facts := c.templateFacts.Lazy(g.Name, component, g.Root)
	return companion.Component{
		Name: component, Group: g.Name, ReleaseName: out.ReleaseName, Entry: out.Entry, Tree: out.EntryTree, Render: r.render,
		ValuesFile: func() (string, error) { return b.valuesFile(c, g, component) },
		Layers: func(files []string) ([]hierarchy.Layer, error) {
			return b.onHub.Companion(b.memo, b.Fleet.Layout, c.Member, g.Name, component)(hierarchy.Resolve(b.Mounts.ReadBy(g.Folders, g.Name, component), b.Documents, facts, r.account, files...))
		},
		Merge: func(layers []hierarchy.Layer) *hierarchy.Tree {
			return r.memo.Merge(layers, b.names.Rules(b.Fleet.Layout.Merge, g.Name, component), g.Name+"/"+component)
		},
	}
}

// CatalogValuesWin reports whether the values of a group's catalog entries beat its value files. A
// team's file always wins (T1), and a member's own says what its cluster is (C2).
func (b *Resolver) CatalogValuesWin(group string) bool {
	return b.Fleet.Layout.CatalogValuesWin && group != team.Group && group != provision.Group
}

// forbiddenValues are the values of a tenant's levels that its chart does not allow there (W1).
func (b *Resolver) forbiddenValues(c *Cluster, group, component string, layers []hierarchy.Layer) []problem.Problem {
	if c.Member.IsHub {
		return nil
	}
	return c.Attribute(b.onHub.ForbiddenValues(b.memo, b.Fleet.Layout, group, component, layers))
}

// MergeEntry merges what catalogs say of a component: its entry, without chart coordinates and
// values.
func (b *Resolver) MergeEntry(catalogs []hierarchy.Layer, component string) (out Component, _ []problem.Problem) {
	out.catalogs = catalogs
	var entries []hierarchy.Layer
	m := b.memoOf(catalogs)
	entries, out.catalogValues = m.EntryLayers(catalogs, component)
	if len(entries) == 0 {
		return out, nil
	}
	out.Known = true
	for _, l := range entries {
		if !l.Root.IsMap() && !l.Root.IsNull() {
			return out, []problem.Problem{{
				Reason: problem.InvalidValue, Severity: problem.Error, Pos: l.Root.Pos(), Subject: fmt.Sprintf("component %q", component),
				Found: "is a " + l.Root.Kind.String(), Expected: "a map",
			}}
		}
		if !labels.IsName(component) {
			return out, []problem.Problem{{
				Reason: problem.InvalidValue, Severity: problem.Error, Pos: l.Root.Pos(), Subject: fmt.Sprintf("component %q", component),
				Found: "is not a DNS-1123 label", Expected: "lower case letters, digits and inner hyphens",
			}}
		}
	}
	out.EntryTree = m.Merge(entries, nil, "")
	out.Entry = m.Entry(out.EntryTree)
	return out, out.Entry.Problems
}

// withBase puts the request's entry in the place of the catalogs that the chart of a release has.
func (b *Resolver) withBase(g *Group, component string, base *yamldoc.Node) []hierarchy.Layer {
	root := yamldoc.NewMap(base.Doc, yamldoc.Field{Key: component, Value: base})
	return append([]hierarchy.Layer{{Level: catalog.Level, Path: basePath, Root: root}}, b.decided(g)...)
}

// basePath stands for the request's base where a file is named.
const basePath = "base"

// coordinates executes the templates of an entry's own keys and checks that the chart can be
// deployed.
func (b *Resolver) coordinates(r *renderer, e *catalog.Entry, based bool, out *Component) []problem.Problem {
	c, g, component := r.c, r.g, r.component
	out.Chart, out.Namespace, out.ReleaseName = e.Chart, e.Namespace, e.ReleaseName
	if e.HasTemplates() {
		if problems := r.ownTexts(e, out); len(problems) > 0 {
			return problems
		}
	}
	out.Chart.RepoURL = release.WithoutScheme(out.Chart.RepoURL)
	found, expected := e.Incomplete(out.Chart, true)
	if _, catalogued := b.Catalogs[g.Name]; found != "" && (!catalogued || based) && !slices.ContainsFunc(out.catalogs, func(l hierarchy.Layer) bool { return catalog.GivesChart(catalog.Entries(l.Root).Get(component)) }) {
		found, expected = e.Incomplete(out.Chart, false)
	}
	if found != "" {
		return c.Attribute([]problem.Problem{{
			Reason: problem.IncompleteCatalog, Severity: problem.Error, Pos: e.Node.Pos(),
			Subject: fmt.Sprintf("component %q of group %q", component, g.Name), Found: found, Expected: expected,
		}})
	}
	if out.Namespace == "" && e.Kind != catalog.KindManifests { // manifests say theirs
		out.Namespace = component
	}
	if out.ReleaseName == "" {
		out.ReleaseName = component
	}
	return nil
}

// UnknownName stands for a name that the repository does not say: that of a release's chart counts.
const UnknownName = "?"

// Identity returns the namespace and the Helm release of a component whose entry has been merged,
// such as "dns/external-dns"; empty where its templates fail.
func (b *Resolver) Identity(c *Cluster, g *Group, component string, r Component) string {
	r.Namespace, r.ReleaseName = r.Entry.Namespace, r.Entry.ReleaseName
	if r.Entry.HasTemplates() {
		x := renderer{c: c, g: g, component: component, memo: b.memoOf(r.catalogs), documents: b.Documents, account: budget.NewAccount(c.Member.Name)}
		if problems := x.ownTexts(r.Entry, &r); len(problems) > 0 {
			return ""
		}
	}
	byDefault := component
	if _, catalogued := b.Catalogs[g.Name]; !catalogued {
		byDefault = UnknownName
	}
	return cmp.Or(r.Namespace, byDefault) + "/" + cmp.Or(r.ReleaseName, byDefault)
}

// ValueLayers are the value files of a component, level by level. Problems are the cluster's own.
func (b *Resolver) ValueLayers(c *Cluster, g *Group, component string) ([]hierarchy.Layer, []problem.Problem) {
	return b.valueLayers(c, g, component, budget.NewAccount(c.Member.Name))
}

// valueLayers is ValueLayers that charges an account.
func (b *Resolver) valueLayers(c *Cluster, g *Group, component string, account *budget.Account) ([]hierarchy.Layer, []problem.Problem) {
	file, err := b.valuesFile(c, g, component)
	if err != nil {
		return nil, c.Attribute(problem.From(err, problem.TemplateFailed, c.Member.Pos))
	}
	facts := c.templateFacts.Lazy(g.Name, component, g.Root)
	layers, err := hierarchy.Resolve(b.Mounts.ReadBy(g.Folders, g.Name, component), b.Documents, facts, account, file)
	if err != nil {
		return nil, c.Attribute(problem.From(err, problem.InvalidYAML, c.Member.Pos))
	}
	if g.Name == team.Group { // its file wins over every level (T1)
		layers = append(layers, b.teams.Of(c.Member).Values(component)...)
	}
	return append(layers, c.Member.Provision.Values(g.Name, c.Member.Name, component, g.Has)...), nil
}

// EnabledByHierarchy are the components that the hierarchy, or a flag of the member, switches on
// for the cluster, whatever the catalog's own default is (R7). An entry that cannot be read is a
// problem: it must not look like one that is switched off (G1).
func (b *Resolver) EnabledByHierarchy(c *Cluster, g *Group) (out []string, problems []problem.Problem) {
	catalogs := b.decided(g)
	for _, component := range b.WithBrought(c, g) {
		r, faults := b.MergeEntry(catalogs, component)
		if !g.HasCatalog() { // else the build has judged the entry as a whole: a part may lack what a key needs
			problems = append(problems, faults...)
		}
		isOn := r.Entry != nil && r.Entry.Enabled && (g.HasCatalog() || len(faults) == 0)
		if isOn || c.isBrought(g.Name, component, r) {
			out = append(out, component)
		}
	}
	return out, problems
}

// BaseEntry is a request's catalog entry as a node, one for equal entries.
func (b *Resolver) BaseEntry(base map[string]any) (*yamldoc.Node, error) {
	n, err := b.queried.Base(&yamldoc.Doc{File: basePath}, base)
	if err != nil {
		return nil, fmt.Errorf("base: %w", err)
	}
	if e := catalog.ReadEntry(catalog.LongForm(n)); len(e.Problems) > 0 {
		return nil, errors.New(strings.TrimPrefix(e.Problems[0].Error(), ": "))
	}
	return n, nil
}

// ValuesText is merged values of a component, its own or those of a companion, as YAML.
func (b *Resolver) ValuesText(r Component, values *hierarchy.Tree) (string, error) {
	if values == nil {
		return b.memo.Text(nil)
	}
	return b.memoOf(r.catalogs).Text(values.Root)
}
