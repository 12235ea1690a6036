package source

import (
	"maps"
	"path"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// Overlays are the kustomizations of a repository by folder, each with the files and folders that
// it is built from, at any depth.
type Overlays map[string]map[string]bool

// OverlaysOf returns the kustomizations of a repository.
func OverlaysOf(snap *snapshot.Snapshot) Overlays {
	out := Overlays{}
	for _, f := range snap.FilesUnder("") {
		if dir := path.Dir(f.Path); len(Resources(f)) > 0 {
			out[dir] = map[string]bool{}
			reach(snap, dir, out[dir])
		}
	}
	return out
}

func reach(snap *snapshot.Snapshot, dir string, seen map[string]bool) {
	f := KustomizationOf(snap, dir)
	if f == nil {
		return
	}
	for _, below := range Resources(f) {
		if !seen[below] {
			seen[below] = true
			reach(snap, below, seen)
		}
	}
}

// Above returns the kustomization that is built from the one of a folder, or is that, and from
// which no other is built. It is empty where there are several, or where another one is built from
// the same files.
func (o Overlays) Above(dir string) (top string) {
	for at, from := range o {
		if at != dir && !from[dir] || slices.ContainsFunc(slices.Collect(maps.Values(o)), func(other map[string]bool) bool { return other[at] }) {
			continue
		}
		if top != "" {
			return ""
		}
		top = at
	}
	for at, from := range o {
		if at == top || o[top][at] {
			continue
		}
		for file := range from {
			if o[top][file] {
				return ""
			}
		}
	}
	return top
}
