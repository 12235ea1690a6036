package source

import (
	"errors"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// maxLinks is how many symbolic links one path may lead through (Linux: MAXSYMLINKS, 40).
const maxLinks = 40

// node is a file or symbolic link of a repository, before links are followed.
type node struct {
	path string
	link bool
	// target is where a link leads, as written; from "/" it counts from the repository's root.
	target string
	// outside is set for a link whose target is known to be out of the repository.
	outside bool
	// id and size are those of the blob (Git alone).
	id   string
	size int64
}

// tree is all nodes of a repository. Folders are there by their files.
type tree struct {
	source string
	limits Limits
	nodes  map[string]*node
	links  int

	dirs    map[string]bool // filled by index
	paths   []string        // sorted, filled by index
	visited int
}

func newTree(source string, limits Limits, size int) *tree {
	return &tree{source: source, limits: limits, nodes: make(map[string]*node, size)}
}

func (t *tree) add(n *node) error {
	t.nodes[n.path] = n
	if n.link {
		t.links++
	}
	if len(t.nodes) > t.limits.entries() {
		return overLimit(t.source, "entries", int64(len(t.nodes)), int64(t.limits.entries()))
	}
	return nil
}

// placed is the node whose content stands at a path: its own, or one that a link leads from.
type placed struct {
	path string
	node *node
}

// place follows all links and returns what stands where: the files a snapshot consists of, and the entries of links
// that lead nowhere or out of the repository.
func (t *tree) place() (files []placed, broken []*snapshot.File, err error) {
	files = make([]placed, 0, len(t.nodes))
	var links []*node
	for p, n := range t.nodes {
		switch {
		case hidden(p):
		case n.link:
			links = append(links, n)
		case t.limits.wanted(p):
			files = append(files, placed{p, n})
		}
	}
	if len(links) > 0 {
		t.index()
		slices.SortFunc(links, func(a, b *node) int { return strings.Compare(a.path, b.path) })
		for _, n := range links {
			if files, broken, err = t.placeLink(files, broken, n.path, n, nil); err != nil {
				return nil, nil, err
			}
		}
	}
	if n := len(files) + len(broken); n > t.limits.Files {
		return nil, nil, overLimit(t.source, "files", int64(n), int64(t.limits.Files))
	}
	return files, broken, nil
}

// beside is what there is besides the files that place returns, for whoever renders charts and folders.
func (t *tree) beside() (b snapshot.Beside) {
	if !t.limits.Charts {
		return b
	}
	for p, n := range t.nodes {
		switch {
		case n.link && t.leadsToFolder(p):
			b.LinkedFolders = append(b.LinkedFolders, p)
		case hidden(p) || !t.limits.wanted(p):
			b.Unread = append(b.Unread, p)
		}
	}
	slices.Sort(b.LinkedFolders)
	slices.Sort(b.Unread)
	return b
}

func (t *tree) leadsToFolder(p string) bool {
	final, err := t.follow(p)
	return err == nil && t.nodes[final] == nil
}

func (t *tree) index() {
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

// placeLink adds what a link brings to the place it stands at: a file, or a folder's files. Within are the folders
// being placed, which a link may not lead to once more.
func (t *tree) placeLink(files []placed, broken []*snapshot.File, at string, link *node, within []string) ([]placed, []*snapshot.File, error) {
	final, err := t.follow(link.path)
	switch {
	case errors.Is(err, errOutside):
		return files, append(broken, snapshot.Outside(at, link.target)), nil
	case err != nil:
		if t.limits.wanted(at) {
			broken = append(broken, brokenLink(at, link.target, err))
		}
		return files, broken, nil
	}
	if n := t.nodes[final]; n != nil {
		if t.limits.wanted(at) {
			files = append(files, placed{at, n})
		}
		return files, broken, nil
	}
	if final == "" || strings.HasPrefix(link.path, final+"/") || slices.Contains(within, final) {
		return files, broken, nil // a folder inside itself: what it brings stands where it is already
	}
	within = append(slices.Clip(within), final)
	for _, p := range t.under(final) {
		if t.visited++; t.visited > t.limits.Files {
			return nil, nil, overLimit(t.source, "entries through symbolic links", int64(t.visited), int64(t.limits.Files))
		}
		rest := strings.TrimPrefix(p, final)
		n, place := t.nodes[p], at+rest
		switch {
		case hidden(rest[1:]):
		case n.link:
			if files, broken, err = t.placeLink(files, broken, place, n, within); err != nil {
				return nil, nil, err
			}
		case t.limits.wanted(place):
			files = append(files, placed{place, n})
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
func (t *tree) follow(p string) (string, error) {
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
		if n == nil || !n.link {
			at = next
			if n == nil && !t.dirs[at] {
				// What is missing may still be known to be outside: a/../../x from a link in the root.
				if climbs(at, rest) {
					return "", errOutside
				}
				return "", errMissing
			}
			continue
		}
		if n.outside {
			return "", errOutside
		}
		if hops++; hops > maxLinks {
			return "", errLoop
		}
		if strings.HasPrefix(n.target, "/") {
			at = ""
		}
		rest = append(strings.Split(n.target, "/"), rest...)
	}
	return at, nil
}

// climbs reports whether the rest of a path leads above the root, seen from at, by its letters alone.
func climbs(at string, rest []string) bool {
	return strings.HasPrefix(path.Join(append([]string{at}, rest...)...), "..")
}

// under are the paths of all nodes below a folder.
func (t *tree) under(dir string) []string {
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
