package hierarchy

import (
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// fold merges maps into one below them, as maps would one after the other, but in a time
// proportional to their size: a list by key may name one large element very often.
func (m *merger) fold(a *yamldoc.Node, later []*yamldoc.Node) *yamldoc.Node {
	if len(later) == 0 {
		return a
	}
	fields := slices.Clone(a.Fields())
	for _, b := range later {
		fields = append(fields, b.Fields()...)
	}
	slices.SortStableFunc(fields, func(x, y yamldoc.Field) int { return strings.Compare(x.Key, y.Key) })
	start := len(m.fields)
	for len(fields) > 0 {
		n := prefix(fields, func(f yamldoc.Field) bool { return f.Key == fields[0].Key })
		m.fields = append(m.fields, m.foldField(fields[0], fields[1:n]))
		fields = fields[n:]
	}
	return m.made(a, later[len(later)-1], start)
}

// foldField merges fields of one key into the field below them, and those whose values merge at
// once.
func (m *merger) foldField(f yamldoc.Field, later []yamldoc.Field) yamldoc.Field {
	for len(later) > 0 {
		m.path = append(m.path, f.Key)
		rule := m.rules.at(m.path)
		n := prefix(later, func(x yamldoc.Field) bool { return merge(f.Value, x.Value, rule) })
		if run := slices.DeleteFunc(later[:n], func(x yamldoc.Field) bool { return isEmpty(x.Value) }); len(run) > 0 {
			values := make([]*yamldoc.Node, len(run))
			for i, x := range run {
				values[i] = x.Value
			}
			value := f.Value
			f = run[len(run)-1]
			if value.IsMap() {
				f.Value = m.fold(value, values)
			} else {
				f.Value = m.lists(value, rule, values...)
			}
		}
		m.path = m.path[:len(m.path)-1]
		if later = later[n:]; n == 0 {
			f = m.field(f, later[0])
			later = later[1:]
		}
	}
	return f
}

// prefix counts the leading fields that isSo accepts.
func prefix(fields []yamldoc.Field, isSo func(yamldoc.Field) bool) int {
	if n := slices.IndexFunc(fields, func(f yamldoc.Field) bool { return !isSo(f) }); n >= 0 {
		return n
	}
	return len(fields)
}

// isEmpty reports whether a value is a map without fields, which adds nothing to another.
func isEmpty(n *yamldoc.Node) bool { return n.IsMap() && len(n.Fields()) == 0 }
