package expand

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/response"
)

// followedFolders returns all folders above files that may make followed objects or have changed.
func (c *comparison) followedFolders() map[string]bool {
	out := map[string]bool{}
	add := func(p string) {
		for dir := path.Dir(p); !out[dir]; dir = path.Dir(dir) {
			out[dir] = true
		}
	}
	for _, p := range snapshot.Changed(c.before.o.Snapshot, c.after.o.Snapshot) {
		c.changed[p] = true
		add(p)
	}
	for _, s := range []*snapshot.Snapshot{c.before.o.Snapshot, c.after.o.Snapshot} {
		for _, p := range s.Paths() {
			if manifest.IsFile(p) || strings.HasSuffix(p, ".tpl") {
				if source.IsFollowed(s.File(p).Data) {
					add(p)
				}
			}
		}
	}
	return out
}

// responses holds both revisions' responses to an ApplicationSet's queries, by the parameters. They
// lack the parameter sets that both revisions have, whose Applications are the same.
type responses map[string][2]*response.Response

// query responds to the plugin's queries at one of the revisions, and leaves unknown ones to other.
func (r responses) query(revision int, other Query) Query {
	return func(applicationSet string, parameters json.RawMessage) (json.RawMessage, error) {
		var tree any
		if json.Unmarshal(parameters, &tree) == nil {
			if known, ok := r[string(manifest.Canonical(tree))]; ok {
				return known[revision].Bytes(), nil
			}
		}
		return other(applicationSet, parameters)
	}
}

// sameResponses compares the responses to an unchanged ApplicationSet in both revisions. With look,
// its Applications may differ in spite of equal responses: the template or a response names a
// followed folder. Otherwise differing holds the responses to make Applications from; nil means all
// parameter sets.
func (c *comparison) sameResponses(o *object.Object) (alike, look bool, differing responses) {
	alike, brings := true, c.after.mayBring(o)
	if !onlyPlugin(o) || c.templatesName(o, brings) {
		return false, true, nil
	}
	differing = responses{}
	for _, p := range queries(o) {
		r, err := c.after.request(o.Name(), p)
		if err != nil {
			return false, true, nil
		}
		was, is, known, found := c.outlines(brings).Differing(r)
		if found {
			return false, true, nil
		}
		if !known {
			if was, is, err = response.RespondBoth(c.before.o.State, c.after.o.State, r); err != nil {
				return false, true, nil
			}
			for set := range is.Texts() {
				if source.IsFollowed(set) || c.found(set, brings) {
					return false, true, nil
				}
			}
			was, is = response.Differing(was, is)
		}
		alike = alike && was.Sets()+is.Sets() == 0
		differing[string(p)] = [2]*response.Response{was, is}
	}
	switch {
	case readsRevision(o):
		return false, false, nil
	case hasValues(o):
		return alike, false, nil
	}
	return alike, false, differing
}

// outlines returns what compares responses without making them, and looks for what their sets name.
// brings is as in found.
func (c *comparison) outlines(brings bool) *response.Outlines {
	if c.compared[brings] == nil {
		c.compared[brings] = response.NewOutlines(c.before.o.State, c.after.o.State, func(o response.Outline) bool {
			return source.IsFollowed(o.JSON) || c.found(o.JSON, brings) || slices.ContainsFunc(o.Values, source.IsFollowed[string])
		})
	}
	return c.compared[brings]
}

// found reports whether a set in JSON names something that Compare looks into.
func (c *comparison) found(set []byte, brings bool) bool {
	return c.names(set) || brings && source.IsNamed(set)
}

// queries returns the queries of an ApplicationSet's own plugin generators.
func queries(o *object.Object) []json.RawMessage {
	generators, _ := manifest.At(o.Tree, "spec", "generators").([]any)
	var out []json.RawMessage
	for _, g := range generators {
		if parameters := manifest.At(g, "plugin", "input", "parameters"); parameters != nil {
			out = append(out, manifest.Canonical(parameters))
		}
	}
	return out
}

// hasValues reports whether a plugin generator has values of its own. They are templates: one that
// fails for one parameter set fails for all.
func hasValues(o *object.Object) bool {
	generators, _ := manifest.At(o.Tree, "spec", "generators").([]any)
	return slices.ContainsFunc(generators, func(g any) bool { return manifest.At(g, "plugin", "values") != nil })
}

// templatesName reports whether an ApplicationSet's templates name something that Compare looks
// into: its own template, its generators' templates, and its patch.
func (c *comparison) templatesName(o *object.Object, brings bool) bool {
	templates := []any{manifest.At(o.Tree, "spec", "template")}
	generators, _ := manifest.At(o.Tree, "spec", "generators").([]any)
	for _, g := range generators {
		templates = append(templates, manifest.At(g, "plugin", "template"))
	}
	paths, unknown := source.NamedByPatch(manifest.Text(o.Tree, "spec", "templatePatch"))
	return c.found(manifest.Canonical(templates), brings) || unknown || brings && len(paths) > 0 || slices.ContainsFunc(paths, c.reaches)
}

// names reports whether a text names a followed folder, a changed file, or a path that only the
// renderer knows.
func (c *comparison) names(text []byte) bool {
	paths, unknown := source.Named(text)
	return unknown || slices.ContainsFunc(paths, c.reaches)
}

// reaches reports whether a folder is followed or a file has changed. For a kustomization, it also
// looks at the folders that it is built from.
func (c *comparison) reaches(dir string) bool {
	changed := func(dir string) bool { return c.followed[dir] || c.changed[dir] }
	return changed(dir) || slices.ContainsFunc(c.before.based(c.before.o.Snapshot, dir), changed) || slices.ContainsFunc(c.after.based(c.after.o.Snapshot, dir), changed)
}
