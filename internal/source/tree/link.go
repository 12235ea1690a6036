package tree

import (
	"errors"
	"path"
	"sort"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// maxLinks is how many symbolic links one path may lead through (Linux: MAXSYMLINKS, 40).
const maxLinks = 40

var (
	errOutside = errors.New("leads out of the repository")
	errLoop    = errors.New("leads in a circle")
	errMissing = errors.New("leads to nothing")
	errLeftOut = errors.New("leads into a folder that cannot be read")
)

// target is the file or folder that a link leads to.
type target struct {
	path string
	err  error
}

// target follows a link, and remembers the result.
func (t *Tree) target(link string) (string, error) {
	known, ok := t.targets[link]
	if !ok {
		known.path, known.err = t.follow(link)
		t.targets[link] = known
	}
	return known.path, known.err
}

// addLink adds the entries that a link adds to a snapshot to the weight of its folder.
func (t *Tree) addLink(weight *Weight, link *Node) {
	if Hidden(link.Path) {
		return
	}
	if final, err := t.target(link.Path); err == nil && t.nodes[final] == nil {
		weight.AddBelow(link.Path, t.weighLink(link))
	} else if t.limits.Wanted(link.Path) || errors.Is(err, errOutside) {
		weight.AddBelow(parent(link.Path), 1)
	}
}

// weighLink returns the number of entries in the folder that a link leads to, through further
// links, too; 0 for a link to a file.
func (t *Tree) weighLink(link *Node) int64 {
	final, err := t.target(link.Path)
	if err != nil || t.nodes[final] != nil || contains(final, link.Path) {
		return 0
	}
	if known, ok := t.weights[final]; ok {
		return known
	}
	t.weights[final] = Endless // while it is counted: a link in it that leads back is endless
	count := int64(len(below(t.paths, final)))
	for _, p := range below(t.links, final) {
		count = plus(count, t.weighLink(t.nodes[p]))
	}
	t.weights[final] = count
	return count
}

// contains reports whether a link is below the folder that it leads to. Such a link adds nothing:
// the snapshot already has the folder's files.
func contains(final, link string) bool { return final == "" || strings.HasPrefix(link, final+"/") }

// placeLink adds the file, or the files of the folder, that a link leads to, at a path.
func (t *Tree) placeLink(files []Placed, broken []*snapshot.File, at string, link *Node) ([]Placed, []*snapshot.File) {
	final, err := t.target(link.Path)
	switch {
	case errors.Is(err, errOutside):
		return files, append(broken, snapshot.Outside(at, link.Target))
	case errors.Is(err, errLeftOut):
		entry := brokenLink(at, link.Target, err)
		entry.Folder = true
		return files, append(broken, entry)
	case err != nil:
		if t.limits.Wanted(at) {
			broken = append(broken, brokenLink(at, link.Target, err))
		}
		return files, broken
	}
	if n := t.nodes[final]; n != nil {
		if t.limits.Wanted(at) {
			files = append(files, Placed{at, n})
		}
		return files, broken
	}
	if contains(final, link.Path) {
		return files, broken
	}
	for _, p := range below(t.paths, final) {
		rest := strings.TrimPrefix(p, final)
		n, place := t.nodes[p], at+rest
		switch {
		case Hidden(rest[1:]) || len(place) > snapshot.MaxPath:
		case n.Link:
			files, broken = t.placeLink(files, broken, place, n)
		case t.limits.Wanted(place):
			files = append(files, Placed{place, n})
		}
	}
	return files, broken
}

// follow returns the file or folder that a path leads to, through any links.
func (t *Tree) follow(p string) (string, error) {
	at, rest, hops := "", strings.Split(p, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		if !t.dirs[at] {
			return "", errMissing // a part of the path is a file
		}
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			if at == "" {
				return "", errOutside
			}
			at = parent(at)
			continue
		}
		next := path.Join(at, part)
		n := t.nodes[next]
		if n == nil || !n.Link {
			at = next
			if n == nil && !t.dirs[at] {
				switch {
				case t.LeavesOut(at):
					return "", errLeftOut
				case climbs(at, rest):
					// A missing path may still be known to be outside: a/../../x from a link in the
					// root.
					return "", errOutside
				}
				return "", errMissing
			}
			continue
		}
		if n.Outside {
			return "", errOutside
		}
		if hops++; hops > maxLinks {
			return "", errLoop
		}
		if strings.HasPrefix(n.Target, "/") {
			at = ""
		}
		rest = append(strings.Split(n.Target, "/"), rest...)
	}
	return at, nil
}

// climbs reports whether the rest of a path, seen from at, leads above the root, by its text only.
func climbs(at string, rest []string) bool {
	return strings.HasPrefix(path.Join(append([]string{at}, rest...)...), "..")
}

// below returns the paths below a folder; paths must be sorted.
func below(paths []string, folder string) []string {
	prefix := folder + "/"
	from := sort.SearchStrings(paths, prefix)
	to := from + sort.Search(len(paths)-from, func(i int) bool { return !strings.HasPrefix(paths[from+i], prefix) })
	return paths[from:to]
}

// brokenLink returns the entry of a link to nothing or in a circle.
func brokenLink(p, target string, err error) *snapshot.File {
	short, digest := snapshot.Target(target)
	return &snapshot.File{Path: p, Digest: "broken-link:" + err.Error() + ":" + digest, Err: problem.Problem{
		Reason: problem.MissingFile, Severity: problem.Error, Pos: problem.Pos{File: p},
		Found: `symbolic link to "` + short + `" ` + err.Error(), Expected: "a file inside the repository",
	}}
}
