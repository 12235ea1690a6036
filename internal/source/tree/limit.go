package tree

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/source"
)

// moreThan is the actual number of what was not counted to its end.
const moreThan = -1

// limitError returns the error of a repository that is beyond a limit. It names the folder or file
// with the most, by weights in a unit.
func (t *Tree) limitError(what string, actual, limit int64, unit string, weights map[string]int64) error {
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
func heaviest(weights map[string]int64) (at string, has int64) {
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

// tooManyFiles returns the error of a snapshot with too many files.
func (o *placement) tooManyFiles(actual int64) error {
	weights := map[string]int64{}
	for _, f := range o.files {
		weights[parent(f.Path)]++
	}
	for _, f := range o.broken {
		weights[parent(f.Path)]++
	}
	return o.limitError("files", actual, int64(o.limits.Files), "files", weights)
}

// CheckLinks returns an error if there are more symbolic links than files may be, or if their
// targets have more bytes than all files may have. It counts links in any folder.
func (t *Tree) CheckLinks() error {
	what, actual, limit := "symbolic links", int64(t.links), int64(t.limits.Files)
	if actual <= limit {
		what, actual, limit = "bytes of the targets of symbolic links", t.targetBytes, t.limits.Bytes
	}
	if actual <= limit {
		return nil
	}
	weights := map[string]int64{}
	for _, n := range t.Links() {
		weights[parent(n.Path)]++
	}
	return t.limitError(what, actual, limit, "links", weights)
}

// CheckBytes returns an error if the files of a snapshot have more bytes than the limit. Paths with
// one content count once, and files that are too large not at all.
func (t *Tree) CheckBytes(files []Placed) error {
	total, counted := int64(0), make(map[string]string, len(files))
	for _, p := range files {
		id := cmp.Or(p.Node.ID, p.Path)
		if _, again := counted[id]; !again && p.Node.Size <= t.limits.FileSize {
			counted[id] = p.Path
			total += p.Node.Size
		}
	}
	if total <= t.limits.Bytes {
		return nil
	}
	weights := map[string]int64{}
	for _, p := range files {
		if counted[cmp.Or(p.Node.ID, p.Path)] == p.Path {
			weights[p.Path] = p.Node.Size
		}
	}
	return t.limitError("bytes of all files", total, t.limits.Bytes, "bytes", weights)
}
