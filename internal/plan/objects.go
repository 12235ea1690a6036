package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/expand/manifest"
	"github.com/argosy-hub/argosy/internal/expand/object"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// quarantineMark is the field by which an Application says why it stays as it is, as this
// repository's templates write it.
const quarantineMark = `metadata.annotations["argosy.dev/quarantine"]`

// Object is what changes for an object at the end of the pipeline beyond what the Applications'
// changes say: another root, another template of a chart in this repository (rule 10).
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Owner is whose engine has it, "hub" or a member's name.
	Owner  string `json:"owner"`
	Action Action `json:"action" jsonschema:"enum=create,enum=change,enum=remove"`
	// Left means, for remove, that nothing makes the object any more and that it stays where it is.
	Left bool `json:"left,omitempty"`
	// Cluster is where it is deployed to, as far as it says so.
	Cluster string `json:"cluster,omitempty"`
	// From is what makes it, and Position where that is written.
	From     string      `json:"from,omitempty"`
	Position problem.Pos `json:"position,omitzero"`
	// Differences are those of a changed object.
	Differences []Difference `json:"differences"`
	// More is how many further differences there are: of what a chart makes, the first are listed.
	// Long texts are listed by the first line that differs, what a Secret holds is hidden, and what
	// a chart makes at random is "(random)".
	More int `json:"more,omitempty"`
	// Counted means that it is one of the Applications that are counted as unchanged.
	Counted bool `json:"-"`
}

// Expand adds to a plan what its hubs' pipelines come to: objects that change though the engine's
// answers do not say so, because a root, a chart of this repository or a release has changed. What
// cannot be followed is among the Problems.
func (p *Plan) Expand(before, after *expand.Hub, progress func(objects int)) {
	i := slices.IndexFunc(p.Hubs, func(h Hub) bool { return h.Name == after.Name() })
	if i < 0 {
		return
	}
	hub := &p.Hubs[i]
	x := &objects{before: before, after: after, told: told(*hub)}
	steps, visited := rollouts{}, 0
	for pair := range expand.Compare(before, after) {
		steps.add(pair.After)
		visited++
		if o, ok := x.object(pair); ok {
			hub.Objects = append(hub.Objects, o)
		}
		if progress != nil {
			progress(visited)
		}
	}
	hub.Rollouts = steps.sorted()
	slices.SortFunc(hub.Objects, func(a, b Object) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.Owner, b.Owner), strings.Compare(a.Namespace, b.Namespace))
	})
}

// told are a hub's Applications that the engine's answers say to change, by name and owner.
func told(h Hub) map[[2]string]Application {
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
	told          map[[2]string]Application
}

// object is what a pair adds to the plan, if that is anything.
func (x *objects) object(p expand.Pair) (Object, bool) {
	o := p.Any()
	k := o.Key()
	out := Object{
		Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Owner: k.Engine, Action: Change, Left: p.Left,
		Cluster: clusterOf(o), From: from(o), Position: o.Pos, Differences: []Difference{},
	}
	known, isKnown := x.known(o)
	if pos := x.toldOf(o.Parent); !pos.IsZero() {
		out.Position = pos
	}
	switch {
	case p.After == nil:
		out.Action = Remove
		return out, (p.Left || !isKnown) && !ofHelmRelease(o)
	case p.Before == nil:
		out.Action = Create
		return out, !isKnown && !ofHelmRelease(o)
	}
	if ofHelmRelease(o) || !o.Application() && !o.ApplicationSet() && !x.after.Renders() && !x.chartChanged(p) {
		return out, false // it is what the values are that have been told
	}
	out.Counted = !isKnown && o.Application() && o.Parent.IsSet()
	differences, more := legible(o, fieldsOf(p.Before, p.After))
	out.More = more
	for _, d := range differences {
		if explained(d.Name, o, known, isKnown) {
			continue
		}
		x.cause(&d, p)
		out.Differences = append(out.Differences, d)
	}
	return out, len(out.Differences) > 0
}

// chartChanged reports whether what makes an object has other files, or the object is one that
// stands as it is.
func (x *objects) chartChanged(p expand.Pair) bool {
	return p.After.Written() || len(expand.Rendered(x.before, x.after, p.Before.Parent, p.After.Parent)) > 0
}

// known is what the engine's answers say of an Application; of its objects for Flux, what they say
// of the component.
func (x *objects) known(o *object.Object) (Application, bool) {
	if a, ok := x.told[[2]string{o.Engine, o.Name()}]; ok {
		return a, true
	}
	// What an Application makes comes and goes with it.
	for above := o.Parent; above != nil; above = above.Parent {
		if a, ok := x.told[[2]string{above.Engine, above.Name()}]; ok && above.Deploys() && a.View != query.Releases && (a.Action == Create || a.Action == Remove) {
			return a, true
		}
	}
	// A move has two owners.
	for _, a := range x.told {
		if a.Name == o.Name() && o.Application() && a.Action == Move {
			return a, true
		}
	}
	// A release's ApplicationSets are its components, which have been told.
	if o.ApplicationSet() && o.Parent != nil {
		if a, ok := x.told[[2]string{o.Parent.Engine, o.Parent.Name()}]; ok && a.View == query.Releases {
			return a, true
		}
	}
	return Application{}, false
}

// ofHelmRelease reports whether an object is one of an artifact for Flux, which is made of the
// engine's answers alone.
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

