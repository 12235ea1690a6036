package expand

import (
	"cmp"
	"slices"

	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// DeclaredStores returns the ClusterSecretStores that the layout declares as existing.
func (h *Hub) DeclaredStores() []string { return h.o.State.Fleet.Layout.SecretStores }

// ExternalSecrets visits the objects of External Secrets on some clusters until visit returns
// false. It renders only sources that name their API. It returns as unknown the clusters with a
// source that cannot be read, where there may be further objects.
func (h *Hub) ExternalSecrets(clusters map[string]bool, visit func(*object.Object) bool) (unknown map[string]bool) {
	unknown = map[string]bool{}
	quiet := New(h.o) // a problem of an unchanged object is not the change's
	w := traversal{h: quiet, only: clusters, seen: map[object.Key]*object.Object{}, visit: func(o *object.Object) bool {
		return !o.OfExternalSecrets() || visit(o)
	}}
	w.wanted = func(o *object.Object, p part) bool {
		names, err := quiet.namesSecrets(p)
		if err != nil {
			unknown[cmp.Or(o.Label("argosy.dev/cluster"), o.Parameters)] = true
		}
		return names
	}
	for _, o := range quiet.roots {
		w.object(o)
	}
	return unknown
}

// removedSecrets returns the objects of External Secrets that a part of a removed Application made,
// unless they stay.
func (c *comparison) removedSecrets(o *object.Object, p part) []*object.Object {
	if !cascades(o) {
		return nil
	}
	if c.silent == nil {
		c.silent = New(c.before.o)
	}
	if names, err := c.silent.namesSecrets(p); !names || err != nil {
		return nil
	}
	objects, _ := c.silent.objects(o, p)
	return slices.DeleteFunc(objects, func(x *object.Object) bool { return !x.OfExternalSecrets() })
}

// namesSecrets reports whether a part may make objects of External Secrets: its values, its files
// or its dependencies name their API.
func (h *Hub) namesSecrets(p part) (bool, error) {
	if p.err != nil {
		return false, p.err
	}
	if slices.ContainsFunc(p.built, func(f *source.Folder) bool { return f.Secrets }) || p.folder != nil && p.folder.Secrets {
		return true, nil
	}
	if p.chart != nil {
		if slices.ContainsFunc(p.chart.Values, func(v source.Values) bool { return source.NamesSecrets([]byte(v.Text)) }) {
			return true, nil
		}
		if needs, _ := source.Dependencies(p.chart.Files); len(needs) > 0 && h.Renders() {
			return true, nil
		}
	}
	switch {
	case p.reference != nil:
		archive, err := h.o.Tools.Remote.Chart(*p.reference)
		if err != nil {
			return false, err
		}
		return h.o.Cache.namesSecrets(archive)
	case p.place != nil:
		f, err := h.folders.Remote(h.o.Tools.Remote, *p.place)
		return err == nil && f.Secrets, err
	}
	return false, nil
}
