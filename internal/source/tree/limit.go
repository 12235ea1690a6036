package tree

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/source"
)

// moreThan is the actual number of what was not counted to its end.
const moreThan = -1

// limitError returns the error of a repository that is beyond a limit. It names the folder or file
// with the most, by weights in a unit.
func (t *Tree) limitError(what string, actual, limit int64, unit string, weights iter.Seq2[string, int64]) error {
	e := source.LimitError(t.source, what, actual, limit)
	if actual == moreThan {
		e.Detail = fmt.Sprintf("%s: more than %d, which is the limit", what, limit)
	}
	if at, has := heaviest(weights); at != "" {
		e.Hint = fmt.Sprintf("%q has the most %s, %d: keep them out of the repository, or in one of its own", at, unit, has)
	}
	return e
}

// heaviest returns the deepest path with more than half of all weight, else the heaviest path of
// the root.
func heaviest(weights iter.Seq2[string, int64]) (at string, has int64) {
	sums := map[string]int64{}
	for p, n := range weights {
		for sums[p] += n; p != ""; {
			p = parent(p)
			sums[p] += n
		}
	}
	total := sums[""]
	delete(sums, "")
	for p, n := range sums {
		if 2*n > total && len(p) > len(at) {
			at, has = p, n
		}
	}
	if at != "" {
		return at, has
	}
	for p, n := range sums {
		if !strings.Contains(p, "/") && (n > has || n == has && p < at) {
			at, has = p, n
		}
	}
	return at, has
}

// upperFolders is how deep the folders are whose entries are counted.
const upperFolders = 5

// upper returns the folder of a path, or the one above that is deep enough.
func upper(p string) string {
	p = parent(p)
	for i, depth := 0, 0; i < len(p); i++ {
		if p[i] != '/' {
			continue
		}
		if depth++; depth == upperFolders {
			return p[:i]
		}
	}
	return p
}

func (t *Tree) tooManyFiles(actual int64, files []Placed) error {
	return t.limitError("files", actual, int64(t.limits.Files), "files", func(yield func(string, int64) bool) {
		for _, f := range files {
			if !yield(parent(f.Path), 1) {
				return
			}
		}
	})
}

// CheckLinks returns an error if there are more symbolic links than files may be, or if their
// targets have more bytes than all files may have. Targets longer than longest are not read.
func (t *Tree) CheckLinks(longest int64) error {
	var links, size int64
	weights := func(yield func(string, int64) bool) {
		for p, n := range t.nodes {
			if n.Link && !yield(parent(p), 1) {
				return
			}
		}
	}
	for _, n := range t.nodes {
		if n.Link {
			links++
			if n.Size <= longest {
				size += n.Size
			}
		}
	}
	switch {
	case links > int64(t.limits.Files):
		return t.limitError("symbolic links", links, int64(t.limits.Files), "links", weights)
	case size > t.limits.Bytes:
		return t.limitError("bytes of the targets of symbolic links", size, t.limits.Bytes, "links", weights)
	}
	return nil
}

// CheckBytes returns an error if the files of a snapshot have more bytes than the limit. Paths with
// one content count once, and files that are too large not at all.
func (t *Tree) CheckBytes(files []Placed) error {
	weights := func(yield func(string, int64) bool) {
		counted := make(map[string]bool, len(files))
		for _, p := range files {
			id := cmp.Or(p.Node.ID, p.Path)
			if counted[id] || p.Node.Size > t.limits.FileSize {
				continue
			}
			counted[id] = true
			if !yield(p.Path, p.Node.Size) {
				return
			}
		}
	}
	total := int64(0)
	for _, n := range weights {
		total += n
	}
	if total <= t.limits.Bytes {
		return nil
	}
	slices.SortFunc(files, func(a, b Placed) int { return strings.Compare(a.Path, b.Path) })
	return t.limitError("bytes of all files", total, t.limits.Bytes, "bytes", weights)
}
