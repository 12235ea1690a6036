package explain

import (
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/companion"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/placement"
	"github.com/argosy-hub/argosy/internal/resolve/query"

	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/released"
)

// Component explains one component of one cluster, restricted to the values at and below a path
// (hierarchy.ParsePath), which may be empty. An empty hub means the only hub with such a member.
// The error is a *problem.QueryError or a *PathError.
func Component(st *fleetstate.State, t Target, path []string) (Explanation, error) {
	m, failure := st.Fleet.FindMember(t.Hub, t.Cluster)
	if failure != nil {
		return Explanation{}, failure
	}
	if groups := st.Groups(); !slices.Contains(groups, t.Group) {
		return Explanation{}, problem.BadRequest("group %q is not in the layout%s; expected one of %s",
			t.Group, problem.Hint(t.Group, groups), strings.Join(groups, ", "))
	}
	c := st.ClusterOf(m)
	if broken := c.BlockingProblems(); len(broken) > 0 {
		return Explanation{}, query.Unavailable(st, broken)
	}
	g := c.Groups[t.Group]
	if g == nil {
		return Explanation{}, problem.BadRequest("group %q is not in the layout that cluster %q is computed by", t.Group, t.Cluster)
	}
	lifecycle := m.Lifecycle
	if c.LastKnownGood != nil {
		m = c.Member
	}
	x := explainer{Explanation: newExplanation(m, g, t.Component), st: st, member: m, cluster: c, group: g}
	x.Lifecycle, x.Revision, x.Path = lifecycle, st.ResolverOf(c).Snapshot.Revision, hierarchy.FormatPath(path)
	err := x.component
	if t.Group == fleetstate.FleetGroup && t.Component == fleetstate.Registration {
		err = x.registration
		rel, missing := st.ResolverOf(c).Fleet.FleetSecrets.Choose(c.Labels.All)
		if missing != nil {
			return Explanation{}, query.Unavailable(st, c.ReleaseProblems(missing, release.FleetSecretsLabel))
		}
		x.Release = ReleaseChoice{Type: rel.Type, Label: release.FleetSecretsLabel, Source: releaseSource(rel)}
	}
	x.labels()
	if st.ResolverOf(c).IsDeployedByFlux(c, t.Group) {
		x.Engine = fleet.EngineFlux
	}
	if err := err(); err != nil {
		return Explanation{}, err
	}
	if err := x.values(path); err != nil {
		return Explanation{}, err
	}
	if s := st.ResolverOf(c).Snapshot; len(s.Parts()) > 0 {
		return problem.Relocate(x.Explanation, s.Locate), nil
	}
	return x.Explanation, nil
}

func newExplanation(m *fleet.Member, g *fleetstate.Group, component string) Explanation {
	return Explanation{
		APIVersion: fleet.APIVersion, Kind: Kind, Hub: m.Hub, Cluster: m.Name, Tenant: m.Tenant, Environment: m.Environment,
		Member: problem.Pos{File: m.Pos.File}, Model: m.Model(), Group: g.Name, Component: component,
		Owner: m.Owner(g.Name), Engine: fleet.EngineArgoCD,
		Release:        ReleaseChoice{Type: g.Release.Type, Label: release.LabelOf(g.Name)},
		SelectorLabels: []Label{}, Catalog: []Layer{}, Layers: []Layer{}, Values: []Value{}, Labels: []Label{},
	}
}

// explainer fills in an Explanation.
type explainer struct {
	Explanation
	st      *fleetstate.State
	member  *fleet.Member
	cluster *fleetstate.Cluster
	group   *fleetstate.Group
	tree    *hierarchy.Tree // the merged values
}

func (x *explainer) labels() {
	set := x.cluster.Labels
	_, x.Release.Labelled = set.All[x.Release.Label]
	x.Release.Position = set.Origins[x.Release.Label]
	for _, key := range slices.Sorted(maps.Keys(set.All)) {
		x.Labels = append(x.Labels, label(set, key))
	}
}

