package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/labels"
)

// ComponentsKey holds the components of a catalog file that is also a values file of
// charts/application-sets.
const ComponentsKey = "components"

// The keys of a catalog entry that the resolver reads. An entry's further keys are options of the
// ApplicationSet.
const (
	KeyEnabled     = "enabled"
	KeyChart       = "chart"
	KeyNamespace   = "namespace"
	KeyReleaseName = "releaseName"
	KeySelector    = "selector"
	KeyValues      = "values"
	KeyKind        = "kind"
	KeyDependsOn   = "dependsOn"
	KeySubstitute  = "substitute"
	KeyCompanions  = "companions"
)

var readKeys = []string{KeyEnabled, KeyChart, KeyNamespace, KeyReleaseName, KeySelector, KeyValues, KeyKind, KeyDependsOn, KeySubstitute, KeyCompanions}

// IsRead reports whether parameter sets are made of a key of an entry, and not only
// ApplicationSets.
func IsRead(key string) bool { return slices.Contains(readKeys, key) }

// knownKeys are readKeys and a chart's keys that may be in the entry itself.
var knownKeys = append([]string{"repoURL", "version", "path"}, readKeys...)

// ChartKeys are the keys of a chart's coordinates.
var ChartKeys = []string{"repoURL", "name", "version", "path"}

// Entries returns the entries of a catalog file: below `components`, or at the top.
func Entries(root *yamldoc.Node) *yamldoc.Node {
	inner := root.Get(ComponentsKey)
	switch {
	case inner.IsMap():
		return inner
	case inner != nil && inner.Kind == yamldoc.Null:
		return nil // `components:` without entries
	case root.IsMap():
		return root
	}
	return nil
}

