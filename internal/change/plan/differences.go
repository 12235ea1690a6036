package plan

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// differences compares two Applications of one key, and reports whether they differ. It leaves the
// labels and annotations of a registration or an agent to the cluster. A release that switches a
// component on or off does not list the component's other keys.
func differences(a, b inventory.Application) (out []Difference, differ bool) {
	set, merged := settings(a.Settings, b.Settings), values(root(a.Values), root(b.Values), nil)
	// The values of a component keep their nulls.
	if nulls(set, a.Null, b.Null); b.View == query.Members {
		nulls(merged, a.Null, b.Null)
	}
	out = append(append([]Difference{}, set...), merged...)
	if a.View == query.Releases {
		switched := map[string]bool{}
		for _, d := range out {
			switched[d.Name] = true
		}
		out = slices.DeleteFunc(out, func(d Difference) bool {
			component, key := entryOf(d)
			return key != "" && switched[catalog.ComponentsKey+"."+component]
		})
	}
	return out, len(out) > 0 || !maps.Equal(a.Labels, b.Labels) || !maps.Equal(a.Annotations, b.Annotations)
}

// nulls fills in the sides on which a null removes the value of lower levels, with its position.
func nulls(ds []Difference, wasNull, isNull func(name string) problem.Pos) {
	side := func(s *Side, name string, null func(name string) problem.Pos) *Side {
		if s == nil && !null(name).IsZero() {
			return &Side{Position: null(name)}
		}
		return s
	}
	for i, d := range ds {
		ds[i].Old, ds[i].New = side(d.Old, d.Name, wasNull), side(d.New, d.Name, isNull)
	}
}

// entryOf returns the component whose entry a release's difference concerns, and the entry's key.
// The key is empty if the component is switched on or off.
func entryOf(d Difference) (component, key string) {
	rest, isOfComponent := strings.CutPrefix(d.Name, catalog.ComponentsKey+".")
	if !isOfComponent {
		return "", ""
	}
	component, key, _ = strings.Cut(rest, ".")
	key, _, _ = strings.Cut(key, ".")
	return component, key
}

// root returns nil for no values: an empty map means the same.
func root(n *yamldoc.Node) *yamldoc.Node {
	if branches(n) {
		return n
	}
	return nil
}

// settings compares settings by name, in the order of the new ones, then of the removed ones.
func settings(a, b []inventory.Setting) []Difference {
	var out []Difference
	find := func(in []inventory.Setting, name string) *Side {
		i := slices.IndexFunc(in, func(s inventory.Setting) bool { return s.Name == name })
		if i < 0 {
			return nil
		}
		return &Side{Value: in[i].Value, Position: in[i].Pos}
	}
	for _, s := range b {
		updated := Side{Value: s.Value, Position: s.Pos}
		if old := find(a, s.Name); old == nil || !equal(old.Value, updated.Value) {
			out = append(out, Difference{Kind: Setting, Name: s.Name, Old: old, New: &updated})
		}
	}
	for _, s := range a {
		if find(b, s.Name) == nil {
			out = append(out, Difference{Kind: Setting, Name: s.Name, Old: &Side{Value: s.Value, Position: s.Pos}})
		}
	}
	return out
}

// equal compares the values of settings: text, or maps and lists of a release's own keys.
func equal(a, b any) bool {
	return hierarchy.Equal(yamldoc.FromAny(nil, a), yamldoc.FromAny(nil, b))
}

// clusterDifferences compares two clusters themselves.
func clusterDifferences(a, b inventory.Cluster) []Difference {
	describe := func(c inventory.Cluster) []inventory.Setting {
		m := c.Member
		role := "spoke"
		if m.IsHub {
			role = "hub-cluster"
		}
		return []inventory.Setting{
			{Name: labels.FleetMember, Value: role, Pos: m.KeyPos(labels.FleetMember)},
			{Name: labels.Tenant, Value: m.Tenant, Pos: m.KeyPos(labels.Tenant)},
			{Name: labels.Environment, Value: m.Environment, Pos: m.KeyPos(labels.Environment)},
			{Name: "lifecycle", Value: m.Lifecycle, Pos: m.KeyPos("lifecycle")},
			{Name: "deletion", Value: m.Deletion, Pos: m.KeyPos("deletion")},
		}
	}
	out := settings(describe(a), describe(b))
	ls, as := declared(Label, a.Labels, b.Labels), declared(Annotation, a.Annotations, b.Annotations)
	nulls(ls, a.NullLabel, b.NullLabel)
	nulls(as, a.NullAnnotation, b.NullAnnotation)
	return slices.Concat(out, ls, as)
}

// declared returns the differences of labels or annotations. Reserved ones are settings of the
// member file.
func declared(kind Kind, a, b labels.Set) []Difference {
	var out []Difference
	side := func(in labels.Set, name string) *Side {
		if v, ok := in.All[name]; ok {
			return &Side{Value: v, Position: in.Origins[name]}
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(merged(a.All, b.All))) {
		switch name {
		case labels.SecretType, labels.FleetMember, labels.Tenant, labels.Environment:
			continue
		}
		old, updated := side(a, name), side(b, name)
		if old == nil || updated == nil || old.Value != updated.Value {
			out = append(out, Difference{Kind: kind, Name: name, Old: old, New: updated})
		}
	}
	return out
}

// values returns the differences below a path, by path. Trees may share equal nodes.
func values(a, b *yamldoc.Node, path []string) []Difference {
	child := func(part string) []string { return append(path[:len(path):len(path)], part) }
	switch {
	case a == b:
		return nil
	case a.IsMap() && b.IsMap() || a == nil && branches(b) || b == nil && branches(a):
		var out []Difference
		for _, name := range keys(a, b) {
			out = append(out, values(a.Get(name), b.Get(name), child(name))...)
		}
		return out
	case a != nil && b != nil && a.Kind == yamldoc.List && b.Kind == yamldoc.List && len(a.Items()) == len(b.Items()):
		var out []Difference
		for i := range a.Items() {
			out = append(out, values(a.Items()[i], b.Items()[i], child(strconv.Itoa(i)))...)
		}
		return out
	case a != nil && b != nil && hierarchy.Equal(a, b):
		return nil
	}
	side := func(n *yamldoc.Node) *Side {
		if n == nil {
			return nil
		}
		return &Side{Value: n.Any(), Position: n.Pos()}
	}
	return []Difference{{Kind: Value, Name: hierarchy.FormatPath(path), Old: side(a), New: side(b)}}
}

// branches reports whether a node is a map with entries.
func branches(n *yamldoc.Node) bool { return n.IsMap() && len(n.Fields()) > 0 }

// keys returns the keys of both maps, sorted.
func keys(a, b *yamldoc.Node) []string {
	var out []string
	for _, n := range []*yamldoc.Node{a, b} {
		if n != nil {
			for _, f := range n.Fields() {
				out = append(out, f.Key)
			}
		}
	}
	slices.SortFunc(out, strings.Compare)
	return slices.Compact(out)
}
