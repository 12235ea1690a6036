// Package checkout lists a snapshot as a Git checkout of it would be: its folders, and the files
// that `git ls-files` prints for a pattern.
//
//	pattern, err := checkout.Parse("clusters/*/config.yaml")
//	for p := range checkout.Files(snap, pattern.Within()) {
//		if pattern.Matches(p) { ... } // clusters/prod-eu-1/config.yaml
//	}
package checkout

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// Folders returns all folders but hidden ones, each before its contents.
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

// Files returns the paths at or below a path that `git ls-files` lists: files and symbolic links,
// which are not followed.
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

// within returns the sorted paths that are at or below a path.
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
