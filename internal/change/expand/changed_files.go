package expand

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// Change is a file that differs between two revisions.
type Change struct{ Before, After *snapshot.File }

// Rendered returns the changed files of this repository that an Application's charts consist of,
// files with values first. Remote charts have only value files here.
func Rendered(before, after *Hub, b, a *object.Object) []Change {
	files := func(h *Hub, o *object.Object) map[string]*snapshot.File {
		out := map[string]*snapshot.File{}
		if h == nil || o == nil {
			return out
		}
		for _, p := range h.parts(o) {
			for _, of := range p.folders() {
				for _, f := range of.Files {
					out[f.Path] = f
				}
			}
			if p.chart != nil {
				for _, f := range p.chart.Own {
					out[f.Path] = f
				}
			}
		}
		return out
	}
	old, updated := files(before, b), files(after, a)
	paths := maps.Clone(old)
	maps.Copy(paths, updated)
	var out []Change
	for p := range paths {
		x, y := old[p], updated[p]
		if x == nil || y == nil || x.Digest != y.Digest {
			out = append(out, Change{x, y})
		}
	}
	slices.SortFunc(out, func(x, y Change) int { return compareChanges(x.Path(), y.Path()) })
	return out
}

// Path returns the path of the file.
func (c Change) Path() string { return cmp.Or(c.After, c.Before).Path }

// compareChanges sorts values before templates.
func compareChanges(a, b string) int {
	rank := func(p string) int {
		if path.Ext(p) == ".yaml" && path.Base(path.Dir(p)) != "templates" {
			return 0
		}
		return 1
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
}
