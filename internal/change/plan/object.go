package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// holdMark is the annotation by which this repository's templates say why an Application does not
// change.
const holdMark = `metadata.annotations["argosy.dev/hold"]`

// Object is a changed object at the end of the pipeline that the changed Applications do not imply:
// another root, or another template of a chart in this repository.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Owner names the owner of its engine, "hub" or a member's name.
	Owner  string `json:"owner"`
	Action Action `json:"action" jsonschema:"enum=create,enum=change,enum=remove"`
	// Left means, for remove, that nothing makes the object any more and that it stays.
	Left bool `json:"left,omitempty"`
	// Cluster is the cluster to which it is deployed, as far as the object says so.
	Cluster string `json:"cluster,omitempty"`
	// HeldBy names the manual hold that keeps the object's Application as it is.
	HeldBy string `json:"heldBy,omitempty"`
	// From names the object that makes it. Position is where that is written.
	From     string      `json:"from,omitempty"`
	Position problem.Pos `json:"position,omitzero"`
	// Differences lists the differences of a changed object.
	Differences []Difference `json:"differences"`
	// More counts the differences that are not listed: a chart's object lists only the first ones.
	// A long text is listed by its first differing line, a Secret's content is hidden, and a random
	// text of a chart is "(random)".
	More int `json:"more,omitempty"`
	// Counted means that it is one of the Applications that are counted.
	Counted bool `json:"-"`
}

// ExpandOptions configures how Expand follows a hub's pipeline. Each field may be nil.
type ExpandOptions struct {
	// Secrets reads the objects of External Secrets.
	Secrets SecretReader
	// Progress is called with the number of objects compared so far.
	Progress func(objects int)
}

// Expand adds the objects at the end of a hub's pipeline that change although its parameter sets do
// not. They change with a root, a chart of this repository or a release. Expand also adds the
// secrets that are newly read and written. The expanded hub's Problems say what it does not follow.
func (p *Plan) Expand(before, after *expand.Hub, with ExpandOptions) {
	i := slices.IndexFunc(p.Hubs, func(h Hub) bool { return h.Name == after.Name() })
	if i < 0 {
		return
	}
	hub := &p.Hubs[i]
	if after.HasNoFleet() { // no fleet has counted them
		hub.IsOfFluxAlone = hub.Name == expand.FluxAlone
		hub.UnchangedClusters, hub.UnchangedApplications = 0, before.Deployers()
	}
	x := &objects{before: before, after: after, changes: changesOf(*hub), components: componentsOf(hub.Clusters)}
	steps, visited := rollouts{}, 0
	secrets := secrets{with.Secrets, x, map[secretKey]secretSite{}, map[secretKey]secretSite{}}
	for pair := range expand.Compare(before, after) {
		steps.add(pair.After)
		visited++
		secrets.pair(pair)
		if o, ok := x.object(pair); ok && !pair.Implied {
			hub.Objects = append(hub.Objects, o)
		}
		if with.Progress != nil {
			with.Progress(visited)
		}
	}
	hub.Rollouts = steps.sorted()
	hub.Secrets = secrets.accesses()
	slices.SortFunc(hub.Objects, func(a, b Object) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.Owner, b.Owner), strings.Compare(a.Namespace, b.Namespace))
	})
}

// changesOf returns a hub's Applications that change by their parameter sets, by owner and name.
func changesOf(h Hub) map[[2]string]Application {
	out := map[[2]string]Application{}
	for _, c := range h.Clusters {
		for _, a := range c.Applications {
			out[[2]string{a.Owner, a.Name}] = a
		}
	}
	return out
}

type objects struct {
	before, after *expand.Hub
	changes       map[[2]string]Application
	components    components
}

