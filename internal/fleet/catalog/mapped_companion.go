package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
)

// mappedCompanion is a further chart that entries of another format have below a key of their own,
// or switch on by a key.
type mappedCompanion struct {
	from []string            // the path of that key
	keys map[string][]string // the paths below it, by Argosy's key
	when []yamldoc.Field     // the keys below it that say whether it is this companion, with their values

	flag          string        // the chart's value that the key sets; empty for a key that has a chart below it
	chart, values *yamldoc.Node // of all such entries
}

// mappableOfCompanions are Argosy's keys that a companion may have under other names.
var mappableOfCompanions = []string{chartPrefix + "repoURL", chartPrefix + "name", chartPrefix + "version", chartPrefix + "path", KeyReleaseName, KeyValues}

// readCompanions reads the mapping's companions. Problems go to the reader.
func (m *Mapping) readCompanions(r *yamldoc.Reader, all *yamldoc.MapReader) {
	for _, f := range all.Node().Fields() {
		if !labels.IsName(f.Key) || f.Key == KeyValues {
			r.AddAt(problem.InvalidLayout, all.KeyPos(f.Key), `key "companions"`, "companion \""+f.Key+"\" is not a DNS-1123 label, or \"values\"", "lower case letters, digits and inner hyphens")
			continue
		}
		c := all.Map(f.Key)
		c.Known("from", "keys", "when", "flag", "chart", "values")
		from, err := hierarchy.ParsePath(c.String("from"))
		if err != nil || c.String("from") == "" {
			r.AddAt(problem.InvalidLayout, c.KeyPos("from"), `key "from"`, "missing or no key", "the key of your entries that has the further chart")
			continue
		}
		out := mappedCompanion{from: from, keys: map[string][]string{}, when: c.Map("when").Node().Fields(), flag: c.String("flag"), chart: c.Map("chart").Node(), values: c.Map("values").Node()}
		chart := c.Map("chart")
		chart.Known(ChartKeys...)
		switch {
		case out.flag == "" && (c.Has("chart") || c.Has("values")):
			r.AddAt(problem.InvalidLayout, c.KeyPos("flag"), `key "flag"`, "missing", "the chart's value that the entries' key switches: chart and values are for such companions")
		case out.flag != "" && !chart.Has("path") && !chart.Has("name"):
			r.AddAt(problem.InvalidLayout, c.KeyPos("chart"), `key "chart"`, "has neither path nor name", "the chart that the entries' key switches")
		case out.flag != "" && (c.Has("keys") || c.Has("when")):
			r.AddAt(problem.InvalidLayout, c.KeyPos("flag"), `key "flag"`, "is beside keys or when", "keys and when for entries that say the chart, flag for those that switch it")
		}
		keys := c.Map("keys")
		keys.Known(mappableOfCompanions...)
		for _, key := range keys.Node().Fields() {
			path, err := hierarchy.ParsePath(key.Value.Text())
			switch {
			case key.Value.IsNull() || !slices.Contains(mappableOfCompanions, key.Key):
			case key.Value.Kind != yamldoc.String || err != nil || key.Value.Text() == "":
				r.Add(problem.InvalidLayout, key.Value, `key "`+key.Key+`"`, "is no key", "the name of a key below the companion's own")
			default:
				out.keys[key.Key] = path
			}
		}
		m.companions[f.Key] = out
	}
}

// companions returns the further charts of an entry, as a field of Argosy's format. Charts that the
// entry has under Argosy's own key stay.
func (e entryMapper) companions() (out yamldoc.Field, ok bool) {
	own, _ := field(e.entry, []string{KeyCompanions})
	fields := slices.Clone(own.Value.Fields())
	for _, name := range slices.Sorted(maps.Keys(e.Mapping.companions)) {
		of := e.Mapping.companions[name]
		f, found := field(e.entry, of.from)
		switch {
		case !found || !of.isMeant(e):
			continue
		case of.flag != "":
			f.Value = of.switched(e, f)
		case f.Value.IsMap():
			f.Value = of.mapped(e, f.Value)
		}
		out.Line, out.Column = f.Line, f.Column
		f.Key, ok = name, true
		fields = append(fields, f)
	}
	if !ok {
		return out, false
	}
	out.Key, out.Value = KeyCompanions, yamldoc.NewMap(e.entry.Doc, fields...)
	out.Value.Line, out.Value.Column = out.Line, out.Column
	return out, true
}

