package plan

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// cause fills in where a difference comes from: the object's own text, its ApplicationSet's
// template, or the chart that makes either.
func (x *objects) cause(d *Difference, p expand.Pair) {
	if d.Name == holdMark {
		return // the template is not the cause
	}
	path, err := hierarchy.ParsePath(d.Name)
	if err != nil {
		path = nil
	}
	old, updated, ok := x.version(*d, p)
	if !ok {
		old, updated = x.place(p, path)
	}
	if old.IsZero() { // only one side has a place
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

// version returns the place in the chart's own file of a value that a changed text contains, mostly
// the chart's version in a label.
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
		for _, v := range changedValues(c, nil) {
			if path.Base(c.Path()) == chartFile && v.Old != nil && v.New != nil && strings.Contains(was, fmt.Sprint(v.Old.Value)) && strings.Contains(is, fmt.Sprint(v.New.Value)) {
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
		return x.changedInput(expand.Pair{Before: b.Parent, After: a.Parent}, path[max(0, len(path)-1):])
	}
	for _, of := range []*object.Object{a, nil} {
		if b, a, ok := changedKey(files, of, component, path[max(0, len(path)-1):]); ok {
			return b, a
		}
	}
	inputs := len(fieldsOf(&object.Object{Tree: helmOf(b.Parent)}, &object.Object{Tree: helmOf(a.Parent)})) > 0
	if b, a, ok := changedAt(files, component, a, path[max(0, len(path)-1):]); ok && !inputs {
		return b, a
	}
	// The chart is the same: its values differ.
	return x.place(expand.Pair{Before: b.Parent, After: a.Parent}, []string{"spec", "source", "helm", "values"})
}

// helmOf returns an Application's sources, with everything that they pass to Helm.
func helmOf(o *object.Object) manifest.Tree {
	return manifest.Tree{"source": manifest.At(o.Tree, "spec", "source"), "sources": manifest.At(o.Tree, "spec", "sources")}
}

// ofChart lists the names that responses and Applications use for a chart and its version.
var ofChart = []string{"chart.version", "chart.name", "chart.repoURL", "version", "chartRepo", "ecrChartName", "targetRevision", "chart", "repoURL"}

// changedInput returns the place of the Application's difference that most likely changes a field
// of its charts' objects. It prefers a difference with the field's name, then the chart's version.
func (x *objects) changedInput(p expand.Pair, key []string) (old, updated problem.Pos) {
	differences := x.changes[[2]string{p.After.Engine, p.After.Name()}].Differences
	if len(differences) == 0 {
		for _, d := range fieldsOf(&object.Object{Tree: helmOf(p.Before)}, &object.Object{Tree: helmOf(p.After)}) {
			path, err := hierarchy.ParsePath("spec." + d.Name)
			if err != nil {
				continue
			}
			b, a := x.place(p, path)
			differences = append(differences, Difference{Kind: Field, Name: d.Name, Old: &Side{Position: b}, New: &Side{Position: a}})
		}
	}
	if d := foremost(differences, key); d != nil {
		return posOf(d.Old), posOf(d.New)
	}
	return p.Before.Pos, p.After.Pos
}

// foremost returns the difference of an Application that most likely causes a change of a field.
func foremost(differences []Difference, key []string) *Difference {
	named := func(d Difference) bool { return len(key) > 0 && strings.HasSuffix("."+d.Name, "."+key[0]) }
	chart := func(d Difference) bool {
		return d.Kind != Value && slices.Contains(ofChart, strings.TrimPrefix(strings.TrimPrefix(d.Name, "source."), "sources.0."))
	}
	for _, is := range []func(Difference) bool{named, chart, func(Difference) bool { return true }} {
		if i := slices.IndexFunc(differences, is); i >= 0 {
			return &differences[i]
		}
	}
	return nil
}

// placeOfChange returns the place of an Application's most likely difference, if its chart is not
// in this repository.
func (x *objects) placeOfChange(o *object.Object) problem.Pos {
	if !x.after.Renders() || o == nil || !o.Deploys() || o.Written() {
		return problem.Pos{}
	}
	d := foremost(x.changes[[2]string{o.Engine, o.Name()}].Differences, nil)
	if d == nil {
		return problem.Pos{}
	}
	if d.New != nil {
		return d.New.Position
	}
	return d.Old.Position
}

// changedAt returns the place among a chart's changed files that most likely changes a component.
// It prefers a changed line of a template that names the field, then the component's own catalog
// entry or a value for all. Then come the object's template, a named template, and the chart's own
// file. Values that only concern other components do not count.
func changedAt(files []expand.Change, component string, of *object.Object, field []string) (old, updated problem.Pos, ok bool) {
	for _, c := range files {
		if inTemplates(c.Path()) && len(field) > 0 {
			if old, updated, ok = changedLine(c, field[0]+":"); ok {
				return old, updated, true
			}
		}
	}
	likely := len(ranks)
	for _, c := range files {
		r := slices.IndexFunc(ranks, func(is func(name, template string) bool) bool { return is(c.Path(), of.Pos.File) })
		if r >= likely || isOfOthers(c, of) {
			continue
		}
		if path.Ext(c.Path()) != ".yaml" || inTemplates(c.Path()) {
			old, updated, _ = changedLine(c, "")
		} else if d := changedValue(c, nil, component, ""); d != nil {
			old, updated = posOf(d.Old), posOf(d.New)
		} else {
			continue
		}
		likely, ok = r, true
	}
	return old, updated, ok
}

// isOfOthers reports whether a file has objects, and none of an object's kind.
func isOfOthers(c expand.Change, of *object.Object) bool {
	documents := documentsOf(c.After)
	if c.After == nil {
		documents = documentsOf(c.Before)
	}
	hasOthers := false
	for key := range documents {
		kind, _, isObject := strings.Cut(key, " ")
		if !isObject || kind == of.Kind() || kind == "Kustomization" {
			return false
		}
		hasOthers = true
	}
	return hasOthers
}

// ranks classify a chart's changed files, the likeliest cause of an object's change first.
var ranks = []func(name, template string) bool{
	func(name, _ string) bool {
		return path.Ext(name) == ".yaml" && !inTemplates(name) && path.Base(name) != chartFile
	},
	func(name, template string) bool { return name == template },
	func(name, _ string) bool { return strings.HasPrefix(path.Base(name), "_") },
	func(name, _ string) bool { return path.Base(name) == chartFile },
	func(string, string) bool { return true },
}

// chartFile describes a chart.
const chartFile = "Chart.yaml"

func inTemplates(name string) bool { return strings.Contains(name, "/templates/") }

// changedKey returns the place of a changed value in a chart's files that has the field's name.
// With an object, only its own manifests and patches count.
func changedKey(files []expand.Change, of *object.Object, component string, key []string) (old, updated problem.Pos, ok bool) {
	for _, c := range files {
		if len(key) == 0 || inTemplates(c.Path()) {
			continue
		}
		if d := changedValue(c, of, component, key[0]); d != nil {
			return posOf(d.Old), posOf(d.New), true
		}
	}
	return problem.Pos{}, problem.Pos{}, false
}

// changedValue returns the first difference in a values file that may concern a component, and has
// a name if one is given.
func changedValue(c expand.Change, of *object.Object, component, name string) *Difference {
	all := changedValues(c, of)
	i := slices.IndexFunc(all, func(d Difference) bool {
		return (name == "" || strings.HasSuffix("."+d.Name, "."+name)) && concerns(d.Name, component)
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// changedValues returns the differences in the documents of a YAML file; with an object, of those
// that have its kind and name.
func changedValues(c expand.Change, of *object.Object) (out []Difference) {
	if path.Ext(c.Path()) != ".yaml" {
		return nil
	}
	before, after := documentsOf(c.Before), documentsOf(c.After)
	for _, key := range slices.Sorted(maps.Keys(merged(before, after))) {
		if of == nil || key == of.Kind()+" "+of.Name() {
			out = append(out, values(before[key], after[key], nil)...)
		}
	}
	return out
}

// concerns reports whether a value of a catalog may concern a component: it does not belong to
// another component.
func concerns(name, component string) bool {
	return component == "" || !strings.HasPrefix(name, "components.") || name == "components."+component || strings.HasPrefix(name, "components."+component+".")
}

func posOf(s *Side) problem.Pos {
	if s == nil {
		return problem.Pos{}
	}
	return s.Position
}

// documentsOf returns the documents of a file by their objects' kind and name, others by number.
func documentsOf(f *snapshot.File) map[string]*yamldoc.Node {
	out := map[string]*yamldoc.Node{}
	if f == nil || f.Err != nil {
		return out
	}
	docs, err := manifest.Documents(f)
	if err != nil {
		return out
	}
	for i, doc := range docs {
		key := strconv.Itoa(i)
		if tree := doc.Root.Any(); manifest.Text(tree, "metadata", "name") != "" {
			key = manifest.Text(tree, "kind") + " " + manifest.Text(tree, "metadata", "name")
		}
		out[key] = root(doc.Root)
	}
	return out
}

// changedLine returns the first line of a file that differs and has a text, or else differs.
func changedLine(c expand.Change, text string) (old, updated problem.Pos, ok bool) {
	lines := func(f *snapshot.File) [][]byte {
		if f == nil {
			return nil
		}
		return bytes.Split(f.Data, []byte("\n"))
	}
	a, b := lines(c.Before), lines(c.After)
	n := 0
	for n < len(a) && n < len(b) && bytes.Equal(a[n], b[n]) {
		n++
	}
	same := 0 // at the end
	for same < min(len(a), len(b))-n && bytes.Equal(a[len(a)-1-same], b[len(b)-1-same]) {
		same++
	}
	place := func(f *snapshot.File, lines [][]byte) (at problem.Pos) {
		if f == nil {
			return at
		}
		at = problem.Pos{File: f.Path, Line: min(n+1, max(len(lines), 1))}
		if i := slices.IndexFunc(lines[n:len(lines)-same], func(line []byte) bool { return bytes.Contains(line, []byte(text)) }); i >= 0 {
			at.Line, ok = n+i+1, true
		}
		return at
	}
	old, updated = place(c.Before, a), place(c.After, b)
	return old, updated, ok
}