// object returns what a pair adds to the plan, and whether it adds anything.
func (x *objects) object(p expand.Pair) (Object, bool) {
	o := p.Any()
	k := o.Key()
	out := Object{
		Counted: x.after.HasNoFleet() && o.IsDeployer(),
		Kind:    k.Kind, Namespace: k.Namespace, Name: k.Name, Owner: k.Engine, Action: Change, Left: p.Left,
		Cluster: clusterOf(o), HeldBy: x.heldBy(o), From: from(o), Position: o.Pos, Differences: []Difference{},
	}
	known, isKnown := x.known(o)
	// An Application that changes by its parameter set neither comes nor goes with it.
	isSaid := isKnown && !(o.Application() && known.Action == Change && known.Name == o.Name())
	if pos := x.placeOfChange(o.Parent); !pos.IsZero() {
		out.Position = pos
	}
	switch {
	case p.After == nil:
		out.Action = Remove
		return out, (p.Left || !isSaid) && !ofHelmRelease(o)
	case p.Before == nil:
		out.Action = Create
		return out, !isSaid && !ofHelmRelease(o)
	}
	if ofHelmRelease(o) || !o.Application() && !o.ApplicationSet() && !x.after.Renders() && !x.chartChanged(p) {
		return out, false // its Application lists the changed values
	}
	out.Counted = out.Counted || !isKnown && o.Application() && o.Parent.IsSet()
	isBaseSaid := o.ApplicationSet() && (isKnown || x.asksForChanged(o))
	differences, more := bounded(o, slices.DeleteFunc(fieldsOf(p.Before, p.After), func(d Difference) bool {
		return isBaseSaid && isOfBase(d) || isImplied(d, o, known, isKnown)
	}))
	out.More = more
	for _, d := range differences {
		x.cause(&d, p)
		out.Differences = append(out.Differences, d)
	}
	out.Differences = append(out.Differences, x.chartValues(p)...)
	return out, len(out.Differences) > 0
}

// chartValues returns the differences of the values that an Application gives to charts that are
// not rendered. With several charts, the names begin with the chart's.
func (x *objects) chartValues(p expand.Pair) (out []Difference) {
	before, after := x.before.ChartValues(p.Before), x.after.ChartValues(p.After)
	for _, chart := range slices.Sorted(maps.Keys(after)) {
		was, known := before[chart]
		if !known {
			continue // another chart, which its fields say
		}
		for _, d := range values(root(was), root(after[chart]), nil) {
			if posOf(d.Old).File == "" && posOf(d.New).File == "" {
				continue // of the Application itself
			}
			if len(after) > 1 {
				d.Name = chart + "." + d.Name
			}
			out = append(out, d)
		}
	}
	return out
}

// chartChanged reports whether the chart that makes an object has other files. An object that is
// written as a file counts as well.
func (x *objects) chartChanged(p expand.Pair) bool {
	return p.After.Written() || len(expand.Rendered(x.before, x.after, p.Before.Parent, p.After.Parent)) > 0
}

// known returns the planned change of an Application or, for Flux, of the object's component.
func (x *objects) known(o *object.Object) (Application, bool) {
	if a, ok := x.changes[[2]string{o.Engine, o.Name()}]; ok && o.Application() {
		return a, true
	}
	// The objects of an Application are created and removed with it. An agent's objects stay when
	// another engine takes it over.
	for above := o.Parent; above != nil; above = above.Parent {
		if a, ok := x.changes[[2]string{above.Engine, above.Name()}]; ok && above.Deploys() && a.View != query.Releases && (a.Action == Create || a.Action == Remove || a.View == query.Agents && a.Action == Move) {
			return a, true
		}
	}
	// A move has two owners.
	for _, a := range x.changes {
		if a.Name == o.Name() && o.Application() && a.Action == Move {
			return a, true
		}
	}
	// A release's ApplicationSets follow from its components, which the plan lists.
	if o.ApplicationSet() && o.Parent != nil {
		if a, ok := x.changes[[2]string{o.Parent.Engine, o.Parent.Name()}]; ok && a.View == query.Releases {
			return a, true
		}
	}
	return Application{}, false
}

// heldBy returns the hold that keeps an object's Application as it is.
func (x *objects) heldBy(o *object.Object) string {
	for above := o.Parent; above != nil; above = above.Parent {
		if a, ok := x.changes[[2]string{above.Engine, above.Name()}]; ok && above.Deploys() {
			return a.HeldBy
		}
	}
	return ""
}

// ofHelmRelease reports whether an object is in an artifact for Flux, which depends only on
// parameter sets.
func ofHelmRelease(o *object.Object) bool {
	return o.Parent != nil && o.Parent.Kind() == "OCIRepository"
}