// isMeant reports whether the entry's key is for this companion.
func (c mappedCompanion) isMeant(e entryMapper) bool {
	return !slices.ContainsFunc(c.when, func(want yamldoc.Field) bool {
		for _, entry := range slices.Backward(append(slices.Clone(e.below), e.entry)) {
			if f, ok := field(entry, append(slices.Clone(c.from), want.Key)); ok {
				return f.Value.Literal() != want.Value.Literal()
			}
		}
		return true
	})
}

// switched returns a companion whose chart is in the mapping, and whose entry only switches it. A
// level's entry gives only that value.
func (c mappedCompanion) switched(e entryMapper, f yamldoc.Field) *yamldoc.Node {
	at := f
	at.Key = c.flag
	values := []yamldoc.Field{at}
	var fields []yamldoc.Field
	if !e.Level {
		values = append(values, c.values.Fields()...)
		chart := yamldoc.Field{Key: KeyChart, Line: f.Line, Column: f.Column, Value: c.chart}
		if e.repoURL != nil && c.chart.Get("repoURL") == nil {
			chart.Value = yamldoc.MapAt(c.chart, append(slices.Clone(c.chart.Fields()), yamldoc.Field{Key: "repoURL", Value: e.repoURL}, yamldoc.Field{Key: "version", Value: e.revision}))
		}
		fields = append(fields, chart)
	}
	of := &yamldoc.Node{Doc: e.entry.Doc, Line: f.Line, Column: f.Column}
	fields = append(fields, yamldoc.Field{Key: KeyValues, Line: f.Line, Column: f.Column, Value: yamldoc.MapAt(of, values)})
	return yamldoc.MapAt(of, fields)
}

// mapped returns a companion in Argosy's format. A folder without a repository is in the mapping's
// repository, and the entry's version is not used as its revision.
func (c mappedCompanion) mapped(e entryMapper, n *yamldoc.Node) *yamldoc.Node {
	get := func(of *yamldoc.Node, key string) (yamldoc.Field, bool) {
		paths := [][]string{strings.Split(key, "."), {strings.TrimPrefix(key, chartPrefix)}}
		if mapped := c.keys[key]; mapped != nil {
			paths = [][]string{mapped}
		}
		for _, path := range paths {
			if f, ok := field(of, path); ok {
				return f, true
			}
		}
		return yamldoc.Field{}, false
	}
	given := func(key string) bool {
		for _, entry := range append(slices.Clone(e.below), e.entry) {
			if f, ok := field(entry, c.from); ok {
				if v, ok := get(f.Value, key); ok && isGiven(v.Value) {
					return true
				}
			}
		}
		return false
	}
	apart := e.repoURL != nil && given(chartPrefix+"path") && !given(chartPrefix+"repoURL")
	var chart, fields []yamldoc.Field
	for _, key := range mappableOfCompanions {
		f, ok := get(n, key)
		if !ok || apart && key == chartPrefix+"version" {
			continue
		}
		part, ofChart := strings.CutPrefix(key, chartPrefix)
		if f.Key = part; !ofChart {
			fields = append(fields, f)
			continue
		}
		chart = append(chart, f)
		if apart && part == "path" {
			chart = append(chart, yamldoc.Field{Key: "repoURL", Line: f.Line, Column: f.Column, Value: e.repoURL},
				yamldoc.Field{Key: "version", Line: f.Line, Column: f.Column, Value: e.revision})
		}
	}
	if len(chart) > 0 {
		fields = append(fields, chartOf(e.entry.Doc, chart))
	}
	return yamldoc.MapAt(n, fields)
}
