package memo

import (
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// EntryLayers are a component's entries in catalog layers: without values (they are merged by other
// rules), in the long form.
func (m *Memo) EntryLayers(catalogs []hierarchy.Layer, component string) (entries, values []hierarchy.Layer) {
	for _, c := range catalogs {
		e := catalog.Entries(c.Root).Get(component)
		if e == nil {
			continue
		}
		v := e.Get(catalog.KeyValues)
		if v.IsMap() {
			values = append(values, hierarchy.Layer{Level: c.Level, Path: c.Path, Root: v})
		}
		// Null removes what lower layers set (H2): the values, or the entry as a whole.
		if v != nil && v.Kind == yamldoc.Null || e.Kind == yamldoc.Null {
			values = nil
		}
		if e.Kind == yamldoc.Null {
			entries = nil
		}
		short, _ := Remember(&m.mu, m.shortened, e, func() (*yamldoc.Node, error) {
			m.spend(costNode * (2 + len(e.Fields())))
			m.hold(e)
			return catalog.LongForm(e), nil
		})
		entries = append(entries, hierarchy.Layer{Level: c.Level, Path: c.Path, Root: short})
	}
	return entries, values
}

// Without is a catalog with an entry that lacks some keys, or keys of its chart. An entry that is
// null switches the component off instead.
func (m *Memo) Without(e *yamldoc.Node, component string, keys []string) *yamldoc.Node {
	out, _ := Remember(&m.mu, m.without, withoutKey{e, strings.Join(keys, " ")}, func() (*yamldoc.Node, error) {
		m.spend(costNode * (4 + 2*len(e.Fields())))
		m.hold(e)
		var fields []yamldoc.Field
		if e.IsMap() {
			fields = omit(catalog.LongForm(e).Fields(), keys)
			if v := e.Get(catalog.KeyValues); v != nil {
				fields = append(fields, yamldoc.Field{Key: catalog.KeyValues, Value: v})
			}
		} else {
			fields = []yamldoc.Field{{Key: catalog.KeyEnabled, Value: yamldoc.FromAny(e.Doc, false)}}
		}
		entry := yamldoc.NewMap(e.Doc, fields...)
		return yamldoc.NewMap(e.Doc, yamldoc.Field{Key: component, Value: entry}), nil
	})
	return out
}

type withoutKey struct {
	entry *yamldoc.Node
	keys  string
}

// omit is fields without those of some keys, and a chart without them.
func omit(fields []yamldoc.Field, keys []string) (out []yamldoc.Field) {
	for _, f := range fields {
		switch {
		case slices.Contains(keys, f.Key):
			continue
		case f.Key == catalog.KeyChart && f.Value.IsMap():
			f.Value = yamldoc.NewMap(f.Value.Doc, omit(f.Value.Fields(), keys)...)
		}
		out = append(out, f)
	}
	return out
}

// Entry remembers a merged catalog entry.
func (m *Memo) Entry(t *hierarchy.Tree) *catalog.Entry {
	e, _ := Remember(&m.mu, m.entries, t, func() (*catalog.Entry, error) {
		m.spend(t.Root.Memory())
		e := catalog.ReadEntry(t.Root)
		e.FindTemplates(func(path []string) bool { return m.IsDynamic(t.At(path)) })
		e.MayHaveCompanions = slices.ContainsFunc(t.Layers(), func(l hierarchy.Layer) bool { return l.Root.Get(catalog.KeyCompanions) != nil })
		return e, nil
	})
	return e
}
