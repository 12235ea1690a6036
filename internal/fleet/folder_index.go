package fleet

import (
	"iter"
	slashpath "path"
	"slices"
)

// FolderIndex finds the members that read a folder, by the folders of their levels. It outlives the
// fleet that it was made of, and is immutable.
//
// It halves the processor time of a commit of one cluster's file (1,000 clusters: 1.2 instead of
// 2.8 ms).
type FolderIndex struct {
	// members are indexed as they were when the index was made: some may have other folders now, or
	// be gone.
	members map[string][]*Member
	// since has the members whose folders were computed again since then.
	since []*Member
}

// maxSince bounds since; beyond it, the index is made again.
const maxSince = 256

// NewFolderIndex makes the index of members by the folders of all their levels.
func NewFolderIndex(members iter.Seq2[*Member, iter.Seq[string]]) *FolderIndex {
	x := &FolderIndex{members: map[string][]*Member{}}
	for m, folders := range members {
		for dir := range folders {
			if ms := x.members[dir]; len(ms) == 0 || ms[len(ms)-1] != m { // groups share folders
				x.members[dir] = append(ms, m)
			}
		}
	}
	return x
}

// With returns the index with more members in since; nil if they are too many.
func (x *FolderIndex) With(placed iter.Seq[*Member]) *FolderIndex {
	since := slices.Clone(x.since)
	for m := range placed {
		if !slices.Contains(since, m) {
			since = append(since, m)
		}
		if len(since) > maxSince {
			return nil
		}
	}
	return &FolderIndex{members: x.members, since: since}
}

// Reading yields at least all members with a level whose folder holds one of the files, at any
// depth. FoldersOf returns the current folders of a member's levels.
func (x *FolderIndex) Reading(files []string, foldersOf func(*Member) iter.Seq[string]) iter.Seq[*Member] {
	dirs, isParent := parents(files)
	return func(yield func(*Member) bool) {
		for _, dir := range dirs {
			for _, m := range x.members[dir] {
				if !yield(m) {
					return
				}
			}
		}
		for _, m := range x.since {
			for dir := range foldersOf(m) {
				if isParent[dir] {
					if !yield(m) {
						return
					}
					break
				}
			}
		}
	}
}

// parents returns the folders that files are in, at any depth, once each.
func parents(files []string) (dirs []string, isParent map[string]bool) {
	dirs, isParent = []string{"."}, map[string]bool{".": true} // a level may be the repository's root
	for _, p := range files {
		for dir := slashpath.Dir(p); !isParent[dir]; dir = slashpath.Dir(dir) {
			isParent[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs, isParent
}