func clusterOf(o *object.Object) string {
	for above := o; above != nil; above = above.Parent {
		if c := above.Label("argosy.dev/cluster"); c != "" {
			return c
		}
	}
	if o.Engine != fleet.OwnerHub {
		return o.Engine
	}
	return ""
}

// from names what makes an object.
func from(o *object.Object) string {
	if o.Parent == nil {
		return ""
	}
	return o.Parent.Key().String()
}

// impliedBy names, for a field, the differences of an Application that mean the same.
var impliedBy = map[string][]string{
	"targetRevision": {"chart.version", "chartRepoRevision", "version"},
	"chart":          {"chart.name", "ecrChartName"},
	"path":           {"chart.path", "chartRepoPath"},
	"repoURL":        {"chart.repoURL", "chartRepoUrl", "chartRepo"},
	"releaseName":    {"releaseName"},
	"namespace":      {"namespace"},
}

// isOfBase reports whether a field belongs to the catalog entry that an ApplicationSet sends.
func isOfBase(d Difference) bool {
	return strings.Contains(d.Name, ".plugin.input.parameters.base") && !strings.Contains(d.Name, "selector")
}

// asksForChanged reports whether an ApplicationSet queries for a component that has a changed
// Application.
func (x *objects) asksForChanged(o *object.Object) bool {
	generators, _ := manifest.At(o.Tree, "spec", "generators").([]any)
	return slices.ContainsFunc(generators, func(g any) bool {
		of := func(key string) string { return manifest.Text(g, "plugin", "input", "parameters", key) }
		return x.components[component{cmp.Or(of("owner"), o.Engine), of("group"), of("release"), of("component")}]
	})
}

// isImplied reports whether a field's difference repeats a planned difference: values, charts and
// names of changed Applications, labels of a move.
func isImplied(d Difference, o *object.Object, known Application, isKnown bool) bool {
	field := d.Name
	if !isKnown || !o.Application() {
		return false
	}
	if known.Action == Move && strings.HasPrefix(field, "metadata.labels") {
		return true
	}
	// The first companion moves the source into sources, and the last one back: all values come or
	// go.
	if strings.HasPrefix(field, "spec.source.helm.values") && (d.Old == nil || d.New == nil) &&
		slices.ContainsFunc(known.Differences, func(k Difference) bool { return strings.HasPrefix(k.Name, "companions.") }) {
		return true
	}
	if _, value, is := strings.Cut(field, ".helm.values"); is {
		value = strings.TrimPrefix(strings.TrimPrefix(value, "Object"), ".")
		return value == "" || known.View != query.Components || slices.ContainsFunc(known.Differences, func(k Difference) bool {
			return k.Name == value || strings.HasSuffix(k.Name, ".values."+value) // a companion's
		})
	}
	last := field[strings.LastIndexByte(field, '.')+1:]
	return slices.ContainsFunc(known.Differences, func(k Difference) bool {
		return slices.Contains(impliedBy[last], k.Name) && says(d.Old, k.Old) && says(d.New, k.New)
	})
}

// says reports whether two sides have the same value, or are addresses that differ by the scheme.
func says(field, known *Side) bool {
	if field == nil || known == nil {
		return field == nil && (known == nil || known.Value == nil) // null
	}
	a, isText := field.Value.(string)
	b, areTexts := known.Value.(string)
	return equal(field.Value, known.Value) || isText && areTexts && release.WithoutScheme(a) == release.WithoutScheme(b)
}

// fieldsOf returns the differences of two objects. It compares values in YAML texts leaf by leaf.
func fieldsOf(b, a *object.Object) []Difference {
	out := values(fieldTree(b), fieldTree(a), nil)
	for i := range out {
		out[i].Kind = Field
	}
	return out
}

func fieldTree(o *object.Object) *yamldoc.Node {
	return yamldoc.FromAny(nil, withValues(o.WithoutDigest().Tree, ""))
}

// withValues returns a tree with `helm.values` parsed, so that one changed line is one difference.
func withValues(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, below := range v {
			text, ok := below.(string)
			if ok && k == "values" && key == "helm" {
				if doc, err := yamldoc.Parse("", []byte(text)); err == nil && doc.Root.IsMap() {
					below = doc.Root.Any()
				}
			}
			out[k] = withValues(below, k)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, below := range v {
			out[i] = withValues(below, "")
		}
		return out
	}
	return v
}