// Chart is where a component's chart comes from.
type Chart struct {
	RepoURL string `json:"repoURL"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Path    string `json:"path"`
}

// Text is a text of an entry that may be a template: the field for its result, and its path.
type Text struct {
	To   *string
	Path []string
}

// Texts returns the chart's coordinates.
func (c *Chart) Texts() []Text {
	return []Text{
		{&c.RepoURL, []string{KeyChart, "repoURL"}},
		{&c.Name, []string{KeyChart, "name"}},
		{&c.Version, []string{KeyChart, "version"}},
		{&c.Path, []string{KeyChart, "path"}},
	}
}

// Entry is a merged catalog entry, its templates not yet executed.
type Entry struct {
	Enabled     bool `json:"enabled,omitempty"`
	Chart       Chart
	Namespace   string `json:"namespace,omitempty"`
	ReleaseName string `json:"releaseName,omitempty"`
	Selector    labels.Selector
	Problems    []problem.Problem
	Node        *yamldoc.Node // all but values, for templates
	// Kind is KindManifests, or empty for a chart.
	Kind       string
	DependsOn  []string `json:"dependsOn,omitempty" jsonschema:"maxItems=100" is:"quoted" pattern:"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" expect:"components of the same cluster, as component or group/component"`
	Substitute bool     `json:"substitute,omitempty"`
	// Companions are the names of further charts, sorted.
	Companions []string
	// MayHaveCompanions reports whether any catalog names companions of the component.
	MayHaveCompanions bool

	isTemplate [6]bool // which of Templates hold one
}

// FindTemplates finds which of an entry's own keys hold templates. Before it is called, Templates
// returns none.
func (e *Entry) FindTemplates(isTemplate func(path []string) bool) {
	var c Chart
	var namespace, releaseName string
	for i, t := range ownTexts(&c, &namespace, &releaseName) {
		e.isTemplate[i] = isTemplate(t.Path)
	}
}

// HasTemplates reports whether Templates returns any.
func (e *Entry) HasTemplates() bool { return e.isTemplate != [6]bool{} }

// Templates returns the keys with templates, of the chart's coordinates and the names.
func (e *Entry) Templates(c *Chart, namespace, releaseName *string) []Text {
	if !e.HasTemplates() {
		return nil // nearly always
	}
	var out []Text
	for i, t := range ownTexts(c, namespace, releaseName) {
		if e.isTemplate[i] {
			out = append(out, t)
		}
	}
	return out
}

func ownTexts(c *Chart, namespace, releaseName *string) []Text {
	return append(c.Texts(), Text{namespace, []string{KeyNamespace}}, Text{releaseName, []string{KeyReleaseName}})
}

// LongForm returns an entry without its values, with the short form of chart coordinates (`chart:
// name` and top-level repoURL, version and path) moved below `chart`. A null for `enabled` is left
// out: it says nothing, so it removes nothing.
func LongForm(e *yamldoc.Node) *yamldoc.Node {
	if !e.IsMap() {
		return e
	}
	var fields, chart []yamldoc.Field
	var chartAt yamldoc.Field
	for _, f := range e.Fields() { // sorted: chart comes first, and wins over the short form
		switch {
		case f.Key == KeyValues && (f.Value.IsMap() || f.Value.IsNull()):
		case f.Key == KeyEnabled && f.Value.IsNull(): // the value of lower layers holds
		case f.Key == KeyChart && f.Value.IsMap():
			chart, chartAt = append(chart, f.Value.Fields()...), f
		case f.Key == KeyChart && f.Value.Kind == yamldoc.String:
			name := f
			name.Key = "name"
			chart, chartAt = append(chart, name), f
		case (f.Key == "repoURL" || f.Key == "version" || f.Key == "path") && (e.Get(KeyChart) == nil || chartAt.Key == KeyChart):
			if slices.ContainsFunc(chart, func(c yamldoc.Field) bool { return c.Key == f.Key }) {
				continue
			}
			chart = append(chart, f)
			if chartAt.Key == "" {
				chartAt = f
			}
		default:
			fields = append(fields, f)
		}
	}
	if chart != nil {
		fields = append(fields, yamldoc.Field{Key: KeyChart, Line: chartAt.Line, Column: chartAt.Column, Value: yamldoc.MapAt(chartAt.Value, chart)})
	}
	return yamldoc.MapAt(e, fields)
}

// GivesChart reports whether an entry, which may be nil, has coordinates of a chart.
func GivesChart(e *yamldoc.Node) bool { return !LongForm(e).Get(KeyChart).IsNull() }

// entryKeys are the keys of a merged entry. A catalog's values are not among them.
type entryKeys struct {
	*Entry
	Map        *yamldoc.Node            `json:"-" is:"open"`
	Chart      chartKeys                `json:"chart,omitempty"`
	Selector   *yamldoc.Node            `json:"selector,omitempty"`
	Kind       string                   `json:"kind,omitempty" jsonschema:"enum=chart,enum=manifests"`
	Companions map[string]companionKeys `json:"companions,omitempty" is:"name"`
	Values     map[string]*yamldoc.Node `json:"values,omitempty"`
}

type chartKeys struct {
	RepoURL string `json:"repoURL,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty" is:"quoted"`
	Path    string `json:"path,omitempty"`
}

// companionKeys are the keys of a further chart.
type companionKeys struct {
	Chart       chartKeys                `json:"chart,omitempty"`
	ReleaseName string                   `json:"releaseName,omitempty"`
	Values      map[string]*yamldoc.Node `json:"values,omitempty"`
}

// ReadEntry reads a merged catalog entry; its templates are not executed.
func ReadEntry(n *yamldoc.Node) *Entry {
	doc := &yamldoc.Doc{}
	if n != nil && n.Doc != nil {
		doc = n.Doc
	}
	r := yamldoc.NewReader(doc)
	e := &Entry{}
	e.Node = r.Decode(n.WithoutNulls(), "catalog entry", problem.InvalidValue, &entryKeys{Entry: e}).Node
	e.Problems = problem.Errors(r.Problems())
	return e
}

// Check keeps the keys, and checks what concerns more than one.
func (k *entryKeys) Check(at yamldoc.At) {
	k.Entry.Chart, k.Entry.Companions = Chart(k.Chart), slices.Sorted(maps.Keys(k.Companions))
	if slices.Contains(k.Entry.Companions, KeyValues) {
		at.AddAt(problem.InvalidValue, at.In(KeyCompanions).Pos(KeyValues), `companion "values"`, "has the name of the component's own values file", "another name")
	}
	if k.Kind == KindManifests {
		k.Entry.Kind = KindManifests
	} else if k.Substitute {
		at.Wrong(KeySubstitute, "is for "+KindManifests, "a chart's values, which are templates over the facts")
	}
	if k.Selector == nil {
		return
	}
	var err error
	if k.Entry.Selector, err = labels.ParseSelector(k.Selector.Any()); err != nil {
		at.Add(problem.InvalidSelector, k.Selector, `key "selector"`, err.Error(), "matchLabels and matchExpressions")
	}
}

// Incomplete reports the coordinates of an entry that cannot be deployed. A chart without any is
// incomplete only when they are needed: when a catalog gives them, or should.
func (e *Entry) Incomplete(at Chart, needed bool) (found, expected string) {
	return at.Incomplete(e.Kind, needed)
}

// Incomplete does so for coordinates of a kind.
func (c Chart) Incomplete(kind string, needed bool) (found, expected string) {
	where, expected := "chart.name or chart.path", "chart coordinates in the catalog"
	switch isFolder := kind == KindManifests; {
	case isFolder && c.Name != "":
		return "is of kind manifests and has chart.name", "chart.path, a folder in Git"
	case isFolder:
		where, expected = "chart.path", "a folder in Git and its revision"
	case c == (Chart{}) && !needed:
		return "", ""
	case c.Name != "" && c.Path != "":
		return "has both chart.name and chart.path", "one of them: a chart of a Helm repository or registry, or a folder in Git"
	}
	var missing []string
	for _, key := range []struct{ name, value string }{{where, c.Name + c.Path}, {"chart.repoURL", c.RepoURL}, {"chart.version", c.Version}} {
		if key.value == "" {
			missing = append(missing, key.name)
		}
	}
	if len(missing) == 0 {
		return "", ""
	}
	return "lacks " + strings.Join(missing, ", "), expected
}

// Problems finds what is wrong in a catalog file of the hierarchy and does not depend on a cluster.
func Problems(root *yamldoc.Node) []problem.Problem {
	entries := Entries(root)
	if misspelt := Misspelt(root); entries == nil || len(misspelt) > 0 {
		return misspelt
	}
	r := yamldoc.NewReader(entries.Doc)
	for _, f := range entries.Fields() {
		if !labels.IsName(f.Key) {
			r.AddAt(problem.InvalidValue, entries.KeyPos(f.Key), fmt.Sprintf("component %q", f.Key), "is not a DNS-1123 label", "lower case letters, digits and inner hyphens")
		}
		if f.Value.IsNull() {
			continue
		}
		e := r.Map(f.Value, fmt.Sprintf("component %q", f.Key))
		for _, key := range e.Node().Fields() {
			if slices.Contains(knownKeys, key.Key) {
				continue
			}
			if hint := problem.Nearest(key.Key, readKeys); len(hint) > 0 { // a misspelt `enabled` would remove the component
				r.AddAt(problem.UnknownKey, f.Value.KeyPos(key.Key), fmt.Sprintf("key %q of component %q", key.Key, f.Key), "is not known", "one of "+strings.Join(readKeys, ", "), hint...)
			} else {
				r.Warn(problem.UnknownKey, key.Value, fmt.Sprintf("key %q of component %q", key.Key, f.Key),
					"is not read in the hierarchy", "one of "+strings.Join(readKeys, ", "),
					"settings of the ApplicationSet belong into the values of charts/application-sets")
			}
		}
	}
	return r.Problems()
}

// Misspelt reports the keys of a catalog that look like `components`: all entries below such a key
// would be missing.
func Misspelt(root *yamldoc.Node) []problem.Problem {
	if !root.IsMap() || root.Get(ComponentsKey) != nil {
		return nil
	}
	r := yamldoc.NewReader(root.Doc)
	for _, f := range root.Fields() {
		hint := problem.Nearest(f.Key, []string{ComponentsKey})
		isEntry := slices.ContainsFunc(knownKeys, func(key string) bool { return f.Value.Get(key) != nil })
		if len(hint) > 0 && f.Value.IsMap() && len(f.Value.Fields()) > 0 && !isEntry {
			r.AddAt(problem.UnknownKey, root.KeyPos(f.Key), fmt.Sprintf("key %q", f.Key), "is not known", "components, with the entries below it", hint...)
		}
	}
	return r.Problems()
}

// NearMisses reports keys in the entries of a layout's catalog that are most likely misspelt keys
// of Argosy: other keys there are options of the ApplicationSet.
func NearMisses(root *yamldoc.Node) []problem.Problem {
	entries := Entries(root)
	if entries == nil {
		return nil
	}
	r := yamldoc.NewReader(entries.Doc)
	for _, f := range entries.Fields() {
		if !f.Value.IsMap() {
			continue
		}
		for _, key := range f.Value.Fields() {
			if hint := problem.Nearest(key.Key, readKeys); len(hint) > 0 && !slices.Contains(readKeys, key.Key) {
				r.WarnAt(problem.UnknownKey, f.Value.KeyPos(key.Key), fmt.Sprintf("key %q of component %q", key.Key, f.Key), "is not read by Argosy", "", hint...)
			}
		}
	}
	return r.Problems()
}

// Level names the lowest layer in explanations: the catalog, from the request or the layout.
const Level = "catalog"
