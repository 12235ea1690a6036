package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/expand/object"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
)

// Bounds of what is said of an object that a chart makes: a definition of a new version may differ
// in thousands of fields, and a text may be a dashboard.
const (
	maxFields = 40
	maxField  = 400     // bytes of a text
	maxWhole  = 4 << 10 // bytes of a list or map, as JSON
)

// Hidden stands for what a Secret holds.
const Hidden = "(hidden)"

// legible are an object's differences as they are told, and how many are left out: of a Secret,
// without what it holds; of long texts, the first line that differs; and of large lists and maps,
// their size.
func legible(o *object.Object, all []Difference) (told []Difference, more int) {
	if o.Application() || o.ApplicationSet() {
		return all, 0
	}
	if len(all) > maxFields {
		all, more = all[:maxFields], len(all)-maxFields
	}
	secret := o.Kind() == "Secret" && o.APIVersion() == "v1"
	for i := range all {
		d := &all[i]
		path, err := hierarchy.ParsePath(d.Name)
		if secret && (err != nil || slices.Contains([]string{"data", "stringData"}, path[0])) {
			hide(d.Old)
			hide(d.New)
			continue
		}
		shorten(d.Old, d.New)
	}
	return all, more
}

func hide(s *Side) {
	if s != nil {
		s.Value = Hidden
	}
}

// shorten leaves of long texts the first line that differs.
func shorten(old, updated *Side) {
	measure(old)
	measure(updated)
	b, a := textOf(old), textOf(updated)
	if len(b) <= maxField && len(a) <= maxField {
		return
	}
	was, is := strings.Split(b, "\n"), strings.Split(a, "\n")
	n := 0
	for n < len(was) && n < len(is) && was[n] == is[n] {
		n++
	}
	excerpt := func(s *Side, text string, lines []string) {
		if text == "" { // nothing, or no text
			return
		}
		line := ""
		if n < len(lines) {
			line = problem.Prefix(lines[n], maxField)
		}
		s.Value = fmt.Sprintf("line %d of %d: %s", n+1, len(lines), line)
	}
	excerpt(old, b, was)
	excerpt(updated, a, is)
}

// measure leaves of a large list or map its size.
func measure(s *Side) {
	if s == nil {
		return
	}
	switch s.Value.(type) {
	case []any, map[string]any:
		if text, err := json.Marshal(s.Value); err == nil && len(text) > maxWhole {
			s.Value = fmt.Sprintf("%d bytes", len(text))
		}
	}
}

func textOf(s *Side) string {
	if s == nil {
		return ""
	}
	text, _ := s.Value.(string)
	return text
}

// ofChart are what the answers and an Application call its chart and its version.
var ofChart = []string{"chart.version", "chart.name", "chart.repoURL", "version", "chartRepo", "ecrChartName", "targetRevision", "chart", "repoURL"}

// given is the place of what an Application's charts are given otherwise, for a field that they
// make: what is called as the field is, else the chart's version, else the first.
func (x *objects) given(p expand.Pair, key []string) (old, updated problem.Pos) {
	differences := x.told[[2]string{p.After.Engine, p.After.Name()}].Differences
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

// foremost is the difference of an Application that a field of what its chart makes most likely
// comes from.
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

// toldOf is the place of what the answers say to change of an Application whose chart is not in
// this repository.
func (x *objects) toldOf(o *object.Object) problem.Pos {
	if !x.after.Renders() || o == nil || !o.Deploys() || o.Written() {
		return problem.Pos{}
	}
	d := foremost(x.told[[2]string{o.Engine, o.Name()}].Differences, nil)
	if d == nil {
		return problem.Pos{}
	}
	if d.New != nil {
		return d.New.Position
	}
	return d.Old.Position
}
