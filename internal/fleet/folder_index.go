package fleet

import (
	"iter"
	slashpath "path"
	"slices"
)

// FolderIndex finds the members that have a folder among those of their levels. It outlives the
// fleet that it was made of, and is immutable.
//
// It halves the processor time of a commit of one cluster's file (1,000 clusters: 1.2 instead of
// 2.8 ms).
type FolderIndex struct {
	// members is as it was when the index was made: some may have been placed otherwise since, or
	// be gone.
	members map[string][]*Member
	// since are those that have been placed since then.
	since []*Member
}

// maxSince is how many members an index has beside it, until it is made anew.
const maxSince = 256

// NewFolderIndex is the index of members with the folders of all their levels.
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

// With is the index after members have been placed anew; nil if they are too many.
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

// Reading are at least all members with a level whose folder holds one of the files, at any depth.
// FoldersOf are the folders of a member's levels now.
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

// parents are the folders that files are in, at any depth, once each.
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
