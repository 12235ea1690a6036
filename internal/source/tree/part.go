package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

// Part returns the files at a path and below it, whatever their names, with links followed. A file
// over the size limit is part of it only if snapshots with charts hold files of its name.
func (t *Tree) Part(at string) (files []Placed, broken []*snapshot.File, err error) {
	within := func(p string) bool { return at == "." || p == at || strings.HasPrefix(p, at+"/") }
	limits := t.limits
	t.limits.AnyName, t.limits.Files = true, limits.Entries()
	all, links, err := t.Place()
	t.limits = limits
	if err != nil {
		return nil, nil, err
	}
	for _, f := range all {
		if within(f.Path) && (f.Node.Size <= limits.FileSize || source.Limits{Charts: true}.Wanted(f.Path)) {
			files = append(files, f)
		}
	}
	for _, f := range links {
		if within(f.Path) && (f.Folder || source.Limits{Charts: true}.Wanted(f.Path)) {
			broken = append(broken, f)
		}
	}
	if n := len(files) + len(broken); n > limits.Files {
		return nil, nil, source.LimitError(t.source, fmt.Sprintf("files in %q", at), int64(n), int64(limits.Files))
	}
	return files, broken, nil
}

// Nearest returns a hint with the path that may have been meant.
func (t *Tree) Nearest(at string) string {
	if t.dirs == nil {
		t.index()
	}
	known := slices.Clone(t.paths)
	for dir := range t.dirs {
		known = append(known, dir)
	}
	return strings.Join(problem.Nearest(at, known), "")
}