// registration explains the chart that registers the cluster. It has no catalog entry.
func (x *explainer) registration() error {
	files, _ := x.st.ResolverOf(x.cluster).ValueLayers(x.cluster, x.group, fleetstate.Registration) // they could be read before
	x.merged(x.cluster.Registration, files)
	// A hub does not register itself.
	x.setState(true, !x.member.IsHub, false)
	return nil
}

// component explains a component of the catalogs.
func (x *explainer) component() error {
	c, resolver := x.cluster, x.st.ResolverOf(x.cluster)
	if len(x.group.Errors) > 0 {
		return query.Unavailable(x.st, x.group.Errors)
	}
	name, further, ofCompanion := strings.Cut(x.Component, "/")
	byRelease := released.GroupOf(x.st, c, x.group)
	g, listed := byRelease.Component(name)
	r, problems := resolver.Resolve(c, g, name, nil)
	if len(problems) > 0 {
		return query.Unavailable(x.st, problems)
	}
	if !r.Known {
		names := byRelease.Components()
		if byRelease.IsUnknown && problem.Hint(name, names) == "" {
			return problem.BadRequest("unknown whether cluster %q has component %q of group %q: the catalog of its release %q is neither in the repository nor in a chart of this program",
				c.Member.Name, name, x.Group, g.Release.Type)
		}
		return problem.BadRequest("component %q is in no catalog of group %q for cluster %q%s; expected one of %s",
			name, x.Group, c.Member.Name, problem.Hint(name, names), strings.Join(names, ", "))
	}
	files, problems := resolver.ValueLayers(c, g, name)
	if len(problems) > 0 {
		return query.Unavailable(x.st, problems)
	}
	if !r.Enabled { // if it were enabled, its values would be these
		r.Values, r.Chart = resolver.Merge(files, x.Group, name), r.Entry.Chart
	}
	x.merged(r.Values, files)
	selected := r.Entry.Selector.Matches(c.Labels.All)
	brought := c.Enables(x.Group, name, r) && !(r.Entry.Enabled && selected)
	x.setState(r.Entry.Enabled || brought, selected || brought, !listed)
	if x.State == Deployed && byRelease.Lacks(r) {
		x.State = Unknown
	}
	switch {
	case x.State != SwitchedOff && x.State != NotSelected && x.State != Retired:
	case lifecycle.RemovesWorkloads(x.st, c, x.Group, name, r):
		x.Deletion = fleet.Cascade
	default:
		x.Deletion = fleet.Orphan
	}
	x.entry(r)
	if brought {
		x.byFlag(name)
	}
	if ofCompanion {
		if err := x.companion(r, name, further); err != nil {
			return err
		}
	}
	x.Release.Source = releaseSource(g.Release)
	x.Release.Unlisted = !listed
	own := x.st.Fleet.Layout.Groups[x.Group].OwnCatalogs // from this revision, whatever the release's
	if len(x.Catalog) > 0 && x.Catalog[0].Level == catalog.Level && !own {
		x.Release.Catalog = x.Catalog[0].Path
	}
	if found := byRelease.Catalog; found != nil {
		if listed {
			x.Release.Catalog = found.Path()
		}
		x.Release.CatalogRevision, x.Release.CatalogMissing = found.Commit, found.Missing
	}
	return nil
}

func (x *explainer) setState(enabled, selected, unlisted bool) {
	x.State = StateOf(x.cluster, x.Group, enabled, selected)
	if unlisted && x.State == Deployed { // except for a leftover ApplicationSet
		x.State = NotListed
	}
}

// StateOf returns the state on a cluster of a component that its catalogs enable and select.
func StateOf(c *fleetstate.Cluster, group string, enabled, selected bool) string {
	switch {
	case !enabled:
		return SwitchedOff
	case !selected:
		return NotSelected
	case c.Member.Lifecycle == fleet.Retired:
		return Retired
	case !lifecycle.IsReachable(c, group):
		return NotRegistered
	}
	return Deployed
}

