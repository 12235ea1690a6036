package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// KeyFolder is the key of an entry, only in the layout's catalogs, that names the folder of the
// component's value files.
const KeyFolder = "folder"

const chartPrefix = KeyChart + "."

// mappable are Argosy's keys that an entry of another format may have under other names.
// chart.namespace is the part of a chart's name that the other format has apart.
var mappable = []string{
	KeyEnabled, chartPrefix + "repoURL", chartPrefix + "namespace", chartPrefix + "name", chartPrefix + "version", chartPrefix + "path",
	KeyFolder, KeyNamespace, KeyReleaseName, KeySelector, KeyValues, KeyKind, KeyDependsOn,
}

// Mapping translates catalogs in another format into Argosy's. Each value keeps its place. A mapped
// key is read only by its mapped names; all others keep their names.
type Mapping struct {
	// keys are the paths of the entries' keys, by Argosy's key. The first path that is there holds;
	// later ones count only where no catalog below has the first.
	keys map[string][][]string
	// dashes makes a - of each _ in a component's name.
	dashes bool
	ignore []string
	// companions are further charts of entries, by name.
	companions map[string]mappedCompanion
	// repoURL and revision are for a folder in Git whose entry names no repository; both may be
	// nil.
	repoURL, revision *yamldoc.Node
}

// ReadMapping reads the layout's key. Problems go to the reader.
func ReadMapping(r *yamldoc.Reader, m *yamldoc.MapReader) *Mapping {
	m.Known("keys", "underscoresToDashes", "ignore", "source", "companions")
	out := &Mapping{keys: map[string][][]string{}, companions: map[string]mappedCompanion{}, dashes: m.Bool("underscoresToDashes", false)}
	keys := m.Map("keys")
	keys.Known(mappable...)
	for _, f := range keys.Node().Fields() {
		if f.Value.IsNull() || !slices.Contains(mappable, f.Key) {
			continue
		}
		out.keys[f.Key] = readSources(r, f)
	}
	for _, n := range m.List("ignore") {
		if n.Kind != yamldoc.String || n.Text() == "" {
			r.Add(problem.InvalidLayout, n, `key "ignore"`, "has an element that is no key", "keys of catalogs that are no components")
			continue
		}
		out.ignore = append(out.ignore, n.Text())
	}
	out.readCompanions(r, m.Map("companions"))
	source := m.Map("source")
	source.Known("repoURL", "revision")
	if m.Has("source") {
		out.repoURL, out.revision = source.Node().Get("repoURL"), source.Node().Get("revision")
		for key, n := range map[string]*yamldoc.Node{"repoURL": out.repoURL, "revision": out.revision} {
			if n == nil || n.Kind != yamldoc.String || n.Text() == "" {
				r.AddAt(problem.InvalidLayout, source.KeyPos(key), fmt.Sprintf("key %q", key), "missing or no text", "the repository of charts whose entries name a folder alone, a template over the facts")
			}
		}
	}
	return out
}

// DropForeign removes from an entry what no chart of Argosy knows: the folder, and the options of
// another format.
func (m *Mapping) DropForeign(entry map[string]any) {
	delete(entry, KeyFolder)
	if m == nil {
		return
	}
	for key := range entry {
		if !slices.Contains(entryKeys, key) && key != "syncPolicy" && key != "ignoreDifferences" {
			delete(entry, key)
		}
	}
}

// Source returns the templates of the repository for charts that name none; nil without one.
func (m *Mapping) Source() []*yamldoc.Node {
	if m.repoURL == nil {
		return nil
	}
	return []*yamldoc.Node{m.repoURL, m.revision}
}

// readSources reads one path of keys, or a list of paths.
func readSources(r *yamldoc.Reader, f yamldoc.Field) (out [][]string) {
	items := []*yamldoc.Node{f.Value}
	if f.Value.Kind == yamldoc.List {
		items = f.Value.Items()
	}
	subject := fmt.Sprintf("key %q", f.Key)
	if len(items) == 0 {
		r.Add(problem.InvalidLayout, f.Value, subject, "names no key", "the name of a key of your entries, or a list of names")
	}
	for _, n := range items {
		path, err := hierarchy.ParsePath(n.Text())
		switch {
		case n.Kind != yamldoc.String || n.Text() == "":
			r.Add(problem.InvalidLayout, n, subject, "is no key", "the name of a key of your entries, or a list of names")
		case strings.Contains(n.Text(), "{{"):
			r.Add(problem.InvalidLayout, n, subject, fmt.Sprintf("%q is a template", n.Text()), "the name of a key of your entries: values may be templates, keys not")
		case err != nil:
			r.Add(problem.InvalidLayout, n, subject, err.Error(), "the name of a key of your entries")
		case slices.ContainsFunc(out, func(p []string) bool { return slices.Equal(p, path) }):
			r.Add(problem.InvalidLayout, n, subject, fmt.Sprintf("%q is given again", n.Text()), "each name once")
		default:
			out = append(out, path)
		}
	}
	return out
}

// Mapper is a mapping with the catalogs below. The zero value leaves catalogs as they are.
type Mapper struct {
	*Mapping
	// Below are the roots of the layout's catalogs below, as they are written.
	Below []*yamldoc.Node
	// Level says that the catalogs belong to levels.
	Level bool
}

// Map returns a catalog's root in Argosy's format.
func (m Mapper) Map(root *yamldoc.Node) (*yamldoc.Node, []problem.Problem) {
	entries := Entries(root)
	if m.Mapping == nil || entries == nil {
		return root, nil
	}
	var fields []yamldoc.Field
	var problems []problem.Problem
	at, below := make(map[string]int, len(entries.Fields())), map[string][]*yamldoc.Node{} // by component
	for _, root := range m.Below {
		for _, g := range entriesOf(root) {
			if g.Value.IsMap() {
				below[m.component(g.Key)] = append(below[m.component(g.Key)], g.Value)
			}
		}
	}
	for _, f := range entries.Fields() {
		if slices.Contains(m.ignore, f.Key) {
			continue
		}
		name := m.component(f.Key)
		if i, again := at[name]; again {
			problems = append(problems, problem.Problem{
				Reason: problem.DuplicateKey, Severity: problem.Error, Pos: entries.KeyPos(f.Key), Subject: fmt.Sprintf("component %q", f.Key),
				Found: fmt.Sprintf("is %q, as another key of this file", name), Expected: "one of the two",
				Related: []problem.Pos{{File: entries.Doc.File, Line: int(fields[i].Line), Column: int(fields[i].Column)}},
			})
			continue
		}
		at[name] = len(fields)
		e := entryMapper{Mapper: m, component: name, entry: f.Value, below: below[name]}
		f.Key, f.Value = name, e.mapped()
		fields = append(fields, f)
	}
	mapped := yamldoc.Field{Key: ComponentsKey, Line: entries.Line, Column: entries.Column, Value: yamldoc.MapAt(entries, fields)}
	return yamldoc.MapAt(root, []yamldoc.Field{mapped}), problems
}

func entriesOf(root *yamldoc.Node) []yamldoc.Field {
	if entries := Entries(root); entries != nil {
		return entries.Fields()
	}
	return nil
}

// component returns Argosy's name of a component.
func (m *Mapping) component(key string) string {
	if m.dashes {
		return strings.ReplaceAll(key, "_", "-")
	}
	return key
}
