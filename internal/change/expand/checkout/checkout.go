// Package checkout says what a checkout of a snapshot has: the files that Git lists, by a pattern
// of Git's, and the folders.
package checkout

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// Folders are all folders but hidden ones, each before what is in it.
func Folders(s *snapshot.Snapshot) []string {
	found := map[string]bool{".": true}
	var out []string
	var add func(dir string) bool // whether it is not hidden
	add = func(dir string) bool {
		shown, known := found[dir]
		if !known {
			shown = add(path.Dir(dir)) && !strings.HasPrefix(path.Base(dir), ".")
			found[dir] = shown
			if shown {
				out = append(out, dir)
			}
		}
		return shown
	}
	for p := range Files(s, ".") {
		add(path.Dir(p))
	}
	slices.SortFunc(out, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	return out
}

// Files are the paths at or below one that `git ls-files` lists: files and symbolic links, which
// are not followed.
func Files(s *snapshot.Snapshot, at string) iter.Seq[string] {
	beside := s.Beside()
	throughLink := func(p string) bool {
		return slices.ContainsFunc(beside.LinkedFolders, func(dir string) bool { return strings.HasPrefix(p, dir+"/") })
	}
	return func(yield func(string) bool) {
		if s.File(at) != nil && !throughLink(at) && !yield(at) {
			return
		}
		for _, p := range s.Under(at) {
			if !throughLink(p) && !yield(p) {
				return
			}
		}
		for _, paths := range [][]string{beside.Unread, beside.LinkedFolders} {
			for p := range within(paths, at) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// within are those of sorted paths that are at or below one.
func within(paths []string, at string) iter.Seq[string] {
	if at == "." {
		return slices.Values(paths)
	}
	return func(yield func(string) bool) {
		if _, is := slices.BinarySearch(paths, at); is && !yield(at) {
			return
		}
		from, _ := slices.BinarySearch(paths, at+"/")
		for _, p := range paths[from:] {
			if !strings.HasPrefix(p, at+"/") || !yield(p) {
				return
			}
		}
	}
}
