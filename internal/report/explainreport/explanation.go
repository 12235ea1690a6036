// Package explainreport writes where everything about one component of one cluster comes from, as
// JSON and text.
package explainreport

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/release"
	"github.com/argosy-hub/argosy/internal/report"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Explanation is where everything about one component of one cluster comes from.
type Explanation struct {
	APIVersion  string `json:"apiVersion" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind        string `json:"kind" jsonschema:"enum=Explanation"`
	Revision    string `json:"revision"`
	Hub         string `json:"hub"`
	Cluster     string `json:"cluster"`
	Tenant      string `json:"tenant"`
	Environment string `json:"environment"`
	// Member is the member file.
	Member    problem.Pos `json:"member"`
	Model     string      `json:"model" jsonschema:"enum=centralized,enum=agent"`
	Lifecycle string      `json:"lifecycle" jsonschema:"enum=active,enum=draining,enum=retired"`
	Group     string      `json:"group"`
	Component string      `json:"component"`
	// State says whether the component runs on the cluster, and if not, why.
	State string `json:"state" jsonschema:"enum=deployed,enum=switched-off,enum=not-selected,enum=not-registered,enum=not-listed,enum=retired"`
	// Deletion is what becomes of what still runs of a component that is not to run: it goes with its Application
	// (cascade), or stays (orphan). Absent where it is to run.
	Deletion string `json:"deletion,omitempty" jsonschema:"enum=cascade,enum=orphan"`
	// Owner is whose engine owns the Application: "hub", or the member's name.
	Owner string `json:"owner"`
	// Engine is the owner's engine.
	Engine  string        `json:"engine" jsonschema:"enum=argocd,enum=flux"`
	Release ReleaseChoice `json:"release"`
	// Enabled is the catalog entry's switch; absent when no level sets it, and for the registration chart.
	Enabled *Setting `json:"enabled,omitempty"`
	// Selector is the catalog entry's label selector; absent when it has none.
	Selector *Setting `json:"selector,omitempty"`
	// SelectorLabels are the cluster's labels that the selector asks for.
	SelectorLabels []Label `json:"selectorLabels"`
	// Source is "manifests" for a folder in Git, chart.path, and "chart" for a chart; absent for the registration chart.
	Source *Setting `json:"source,omitempty"`
	// DependsOn are the components that Flux waits for, Substitute has it put the facts for variables in manifests.
	DependsOn  *Setting `json:"dependsOn,omitempty"`
	Substitute *Setting `json:"substitute,omitempty"`
	// Chart are the chart's coordinates; those that are not set are absent.
	Chart       ChartCoordinates `json:"chart"`
	Namespace   *Setting         `json:"namespace,omitempty"`
	ReleaseName *Setting         `json:"releaseName,omitempty"`
	// Catalog are the files with a catalog entry for the component, least specific first.
	Catalog []Layer `json:"catalog"`
	// Layers are those of the values, least specific first, with those that are missing.
	Layers []Layer `json:"layers"`
	// Path is what was asked for; absent for all values.
	Path   string  `json:"path,omitempty"`
	Values []Value `json:"values"`
	// Conflicts are type conflicts between layers.
	Conflicts []report.Finding `json:"conflicts"`
	// Labels are all labels of the cluster.
	Labels []Label `json:"labels"`
}

// Kind is the kind of an Explanation.
const Kind = "Explanation"

// ReleaseChoice is the cluster's release of the group, and what chose it.
type ReleaseChoice struct {
	Type string `json:"type"`
	// Label is the label that chooses a release.
	Label string `json:"label"`
	// Labelled tells whether the cluster has it; without, it is on the release of type "default".
	Labelled bool `json:"labelled"`
	// Position is where Git declares it; absent when only the live cluster Secret has it.
	Position problem.Pos `json:"position,omitzero"`
	// Source is the chart that brings the release's catalog, by the versions file; absent for the registration chart, and where no
	// file mentions the group.
	Source *ReleaseSource `json:"source,omitempty"`
	// Catalog is the catalog that is shown: a file as it is in this revision of the repository, or COMMIT:FILE where it has been read
	// at the revision that Source names. Absent where the layout names none.
	Catalog string `json:"catalog,omitempty"`
	// CatalogRevision is the commit of that revision; absent for a file of this one.
	CatalogRevision string `json:"catalogRevision,omitempty"`
	// CatalogMissing says why the catalog of Source could not be read, so that this revision's is shown for it.
	CatalogMissing string `json:"catalogMissing,omitempty"`
	// Unlisted tells that the release's catalog lacks the component, which is shown by this revision's, if that has it: no
	// ApplicationSet of the release asks for it, unless one is left over from before.
	Unlisted bool `json:"unlisted,omitempty"`
}

// ReleaseSource is where the chart of a release comes from; those that are not set are absent.
type ReleaseSource struct {
	RepoURL        *Setting `json:"repoURL,omitempty"`
	Path           *Setting `json:"path,omitempty"`
	Chart          *Setting `json:"chart,omitempty"`
	TargetRevision *Setting `json:"targetRevision,omitempty"`
}

// ChartCoordinates are where a chart comes from.
type ChartCoordinates struct {
	RepoURL *Setting `json:"repoURL,omitempty"`
	Name    *Setting `json:"name,omitempty"`
	Path    *Setting `json:"path,omitempty"`
	Version *Setting `json:"version,omitempty"`
}

// Setting is one value of a catalog entry.
type Setting struct {
	Value any `json:"value"`
	// Level and Position say who set it; absent for the engine's own default.
	Level    string      `json:"level,omitempty"`
	Position problem.Pos `json:"position,omitzero"`
	// Over are those whom it overrode, the most recent first.
	Over []Overridden `json:"over,omitempty"`
}

// Layer is the file of one level.
type Layer struct {
	Level   string `json:"level"`
	Path    string `json:"path"`
	Present bool   `json:"present"`
}

// Value is one value of the merged tree: a scalar, null, an empty map, or a list.
type Value struct {
	Path     string       `json:"path"`
	Value    any          `json:"value"`
	Level    string       `json:"level"`
	Position problem.Pos  `json:"position,omitzero"`
	Over     []Overridden `json:"over,omitempty"`
}

// Overridden is what a lower level had said.
type Overridden struct {
	Value    any         `json:"value"`
	Level    string      `json:"level"`
	Position problem.Pos `json:"position,omitzero"`
}

// Label is a label of the cluster.
type Label struct {
	Key string `json:"key"`
	// Value is absent when the cluster has no such label.
	Value *string `json:"value,omitempty"`
	// Position is where Git declares it; absent for reserved labels and those of the live cluster Secret alone.
	Position problem.Pos `json:"position,omitzero"`
}

// The states of a component.
const (
	stateDeployed      = "deployed"
	stateSwitchedOff   = "switched-off"
	stateNotSelected   = "not-selected"
	stateNotRegistered = "not-registered"
	stateNotListed     = "not-listed"
	stateRetired       = "retired"
)

// New is what the engine explains, restricted to the values at and below a path (hierarchy.ParsePath), which
// may be empty. The error is a *PathError.
func New(e *generator.Explanation, path []string) (Explanation, error) {
	m := e.Member
	out := Explanation{
		APIVersion: report.APIVersion, Kind: Kind, Revision: e.Revision,
		Hub: m.Hub, Cluster: m.Name, Tenant: m.Tenant, Environment: m.Environment, Member: problem.Pos{File: m.Pos.File},
		Model: m.Model(), Lifecycle: e.Lifecycle, Group: e.Group, Component: e.Component,
		State: state(e), Owner: e.Owner, Engine: e.Engine,
		Release: ReleaseChoice{Type: e.Release, Label: release.LabelOf(e.Group)},
		Path:    hierarchy.FormatPath(path), Values: []Value{}, Conflicts: report.Findings(e.Conflicts),
		Catalog: layers(e.Entry.Layers()), Layers: layers(e.Layers), SelectorLabels: []Label{}, Labels: []Label{},
	}
	if out.State != stateDeployed && out.State != stateNotRegistered && out.State != stateNotListed {
		out.Deletion = e.Deletion
	}
	_, out.Release.Labelled = e.Labels[out.Release.Label]
	out.Release.Position = e.LabelOrigins[out.Release.Label]
	for _, key := range slices.Sorted(maps.Keys(e.Labels)) {
		out.Labels = append(out.Labels, label(e, key))
	}
	out.entry(e)
	if len(path) > 0 && e.Values.At(path) == nil {
		return Explanation{}, pathError(e, path)
	}
	for _, l := range e.Values.Leaves(path) {
		out.Values = append(out.Values, Value{
			Path: hierarchy.FormatPath(l.Path), Value: l.Value.Any(), Level: l.Level, Position: l.Pos, Over: overridden(l.Replaced),
		})
	}
	return out, nil
}

func state(e *generator.Explanation) string {
	switch {
	case !e.Enabled:
		return stateSwitchedOff
	case !e.Selected, e.Entry == nil && e.Member.IsHub: // the registration of a hub: it does not register itself
		return stateNotSelected
	case e.Member.Lifecycle == fleet.Retired:
		return stateRetired
	case !e.Registered:
		return stateNotRegistered
	case e.Unlisted: // unless an ApplicationSet is left over
		return stateNotListed
	}
	return stateDeployed
}

// entry explains the catalog entry; the registration chart has none.
func (out *Explanation) entry(e *generator.Explanation) {
	if e.Entry == nil {
		return
	}
	out.Release.Source = releaseSource(e.Versions)
	if l := e.Entry.Layers(); len(l) > 0 && l[0].Level == catalogLevel {
		out.Release.Catalog = l[0].Path
	}
	out.Release.Unlisted = e.Unlisted
	if c := e.Catalog; c != nil {
		out.Release.CatalogRevision, out.Release.CatalogMissing = c.Commit, c.Missing
	}
	kind := "chart"
	if e.Kind != "" {
		kind = e.Kind
	}
	out.Source = setting(e.Entry, &kind, "kind")
	out.DependsOn, out.Substitute = setting(e.Entry, nil, "dependsOn"), setting(e.Entry, nil, "substitute")
	out.Enabled = setting(e.Entry, nil, "enabled")
	out.Selector = setting(e.Entry, nil, "selector")
	for _, key := range selectorKeys(e.Entry.At([]string{"selector"})) {
		out.SelectorLabels = append(out.SelectorLabels, label(e, key))
	}
	out.Chart = ChartCoordinates{
		RepoURL: setting(e.Entry, &e.Chart.RepoURL, "chart", "repoURL"), Name: setting(e.Entry, &e.Chart.Name, "chart", "name"),
		Path: setting(e.Entry, &e.Chart.Path, "chart", "path"), Version: setting(e.Entry, &e.Chart.Version, "chart", "version"),
	}
	out.Namespace = setting(e.Entry, &e.Namespace, "namespace")
	out.ReleaseName = setting(e.Entry, &e.ReleaseName, "releaseName")
}

// catalogLevel is the level of the layout's catalog.
const catalogLevel = "catalog"

// versionsLevel is the level of what the versions file says.
const versionsLevel = "versions"

// releaseSource is where a release's chart comes from, each key with its place in the versions file.
func releaseSource(r release.Release) *ReleaseSource {
	of := func(value, key string) *Setting {
		if value == "" {
			return nil
		}
		return &Setting{Value: value, Level: versionsLevel, Position: r.Places[key]}
	}
	s := r.Source
	switch {
	case s.RepoURL == "":
		return nil
	case s.Chart != "":
		return &ReleaseSource{RepoURL: of(s.RepoURL, "chartRepo"), Chart: of(s.Chart, "ecrChartName"), TargetRevision: of(s.TargetRevision, "version")}
	}
	return &ReleaseSource{RepoURL: of(s.RepoURL, "chartRepoUrl"), Path: of(s.Path, "chartRepoPath"), TargetRevision: of(s.TargetRevision, "chartRepoRevision")}
}

// setting is the value at a path of a catalog entry. Computed, when it is not nil and not empty, is what became of it: a
// template's result, or the engine's default where no level sets it.
func setting(t *hierarchy.Tree, computed *string, path ...string) *Setting {
	o, ok := t.Origin(path)
	set := ok && !o.Value.IsNull() && (o.Value.Kind != yamldoc.String || o.Value.Text != "")
	if !set {
		if computed == nil || *computed == "" {
			return nil
		}
		return &Setting{Value: *computed}
	}
	s := &Setting{Value: o.Value.Any(), Level: o.Level, Position: o.Pos, Over: overridden(t.History(path))}
	if computed != nil && *computed != "" {
		s.Value = *computed
	}
	return s
}

func overridden(origins []hierarchy.Origin) []Overridden {
	var out []Overridden
	for _, o := range origins {
		out = append(out, Overridden{Value: o.Value.Any(), Level: o.Level, Position: o.Pos})
	}
	return out
}

func layers(all []hierarchy.Layer) []Layer {
	out := []Layer{}
	for _, l := range all {
		out = append(out, Layer{Level: l.Level, Path: l.Path, Present: !l.Missing()})
	}
	return out
}

func label(e *generator.Explanation, key string) Label {
	l := Label{Key: key, Position: e.LabelOrigins[key]}
	if v, ok := e.Labels[key]; ok {
		l.Value = &v
	}
	return l
}

// selectorKeys are the labels that a selector asks for, in order.
func selectorKeys(n *yamldoc.Node) []string {
	var keys []string
	if m := n.Get("matchLabels"); m.IsMap() {
		for _, f := range m.Fields {
			keys = append(keys, f.Key)
		}
	}
	if l := n.Get("matchExpressions"); l != nil {
		for _, item := range l.Items {
			if key := item.Get("key"); key != nil {
				keys = append(keys, key.Text)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
