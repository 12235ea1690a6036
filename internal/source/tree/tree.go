package tree

import (
	"errors"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

// maxLinks is how many symbolic links one path may lead through (Linux: MAXSYMLINKS, 40).
const maxLinks = 40

// Node is a file or symbolic link of a repository, before links are followed.
type Node struct {
	Path string
	Link bool
	// Target is where a link leads, as written; from "/" it counts from the repository's root.
	Target string
	// Outside is set for a link whose target is known to be out of the repository.
	Outside bool
	// ID and Size are those of the blob (Git alone).
	ID   string
	Size int64
}

// Tree is all nodes of a repository. Folders follow from the paths of their files.
type Tree struct {
	source string
	limits source.Limits
	nodes  map[string]*Node

	dirs    map[string]bool // filled by index
	paths   []string        // sorted, filled by index
	visited int
}

// New makes an empty tree with room for size nodes.
func New(source string, limits source.Limits, size int) *Tree {
	return &Tree{source: source, limits: limits, nodes: make(map[string]*Node, size)}
}

// Add adds a node. The error is that of the limit of entries.
func (t *Tree) Add(n *Node) error {
	t.nodes[n.Path] = n
	if len(t.nodes) > t.limits.Entries() {
		return source.LimitError(t.source, "entries", int64(len(t.nodes)), int64(t.limits.Entries()))
	}
	return nil
}

// Links returns the symbolic links, sorted by path.
func (t *Tree) Links() []*Node {
	var links []*Node
	for _, n := range t.nodes {
		if n.Link {
			links = append(links, n)
		}
	}
	slices.SortFunc(links, func(a, b *Node) int { return strings.Compare(a.Path, b.Path) })
	return links
}

// Placed is a path and the node that holds its content: its own, or the target of a link.
type Placed struct {
	Path string
	Node *Node
}

// Place follows all links and returns the files of a snapshot by path, and the entries of links
// that lead nowhere or out of the repository.
func (t *Tree) Place() (files []Placed, broken []*snapshot.File, err error) {
	files = make([]Placed, 0, len(t.nodes))
	for p, n := range t.nodes {
		if !n.Link && !Hidden(p) && t.limits.Wanted(p) {
			files = append(files, Placed{p, n})
		}
	}
	if links := t.Links(); len(links) > 0 {
		t.index()
		for _, n := range links {
			if Hidden(n.Path) {
				continue
			}
			if files, broken, err = t.placeLink(files, broken, n.Path, n, nil); err != nil {
				return nil, nil, err
			}
		}
	}
	if n := len(files) + len(broken); n > t.limits.Files {
		return nil, nil, source.LimitError(t.source, "files", int64(n), int64(t.limits.Files))
	}
	return files, broken, nil
}

// Beside lists what the repository has besides the files that Place returns. Charts and folders are
// rendered with it.
func (t *Tree) Beside() (b snapshot.Beside) {
	if !t.limits.Charts {
		return b
	}
	for p, n := range t.nodes {
		switch {
		case n.Link && t.leadsToFolder(p):
			b.LinkedFolders = append(b.LinkedFolders, p)
		case Hidden(p) || !t.limits.Wanted(p):
			b.Unread = append(b.Unread, p)
		}
	}
	slices.Sort(b.LinkedFolders)
	slices.Sort(b.Unread)
	return b
}

func (t *Tree) leadsToFolder(p string) bool {
	final, err := t.follow(p)
	return err == nil && t.nodes[final] == nil
}

func (t *Tree) index() {
	t.dirs = map[string]bool{"": true}
	t.paths = make([]string, 0, len(t.nodes))
	for p := range t.nodes {
		t.paths = append(t.paths, p)
		for d := parent(p); !t.dirs[d]; d = parent(d) {
			t.dirs[d] = true
		}
	}
	slices.Sort(t.paths)
}

// placeLink adds the file, or the files of the folder, that a link leads to, at the path of the
// link. Within are the folders being placed; a link into one of them adds nothing.
func (t *Tree) placeLink(files []Placed, broken []*snapshot.File, at string, link *Node, within []string) ([]Placed, []*snapshot.File, error) {
	final, err := t.follow(link.Path)
	switch {
	case errors.Is(err, errOutside):
		return files, append(broken, snapshot.Outside(at, link.Target)), nil
	case err != nil:
		if t.limits.Wanted(at) {
			broken = append(broken, brokenLink(at, link.Target, err))
		}
		return files, broken, nil
	}
	if n := t.nodes[final]; n != nil {
		if t.limits.Wanted(at) {
			files = append(files, Placed{at, n})
		}
		return files, broken, nil
	}
	if final == "" || strings.HasPrefix(link.Path, final+"/") || slices.Contains(within, final) {
		return files, broken, nil // a folder inside itself: its files are in the snapshot already
	}
	within = append(slices.Clip(within), final)
	for _, p := range t.under(final) {
		if t.visited++; t.visited > t.limits.Files {
			return nil, nil, source.LimitError(t.source, "entries through symbolic links", int64(t.visited), int64(t.limits.Files))
		}
		rest := strings.TrimPrefix(p, final)
		n, place := t.nodes[p], at+rest
		switch {
		case Hidden(rest[1:]):
		case n.Link:
			if files, broken, err = t.placeLink(files, broken, place, n, within); err != nil {
				return nil, nil, err
			}
		case t.limits.Wanted(place):
			files = append(files, Placed{place, n})
		}
	}
	return files, broken, nil
}

var (
	errOutside = errors.New("leads out of the repository")
	errLoop    = errors.New("leads in a circle")
	errMissing = errors.New("leads to nothing")
)

// follow resolves a path: the file or folder it leads to, by way of any links.
func (t *Tree) follow(p string) (string, error) {
	at, rest, hops := "", strings.Split(p, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		if !t.dirs[at] {
			return "", errMissing // a part of the way is a file
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
				// What is missing may still be known to be outside: a/../../x from a link in the
				// root.
				if climbs(at, rest) {
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

// climbs reports whether the rest of a path leads above the root, seen from at, by its letters
// alone.
func climbs(at string, rest []string) bool {
	return strings.HasPrefix(path.Join(append([]string{at}, rest...)...), "..")
}

// under are the paths of all nodes below a folder.
func (t *Tree) under(dir string) []string {
	prefix := dir + "/"
	from := sort.SearchStrings(t.paths, prefix)
	to := from
	for to < len(t.paths) && strings.HasPrefix(t.paths[to], prefix) {
		to++
	}
	return t.paths[from:to]
}

func parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}

// brokenLink is the entry of a link to nothing or in a circle.
func brokenLink(p, target string, err error) *snapshot.File {
	return &snapshot.File{Path: p, Digest: "broken-link:" + target, Err: problem.Problem{
		Reason: problem.MissingFile, Severity: problem.Error, Pos: problem.Pos{File: p},
		Found: `symbolic link to "` + target + `" ` + err.Error(), Expected: "a file inside the repository",
	}}
}

// Hidden reports whether a path has a part beginning with ".." (rule 5).
func Hidden(p string) bool { return strings.HasPrefix(p, "..") || strings.Contains(p, "/..") }
