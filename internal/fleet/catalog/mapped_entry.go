package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// entryMapper maps one entry.
type entryMapper struct {
	Mapper
	component string
	entry     *yamldoc.Node
	below     []*yamldoc.Node // the same component's entries in the catalogs below
}

// mapped returns the entry in Argosy's format.
func (e entryMapper) mapped() *yamldoc.Node {
	if !e.entry.IsMap() {
		return e.entry
	}
	var fields []yamldoc.Field
	for _, f := range e.entry.Fields() {
		if !e.isRead(f.Key) {
			fields = append(fields, f)
		}
	}
	for _, key := range mappable {
		if strings.HasPrefix(key, chartPrefix) || key == KeyFolder && e.Level {
			continue
		}
		if f, ok := e.get(key); ok {
			f.Key = key
			fields = append(fields, f)
		}
	}
	if f, ok := e.companions(); ok {
		fields = append(slices.DeleteFunc(fields, func(own yamldoc.Field) bool { return own.Key == KeyCompanions }), f)
	}
	if chart := e.chart(); len(chart) > 0 {
		fields = append(fields, chartOf(e.entry.Doc, chart))
	}
	return yamldoc.MapAt(e.entry, fields)
}

// isRead reports whether a key of an entry is read, under another name or its own. Other keys are
// left as they are.
func (e entryMapper) isRead(key string) bool {
	for _, name := range mappable {
		if name == KeyFolder && e.Level { // lint reports the key in a level
			if key == KeyFolder {
				return false
			}
			continue
		}
		if slices.ContainsFunc(e.names(name), func(path []string) bool { return path[0] == key }) {
			return true
		}
		if name == key && e.keys[name] != nil { // another name is read instead
			return true
		}
	}
	for _, c := range e.Mapping.companions {
		if c.from[0] == key {
			return true
		}
	}
	return false
}

// names returns the paths by which one of Argosy's keys is read.
func (e entryMapper) names(key string) [][]string {
	if mapped := e.keys[key]; mapped != nil {
		return mapped
	}
	part, ofChart := strings.CutPrefix(key, chartPrefix)
	switch {
	case part == KeyNamespace && ofChart:
		return nil
	case part == "name" && ofChart:
		return [][]string{{KeyChart, part}, {KeyChart}}
	case ofChart:
		return [][]string{{KeyChart, part}, {part}}
	}
	return [][]string{{key}}
}

// get returns the field of one of Argosy's keys, under the name that the entry has for it.
func (e entryMapper) get(key string) (yamldoc.Field, bool) {
	names := e.names(key)
	for i, path := range names {
		if i > 0 && e.keys[key] != nil && e.isBelow(names[:i]) {
			break // a catalog below has a name that comes first
		}
		if f, ok := field(e.entry, path); ok && !(key == chartPrefix+"name" && f.Value.IsMap()) {
			return f, true
		}
	}
	return yamldoc.Field{}, false
}

// isBelow reports whether a catalog below has one of the paths.
func (e entryMapper) isBelow(paths [][]string) bool {
	return slices.ContainsFunc(e.below, func(entry *yamldoc.Node) bool {
		return slices.ContainsFunc(paths, func(path []string) bool { _, ok := field(entry, path); return ok })
	})
}

// known returns the value of a key in the entry, else in the highest catalog below; nil for none.
func (e entryMapper) known(key string) *yamldoc.Node {
	for _, entry := range slices.Backward(append(slices.Clone(e.below), e.entry)) {
		of := entryMapper{Mapper: e.Mapper, entry: entry}
		if f, ok := of.get(key); ok {
			return f.Value
		}
	}
	return nil
}

// chart returns the coordinates that the entry gives. A folder in Git has no name, and without a
// repository it is in the mapping's repository.
func (e entryMapper) chart() (out []yamldoc.Field) {
	for _, f := range e.entry.Get(KeyChart).Fields() { // the entry's reader reports other keys
		if !slices.Contains(ChartKeys, f.Key) {
			out = append(out, f)
		}
	}
	add := func(key string, f yamldoc.Field) {
		f.Key = key
		out = append(out, f)
	}
	folder := isGiven(e.known(chartPrefix + "path"))
	apart := folder && e.repoURL != nil && !isGiven(e.known(chartPrefix+"repoURL"))
	for _, key := range []string{"repoURL", "version", "path"} {
		f, ok := e.get(chartPrefix + key)
		if ok && !(apart && key == "version") { // it is a chart's version, not a revision
			add(key, f)
		}
		if ok && apart && key == "path" {
			add("repoURL", yamldoc.Field{Line: f.Line, Column: f.Column, Value: e.repoURL})
			add("version", yamldoc.Field{Line: f.Line, Column: f.Column, Value: e.revision})
		}
	}
	if f, ok := e.name(); ok && !folder {
		add("name", f)
	}
	return out
}

// chartOf returns the field of a chart, at the place of the first of its coordinates in the file.
func chartOf(doc *yamldoc.Doc, coordinates []yamldoc.Field) yamldoc.Field {
	first := slices.MinFunc(coordinates, func(a, b yamldoc.Field) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	chart := yamldoc.MapAt(&yamldoc.Node{Doc: doc, Line: first.Line, Column: first.Column}, coordinates)
	return yamldoc.Field{Key: KeyChart, Line: chart.Line, Column: chart.Column, Value: chart}
}

// name returns the chart's name, with the namespace that the other format has apart. Without a
// name, it is the component's.
func (e entryMapper) name() (yamldoc.Field, bool) {
	f, ok := e.get(chartPrefix + "name")
	if ok && e.keys[chartPrefix+"name"] == nil {
		return f, true
	}
	name, namespace := e.known(chartPrefix+"name"), e.known(chartPrefix+"namespace")
	if !ok {
		if f, ok = e.get(chartPrefix + "namespace"); !ok && e.keys[chartPrefix+"name"] != nil && name == nil {
			f, ok = e.get(chartPrefix + "repoURL")
		}
	}
	switch {
	case !ok:
		return f, false
	case name == nil:
		name = yamldoc.ScalarAt(&yamldoc.Node{Doc: e.entry.Doc, Line: f.Line, Column: f.Column}, yamldoc.String, e.component)
	}
	if isGiven(namespace) && name.Kind == yamldoc.String {
		name = yamldoc.ScalarAt(name, yamldoc.String, namespace.Text()+"/"+name.Text())
	}
	f.Value = name
	return f, true
}

func isGiven(n *yamldoc.Node) bool { return !n.IsNull() && n.Text() != "" }

// field returns the field at a path of an entry.
func field(n *yamldoc.Node, path []string) (yamldoc.Field, bool) {
	for i, key := range path {
		at := slices.IndexFunc(n.Fields(), func(f yamldoc.Field) bool { return f.Key == key })
		if at < 0 {
			break
		}
		f := n.Fields()[at]
		if i == len(path)-1 {
			return f, true
		}
		n = f.Value
	}
	return yamldoc.Field{}, false
}
