package fleetstate

import (
	"iter"
	"path"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
)

// foldersOf are the folders that files are in, at any depth, once each.
func foldersOf(paths []string) []string {
	out, seen := []string{"."}, map[string]bool{".": true} // a level may be the repository's root
	for _, p := range paths {
		for dir := path.Dir(p); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			out = append(out, dir)
		}
	}
	return out
}

// byFolder finds the members that have a folder among those of their levels. It is carried on from
// state to state, and is never changed.
type byFolder struct {
	// members is as it was when the index was made: some may have been placed otherwise since, or
	// be gone.
	members map[string][]*fleet.Member
	// since are those that have been placed since then.
	since []*fleet.Member
}

// newByFolder is the index of a state.
func newByFolder(st *State) *byFolder {
	x := &byFolder{members: map[string][]*fleet.Member{}}
	for m, c := range st.Clusters() {
		for dir := range c.Desired().placement.folders() {
			if ms := x.members[dir]; len(ms) == 0 || ms[len(ms)-1] != m { // groups share folders
				x.members[dir] = append(ms, m)
			}
		}
	}
	return x
}

// haveFolders are at least all members that have any of these folders among those of their levels.
func (st *State) haveFolders(dirs []string) iter.Seq[*fleet.Member] {
	x := st.folders
	return func(yield func(*fleet.Member) bool) {
		for _, dir := range dirs {
			for _, m := range x.members[dir] {
				if !yield(m) {
					return
				}
			}
		}
		for _, m := range x.since {
			if c := st.ClusterOf(m); c != nil && c.Desired().placement.hasAny(dirs) && !yield(m) {
				return
			}
		}
	}
}

// indexFolders carries the previous state's index on, or makes it anew where too many have been
// placed anew.
func (st *State) indexFolders(previous *State, computed []anew) {
	if previous == nil || previous.Fleet.Layout != st.Fleet.Layout {
		st.folders = newByFolder(st)
		return
	}
	since := slices.Clone(previous.folders.since)
	for _, d := range computed {
		if d.place == nil && !slices.Contains(since, d.member) {
			since = append(since, d.member)
		}
		if len(since) > maxSince {
			st.folders = newByFolder(st)
			return
		}
	}
	st.folders = &byFolder{members: previous.folders.members, since: since}
}

// maxSince is how many members an index by folder has beside it, until it is made anew.
const maxSince = 256

// folders are those of all levels, some of them more than once.
func (p *placement) folders() iter.Seq[string] {
	return func(yield func(string) bool) {
		if p == nil {
			return
		}
		for _, dirs := range p.dirs {
			for _, d := range dirs {
				if !yield(d.Path) {
					return
				}
			}
		}
	}
}

func (p *placement) hasAny(dirs []string) bool {
	for dir := range p.folders() {
		if slices.Contains(dirs, dir) {
			return true
		}
	}
	return false
}
