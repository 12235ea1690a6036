package source

import (
	"maps"
	"path"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// Overlays are the kustomizations of a repository by folder, each with the files and folders that
// it is made of, at any depth.
type Overlays map[string]map[string]bool

// OverlaysOf returns the kustomizations of a repository.
func OverlaysOf(snap *snapshot.Snapshot) Overlays {
	resources, out := map[string][]string{}, Overlays{}
	for _, f := range snap.FilesUnder("") {
		if below := Resources(f); len(below) > 0 {
			resources[path.Dir(f.Path)] = below
		}
	}
	for dir := range resources {
		out[dir] = map[string]bool{}
		for next := slices.Clone(resources[dir]); len(next) > 0; next = next[1:] {
			if !out[dir][next[0]] {
				out[dir][next[0]] = true
				next = append(next, resources[next[0]]...)
			}
		}
	}
	return out
}

// Above returns the kustomization of which no other is made, and that is made of the one of a
// folder, or is that. It is empty where another one is made of the same files.
func (o Overlays) Above(dir string) string {
	var tops []string
	for at, from := range o {
		sharesFile := func(file string) bool { return from[file] }
		if (at == dir || from[dir] || slices.ContainsFunc(slices.Collect(maps.Keys(o[dir])), sharesFile)) && !o.isPart(at) {
			tops = append(tops, at)
		}
	}
	if len(tops) != 1 {
		return ""
	}
	return tops[0]
}

func (o Overlays) isPart(dir string) bool {
	for _, from := range o {
		if from[dir] {
			return true
		}
	}
	return false
}
