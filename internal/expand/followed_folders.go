package expand

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/expand/manifest"
	"github.com/argosy-hub/argosy/internal/expand/object"
	"github.com/argosy-hub/argosy/internal/expand/source"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// followedFolders are all folders above files that may make followed objects or have changed.
func (c *comparison) followedFolders() map[string]bool {
	out := map[string]bool{}
	add := func(p string) {
		for dir := path.Dir(p); !out[dir]; dir = path.Dir(dir) {
			out[dir] = true
		}
	}
	for _, p := range snapshot.Changed(c.before.o.Snapshot, c.after.o.Snapshot) {
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

// responses are those of both revisions to the queries of an ApplicationSet, by the parameters.
// They lack the parameter sets that both revisions have, whose Applications are the same.
type responses map[string][2]*response.Response

// query responds to the plugin's queries at one of the revisions, and leaves unknown ones to
// another function.
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

// sameResponses compares the responses to an unchanged ApplicationSet in both revisions. Look
// means that its Applications may differ in spite of equal responses: the template or a response
// names a followed folder. Without it, differing are the responses to make Applications of, nil
// where that takes all parameter sets.
func (c *comparison) sameResponses(o *object.Object) (alike, look bool, differing responses) {
	if !onlyPlugin(o) || c.names(manifest.Canonical(manifest.At(o.Tree, "spec", "template"))) {
		return false, true, nil
	}
	alike, brings := true, c.after.mayBring(o)
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

// outlines compares responses without making them, and looks for what their sets name: brings as in
// found.
func (c *comparison) outlines(brings bool) *response.Outlines {
	if c.compared[brings] == nil {
		c.compared[brings] = response.NewOutlines(c.before.o.State, c.after.o.State, func(o response.Outline) bool {
			return source.IsFollowed(o.JSON) || c.found(o.JSON, brings) || slices.ContainsFunc(o.Values, source.IsFollowed[string])
		})
	}
	return c.compared[brings]
}

// found reports whether a set in JSON names something that is looked into.
func (c *comparison) found(set []byte, brings bool) bool {
	return c.names(set) || brings && sourceValue.Match(set)
}

// queries are those of an ApplicationSet's own plugin generators.
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

// hasValues reports whether a plugin generator has values of its own: templates that may fail for
// any of its parameter sets, and then for all.
func hasValues(o *object.Object) bool {
	generators, _ := manifest.At(o.Tree, "spec", "generators").([]any)
	return slices.ContainsFunc(generators, func(g any) bool { return manifest.At(g, "plugin", "values") != nil })
}

// pathValue is a folder that a source names, in JSON.
var pathValue = regexp.MustCompile(`"path":"((?:[^"\\]|\\.)*)"`)

// sourceValue is a chart or a folder that a source names, in JSON.
var sourceValue = regexp.MustCompile(`"(chart|path)":"[^"]`)

// names reports whether a text names a followed folder, or one that only the renderer knows.
func (c *comparison) names(text []byte) bool {
	for _, m := range pathValue.FindAllSubmatch(text, -1) {
		p := string(m[1])
		if strings.Contains(p, "{{") {
			if strings.Count(p, "{{") > 1 || !strings.HasPrefix(p, "{{") || !strings.HasSuffix(p, "}}") {
				return true
			}
			continue // the answer's own, which is looked at
		}
		if p != "" && c.reaches(path.Clean(p)) {
			return true
		}
	}
	return false
}

// reaches reports whether a folder, or one that its kustomization is built of, is followed.
func (c *comparison) reaches(dir string) bool {
	changed := func(dir string) bool { return c.followed[dir] }
	return changed(dir) || slices.ContainsFunc(c.before.based(c.before.o.Snapshot, dir), changed) || slices.ContainsFunc(c.after.based(c.after.o.Snapshot, dir), changed)
}
