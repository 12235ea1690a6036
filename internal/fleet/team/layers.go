package team

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// The entries of a catalog that apply to every team.
const (
	MemberEntry = "team"
	HubEntry    = "team-project"
)

// valuesKey is the value of both charts that the team's file sets.
const valuesKey = "team"

const (
	// Level is the name of the layers that come from team files.
	Level = "team file"
	// CatalogLevel is the name of the layers from the catalogs' entry for every team's project. A
	// hub reads them after the team file has removed the entry of members.
	CatalogLevel = "catalog of teams"
)

// Catalogs returns a member's catalogs of the group, with an entry for each team in place of the
// entries that apply to every team. The layout's catalogs come first, then the team files'
// switches, then the catalogs of the hierarchy's levels.
func (s *Share) Catalogs(layers []hierarchy.Layer) []hierarchy.Layer {
	n := len(catalog.Layers(layers).OfLayout())
	var out []hierarchy.Layer
	for _, l := range layers[:n] { // as the base of queries, which the ApplicationSets of both share
		out = append(out, s.expand(l, MemberEntry)...)
	}
	if s != nil {
		out = append(out, s.switches(layers[:n])...)
	}
	own := MemberEntry
	if s != nil && s.isHub {
		own = HubEntry
	}
	for _, l := range layers[n:] {
		out = append(out, s.expand(l, own)...)
	}
	return out
}

// switches returns the layers that switch the member's teams on. On a hub they replace the entry,
// too.
func (s *Share) switches(catalogs []hierarchy.Layer) (out []hierarchy.Layer) {
	for _, a := range s.assignments {
		file := func(root *yamldoc.Node) hierarchy.Layer {
			return hierarchy.Layer{Level: Level, Path: a.team.Pos.File, Root: root}
		}
		if s.isHub {
			out = append(out, file(a.team.off))
			for _, l := range catalogs {
				if e := catalog.Entries(l.Root).Get(HubEntry); e != nil {
					out = append(out, hierarchy.Layer{Level: CatalogLevel, Path: l.Path, Root: entryOf(a.team, e)})
				}
			}
		}
		out = append(out, file(a.team.on))
	}
	return out
}

// entryOf makes a catalog with one entry, the team's.
func entryOf(t *Team, entry *yamldoc.Node) *yamldoc.Node {
	return yamldoc.MapAt(entry, []yamldoc.Field{fieldOf(t.Component(), entry)})
}

// makeNodes makes the nodes that all clusters of the team share.
func (t *Team) makeNodes() {
	t.off = entryOf(t, &yamldoc.Node{Doc: t.root.Doc, Line: t.root.Line, Column: t.root.Column})
	enabled := yamldoc.ScalarAt(t.root.Get("clusters"), yamldoc.Bool, "true")
	t.on = entryOf(t, yamldoc.MapAt(t.root, []yamldoc.Field{fieldOf(catalog.KeyEnabled, enabled)}))
	t.values = t.chartValues("name", "tenant", "owners", "viewers", "namespaces", "deniedKinds")
}

// fieldOf makes a field whose key is at its value's place.
func fieldOf(key string, value *yamldoc.Node) yamldoc.Field {
	return yamldoc.Field{Key: key, Value: value, Line: value.Line, Column: value.Column}
}

// expand replaces the entry for every team by an entry for each team of the member. The catalog's
// entries for one team come in a later layer. A catalog without entries for the member is left out.
func (s *Share) expand(l hierarchy.Layer, key string) []hierarchy.Layer {
	entries := catalog.Entries(l.Root)
	if len(entries.Fields()) == 0 {
		return []hierarchy.Layer{l} // reported
	}
	var all, own []yamldoc.Field
	for _, f := range entries.Fields() {
		switch {
		case f.Key == key && s != nil:
			for _, a := range s.assignments {
				of := f
				of.Key = a.team.Component()
				all = append(all, of)
			}
		case f.Key != MemberEntry && f.Key != HubEntry:
			own = append(own, f)
		}
	}
	var out []hierarchy.Layer
	for _, fields := range [][]yamldoc.Field{all, own} {
		if len(fields) > 0 {
			with := l
			with.Root = yamldoc.MapAt(entries, fields)
			out = append(out, with)
		}
	}
	return out
}

// Values returns the layer of values that a team file gives its component on the member, the most
// specific layer; nil if the component is not a team there.
func (s *Share) Values(component string) []hierarchy.Layer {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.assignments, func(a assignment) bool { return a.team.Component() == component })
	if i < 0 {
		return nil
	}
	a := s.assignments[i]
	return []hierarchy.Layer{{Level: Level, Path: a.team.Pos.File, Root: a.values, Nodes: nodes(a.values)}}
}

func nodes(n *yamldoc.Node) int {
	count, _ := n.Size()
	return count
}

// Forbidden reports the values of a team's component that a level or a catalog sets, and that only
// the team file may set.
func (s *Share) Forbidden(component string, layers []hierarchy.Layer) (out []problem.Problem) {
	if s.Values(component) == nil {
		return nil
	}
	for _, l := range layers {
		if l.Level != Level && l.Root.Get(valuesKey) != nil {
			out = append(out, problem.Problem{
				Reason: problem.ForbiddenValue, Severity: problem.Error, Pos: l.Root.KeyPos(valuesKey), Subject: fmt.Sprintf("key %q of component %q of group %q", valuesKey, component, Group),
				Found: "is set outside of the team's file", Expected: "the chart's other options: only the team's file says what the team is and where",
			})
		}
	}
	return out
}

// hubValues returns the values of charts/team-project.
func (t *Team) hubValues(clusters []string) *yamldoc.Node {
	selector := t.root.Get("clusters")
	var names []*yamldoc.Node
	for _, name := range clusters {
		names = append(names, yamldoc.ScalarAt(selector, yamldoc.String, name))
	}
	list := yamldoc.ListAt(selector, names)
	out := t.chartValues("name", "tenant", "owners", "viewers", "namespaces", "repositories", "deniedKinds")
	inner := out.Fields()[0].Value
	out.Fields()[0].Value = yamldoc.MapAt(inner, append(slices.Clone(inner.Fields()), fieldOf("clusters", list)))
	return out
}

// chartValues puts keys of the file below `team`. A list that the file lacks is empty, so that no
// level adds to the team.
func (t *Team) chartValues(keys ...string) *yamldoc.Node {
	var fields []yamldoc.Field
	for _, key := range keys {
		i := slices.IndexFunc(t.root.Fields(), func(f yamldoc.Field) bool { return f.Key == key && !f.Value.IsNull() })
		if i >= 0 {
			fields = append(fields, t.root.Fields()[i])
			continue
		}
		fields = append(fields, fieldOf(key, yamldoc.ListAt(t.root, nil)))
	}
	if i := slices.IndexFunc(t.root.Fields(), func(f yamldoc.Field) bool { return f.Key == keyCordoned }); i >= 0 && t.Cordoned {
		fields = append(fields, t.root.Fields()[i])
	}
	return yamldoc.MapAt(t.root, []yamldoc.Field{fieldOf(valuesKey, yamldoc.MapAt(t.root, fields))})
}