// explainedBy are fields that say the same as a difference that the engine's answers have.
var explainedBy = map[string][]string{
	"targetRevision": {"chart.version", "chartRepoRevision", "version"},
	"chart":          {"chart.name", "ecrChartName"},
	"path":           {"chart.path", "chartRepoPath"},
	"repoURL":        {"chart.repoURL", "chartRepoUrl", "chartRepo"},
	"releaseName":    {"releaseName"},
	"namespace":      {"namespace"},
}

// explained reports whether a field's difference says nothing new: values, charts and names of
// Applications that the engine's answers tell to change; what the catalog says to the plugin, whose
// answer is told; labels that tell the move.
func explained(field string, o *object.Object, known Application, isKnown bool) bool {
	if o.ApplicationSet() {
		return strings.Contains(field, ".plugin.input.parameters.base") && !strings.Contains(field, "selector")
	}
	if !isKnown || !o.Application() {
		return false
	}
	if strings.Contains(field, ".helm.values") || known.Action == Move && strings.HasPrefix(field, "metadata.labels") {
		return true
	}
	last := field[strings.LastIndexByte(field, '.')+1:]
	return slices.ContainsFunc(known.Differences, func(d Difference) bool { return slices.Contains(explainedBy[last], d.Name) })
}

// fieldsOf are the differences of two objects, values in texts of YAML leaf by leaf.
func fieldsOf(b, a *object.Object) []Difference {
	out := values(fieldTree(b), fieldTree(a), nil)
	for i := range out {
		out[i].Kind = Field
	}
	return out
}

func fieldTree(o *object.Object) *yamldoc.Node { return yamldoc.FromAny(nil, opened(o.Tree, "")) }

// opened is a tree with `helm.values` read, so that one changed line does not show all of them.
func opened(v any, key string) any {
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
			out[k] = opened(below, k)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, below := range v {
			out[i] = opened(below, "")
		}
		return out
	}
	return v
}

// cause fills in where a difference comes from: the object's own text, its ApplicationSet's
// template, or the chart that makes either.
func (x *objects) cause(d *Difference, p expand.Pair) {
	if d.Name == quarantineMark {
		return // the text names the file; the template that puts it there is no cause
	}
	path, err := hierarchy.ParsePath(d.Name)
	if err != nil {
		path = nil
	}
	old, updated, ok := x.version(*d, p)
	if !ok {
		old, updated = x.place(p, path)
	}
	if old.IsZero() { // what it comes from is in one of the two alone
		old = updated
	}
	if updated.IsZero() {
		updated = old
	}
	if d.Old != nil {
		d.Old.Position = old
	}
	if d.New != nil {
		d.New.Position = updated
	}
}

// version is the place in the chart's own file of a value that a changed text has in it, mostly the
// chart's version in a label.
func (x *objects) version(d Difference, p expand.Pair) (old, updated problem.Pos, ok bool) {
	b, a := p.Before, p.After
	if d.Old == nil || d.New == nil || a.Written() || a.Parent == nil || b.Parent == nil || !a.Parent.Deploys() || !b.Parent.Deploys() {
		return old, updated, false
	}
	was, isText := d.Old.Value.(string)
	is, areTexts := d.New.Value.(string)
	if !isText || !areTexts {
		return old, updated, false
	}
	for _, c := range expand.Rendered(x.before, x.after, b.Parent, a.Parent) {
		if path.Base(c.Path()) != chartFile {
			continue
		}
		for _, v := range values(rootOf(c.Before), rootOf(c.After), nil) {
			if v.Old != nil && v.New != nil && strings.Contains(was, fmt.Sprint(v.Old.Value)) && strings.Contains(is, fmt.Sprint(v.New.Value)) {
				return v.Old.Position, v.New.Position, true
			}
		}
	}
	return old, updated, false
}

func (x *objects) place(p expand.Pair, path []string) (old, updated problem.Pos) {
	b, a := p.Before, p.After
	if a.Application() && a.Parent.IsSet() && b.Parent.IsSet() {
		b, a, path = b.Parent, a.Parent, append([]string{"spec", "template"}, path...)
	}
	if a.Written() {
		return b.At(path...), a.At(path...)
	}
	if a.Parent == nil || b.Parent == nil || !a.Parent.Deploys() || !b.Parent.Deploys() {
		return b.Pos, a.Pos
	}
	files, component := expand.Rendered(x.before, x.after, b.Parent, a.Parent), a.Label("argosy.dev/component")
	if x.after.Renders() && len(files) == 0 {
		return x.given(expand.Pair{Before: b.Parent, After: a.Parent}, path[max(0, len(path)-1):])
	}
	if b, a, ok := changedKey(files, component, path[max(0, len(path)-1):]); ok {
		return b, a
	}
	given := len(fieldsOf(&object.Object{Tree: helmOf(b.Parent)}, &object.Object{Tree: helmOf(a.Parent)})) > 0
	if b, a, ok := changedAt(files, component, a.Pos.File); ok && !given {
		return b, a
	}
	// The chart is the same: what it was given is not.
	return x.place(expand.Pair{Before: b.Parent, After: a.Parent}, []string{"spec", "source", "helm", "values"})
}

// helmOf are an Application's sources, with all that they give to Helm.
func helmOf(o *object.Object) manifest.Tree {
	return manifest.Tree{"source": manifest.At(o.Tree, "spec", "source"), "sources": manifest.At(o.Tree, "spec", "sources")}
}