// entry explains the catalog entry.
func (x *explainer) entry(r fleetstate.Component) {
	entry := r.EntryTree
	x.Catalog = layers(entry.Layers())
	x.Source = setting(entry, catalog.KindName(r.Entry.Kind), catalog.KeyKind)
	x.DependsOn = setting(entry, "", catalog.KeyDependsOn)
	x.Substitute = setting(entry, "", catalog.KeySubstitute)
	x.Enabled = setting(entry, "", catalog.KeyEnabled)
	x.Selector = setting(entry, "", catalog.KeySelector)
	for _, key := range selectorKeys(entry.At([]string{catalog.KeySelector})) {
		x.SelectorLabels = append(x.SelectorLabels, label(x.cluster.Labels, key))
	}
	x.Chart = ChartCoordinates{
		RepoURL: setting(entry, r.Chart.RepoURL, catalog.KeyChart, "repoURL"),
		Name:    setting(entry, r.Chart.Name, catalog.KeyChart, "name"),
		Path:    setting(entry, r.Chart.Path, catalog.KeyChart, "path"),
		Version: setting(entry, r.Chart.Version, catalog.KeyChart, "version"),
	}
	x.Namespace = setting(entry, r.Namespace, catalog.KeyNamespace)
	x.ReleaseName = setting(entry, r.ReleaseName, catalog.KeyReleaseName)
}

// byFlag records that a flag of the member, or the label of its name, brings the component,
// whatever its entry says.
func (x *explainer) byFlag(component string) {
	flag, key := placement.BringingFlag(x.member, component)
	pos, level := x.member.KeyPos(key), "member"
	if at, declared := x.cluster.Labels.Origins[flag]; pos.Line == 0 && declared {
		pos, level = at, "label"
	}
	x.Enabled = &Setting{Value: true, Level: level, Position: pos}
	x.Selector, x.SelectorLabels = nil, []Label{}
}

// companion explains a further chart of a component instead of its own.
func (x *explainer) companion(r fleetstate.Component, component, name string) error {
	if !r.Enabled {
		return problem.BadRequest("component %q does not run on cluster %q, and its companions are not computed", component, x.Cluster)
	}
	i := slices.IndexFunc(r.Companions, func(c companion.Companion) bool { return c.Name == name })
	if i < 0 {
		return problem.BadRequest("component %q has no companion %q%s; its companions are %q", component, name, problem.Hint(name, r.Entry.Companions), r.Entry.Companions)
	}
	one := r.Companions[i]
	x.merged(one.Values, nil)
	at := func(value string, keys ...string) *Setting {
		return setting(r.EntryTree, value, append([]string{catalog.KeyCompanions, name}, keys...)...)
	}
	x.Source, x.DependsOn, x.Substitute = nil, nil, nil
	x.Chart = ChartCoordinates{
		RepoURL: at(one.Chart.RepoURL, catalog.KeyChart, "repoURL"), Name: at(one.Chart.Name, catalog.KeyChart, "name"),
		Path: at(one.Chart.Path, catalog.KeyChart, "path"), Version: at(one.Chart.Version, catalog.KeyChart, "version"),
	}
	x.ReleaseName = at(one.ReleaseName, catalog.KeyReleaseName)
	return nil
}

// merged records merged values and the files of their levels, some of which may be missing. The
// other layers are below them, or above where the layout says so.
func (x *explainer) merged(tree *hierarchy.Tree, files []hierarchy.Layer) {
	all := tree.Layers()
	present := 0
	for _, l := range files {
		if !l.Missing() {
			present++
		}
	}
	if x.st.ResolverOf(x.cluster).CatalogValuesWin(x.Group) {
		all = slices.Concat(files, all[present:])
	} else {
		all = slices.Concat(all[:len(all)-present], files)
	}
	x.tree, x.Layers, x.Conflicts = tree, layers(all), problem.Findings(tree.Conflicts())
}

// values lists the values at and below a path.
func (x *explainer) values(path []string) error {
	if len(path) > 0 && x.tree.At(path) == nil {
		return x.pathError(path)
	}
	for _, l := range x.tree.Leaves(path) {
		x.Values = append(x.Values, Value{
			Path: hierarchy.FormatPath(l.Path), Value: l.Value.Any(), Level: l.Level, Position: l.Pos, Over: overridden(l.Replaced),
		})
	}
	return nil
}
