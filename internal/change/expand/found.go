package expand

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// A repository without a fleet has no list of roots. Its roots are the ApplicationSets and
// Applications in its files that none of its own Applications deploys.

// IsFound reports whether the repository has no fleet.
func (h *Hub) IsFound() bool { return h.o.IsFound }

// Applications counts the Applications that are followed.
func (h *Hub) Applications() (n int) {
	h.Walk(false, func(o *object.Object) bool {
		if o.Application() {
			n++
		}
		return true
	})
	return n
}

// found returns the roots of a repository without a fleet, and learns its address.
func (h *Hub) found() (roots []*object.Object) {
	for _, f := range h.o.Snapshot.FilesUnder("") {
		if !source.MayMakeApplications(f) || source.IsTemplate(h.o.Snapshot, f) {
			continue
		}
		if _, err := manifest.Objects(f); err != nil {
			p := problem.From(err, problem.InvalidYAML, problem.Pos{File: f.Path})[0]
			h.report(problem.Problem{Reason: problem.NotExpanded, Severity: problem.Warning, Pos: p.Pos, Subject: p.Pos.String(), Found: "a file is not followed: " + p.Found})
			continue
		}
		objects, _ := h.writtenObjects(f, nil, ownerHub)
		for _, o := range objects {
			if o.Application() || o.ApplicationSet() && manifest.At(o.Tree, "spec", "generators") != nil {
				roots = append(roots, o)
			}
		}
	}
	h.adoptFound(roots)
	deployed := map[string]bool{} // files, by the Applications of other files
	for _, o := range roots {
		if !o.Application() || deployed[o.Pos.File] {
			continue
		}
		for _, s := range o.Sources() {
			if snap, _ := h.local(s); snap != nil {
				for _, file := range source.ApplicationFiles(snap, s.Path) {
					deployed[file] = deployed[file] || file != o.Pos.File
				}
			}
		}
	}
	return slices.DeleteFunc(roots, func(o *object.Object) bool { return deployed[o.Pos.File] })
}

// adoptFound learns this repository's address: the one whose paths are here most often.
func (h *Hub) adoptFound(roots []*object.Object) {
	here, revisions := map[string]int{}, map[string]map[string]int{}
	var count func(v any)
	count = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				count(x)
			}
		case manifest.Tree:
			for _, x := range v {
				count(x)
			}
			address := source.Address(manifest.Text(v, "repoURL"))
			if address == "" || v["chart"] != nil || !h.hasPaths(v) {
				return
			}
			if here[address]++; revisions[address] == nil {
				revisions[address] = map[string]int{}
			}
			revisions[address][cmp.Or(manifest.Text(v, "targetRevision"), manifest.Text(v, "revision"))]++
		}
	}
	for _, o := range roots {
		count(o.Tree)
	}
	most := func(of map[string]int) (out string) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if out == "" || of[key] > of[out] {
				out = key
			}
		}
		return out
	}
	if address := most(here); address != "" {
		h.urls[address] = most(revisions[address])
	}
}

// hasPaths reports whether this repository has a path of a source or of a generator, as far as it
// is no template.
func (h *Hub) hasPaths(of manifest.Tree) bool {
	paths := []string{manifest.Text(of, "path")}
	for _, key := range []string{"directories", "files"} {
		list, _ := of[key].([]any)
		for _, x := range list {
			paths = append(paths, manifest.Text(x, "path"))
		}
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		if i := strings.IndexAny(p, "*{?["); i >= 0 {
			p = path.Dir(p[:i] + "x")
		}
		p = path.Clean(p)
		return p != "." && (h.o.Snapshot.File(p) != nil || len(h.o.Snapshot.Under(p)) > 0)
	})
}
