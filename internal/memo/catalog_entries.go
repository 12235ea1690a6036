package memo

import (
	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/yamldoc"
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
			m.spend(costNode * (2 + len(e.Fields)))
			return catalog.LongForm(e), nil
		})
		entries = append(entries, hierarchy.Layer{Level: c.Level, Path: c.Path, Root: short})
	}
	return entries, values
}

// Entry remembers a merged catalog entry.
func (m *Memo) Entry(t *hierarchy.Tree) *catalog.Entry {
	e, _ := Remember(&m.mu, m.entries, t, func() (*catalog.Entry, error) {
		m.spend(t.Root.Memory())
		return catalog.ReadEntry(t.Root), nil
	})
	return e
}
