package tree

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

// Node is a file or symbolic link of a repository, before links are followed.
type Node struct {
	Path string
	Link bool
	// Target is where a link leads, as written; from "/" it counts from the repository's root.
	Target string
	// Outside is set for a link whose target is known to be outside the repository.
	Outside bool
	Size    int64  // of the content, or of a link's target
	ID      string // of the blob (only Git)
}

// Tree holds all nodes of a repository. Folders follow from the paths of their files.
type Tree struct {
	source string
	limits source.Limits
	nodes  map[string]*Node
	list   []*Node // in the order of Add

	entries []string // paths of entries of any kind
	names   int      // bytes of them

	links       int   // symbolic links
	targetBytes int64 // bytes of their targets, but those beyond MaxTarget

	dirs  map[string]bool // filled by index
	paths []string        // sorted, filled by index

	targets map[string]target // by the path of a link
	// unreadable are the entries of folders whose contents are unknown.
	unreadable map[string]*snapshot.File
	// obstacles are the obstacles that are not nodes: submodules, and folders with the name of a
	// file.
	obstacles []*snapshot.File
}

// New makes an empty tree with room for size nodes.
func New(source string, limits source.Limits, size int) *Tree {
	return &Tree{
		source: source, limits: limits, nodes: make(map[string]*Node, size), list: make([]*Node, 0, size),
		targets: map[string]target{}, unreadable: map[string]*snapshot.File{},
	}
}

// nameOfEntry bounds the bytes of all paths, per entry of the limit.
const nameOfEntry = 128

// Count counts an entry of any kind. It returns an error beyond the limit of entries, or of the
// bytes of their paths.
func (t *Tree) Count(p string) error {
	t.entries = append(t.entries, p)
	t.names += len(p)
	limit := t.limits.Entries()
	if len(t.entries) <= limit && t.names <= nameOfEntry*limit {
		return nil
	}
	weights := map[string]int64{}
	for _, p := range t.entries {
		weights[parent(p)]++
	}
	if len(t.entries) > limit {
		return t.limitError("entries", moreThan, int64(limit), "entries", weights)
	}
	return t.limitError("bytes of paths", moreThan, int64(nameOfEntry*limit), "entries", weights)
}

// Add adds a node that has been counted.
func (t *Tree) Add(n *Node) {
	t.nodes[n.Path] = n
	t.list = append(t.list, n)
	if n.Link {
		t.links++
	}
	if n.Link && n.Size <= MaxTarget {
		t.targetBytes += n.Size
	}
}

// MarkUnreadable adds the entry of a folder that cannot be read.
func (t *Tree) MarkUnreadable(entry *snapshot.File) { t.unreadable[entry.Path] = entry }

// isUnreadable reports whether a path is in a folder that cannot be read.
func (t *Tree) isUnreadable(p string) bool {
	if len(t.unreadable) == 0 {
		return false
	}
	for ; p != ""; p = parent(p) {
		if t.unreadable[p] != nil {
			return true
		}
	}
	return false
}

// MaxTarget is the longest target of a symbolic link that is read (Linux: PATH_MAX).
const MaxTarget = 4096

// Links returns the symbolic links.
func (t *Tree) Links() (links []*Node) {
	for _, n := range t.list {
		if n.Link {
			links = append(links, n)
		}
	}
	return links
}

// Placed is a path and the node that holds its content: its own, or the target of a link.
type Placed struct {
	Path string
	Node *Node
}

// Place follows all links and returns the files of a snapshot. broken are the entries that cannot
// be read: folders, and links to nothing or out of the repository.
func (t *Tree) Place() (files []Placed, broken []*snapshot.File, err error) {
	out := placement{Tree: t}
	for _, n := range t.list {
		if !n.Link && !Hidden(n.Path) && t.limits.Wanted(n.Path) {
			out.files = append(out.files, Placed{n.Path, n})
		}
	}
	if n := int64(len(out.files)); n > int64(t.limits.Files) {
		return nil, nil, out.tooManyFiles(n)
	}
	out.broken = slices.Collect(maps.Values(t.unreadable))
	if links := t.Links(); len(links) > 0 {
		t.index()
		for _, n := range links {
			if !Hidden(n.Path) && !out.link(n.Path, n) {
				return nil, nil, out.tooManyFiles(moreThan)
			}
		}
	}
	return out.files, out.broken, nil
}

// AddSubmodule records the place of another repository, whose files are left out.
func (t *Tree) AddSubmodule(p string) {
	const found = "is a submodule or another clone, whose files are not read"
	if t.limits.Wanted(p) {
		t.obstacles = append(t.obstacles, snapshot.NoFile(p, found))
	} else {
		t.obstacles = append(t.obstacles, snapshot.NoFolder(p, found))
	}
}

// AddFolder records a folder.
func (t *Tree) AddFolder(p string) {
	if source.IsResolverFile(p) {
		t.obstacles = append(t.obstacles, snapshot.NoFile(p, "is a folder"))
	}
}

// AddOdd records an entry that is not a file, link or folder.
func (t *Tree) AddOdd(p string) {
	if t.limits.Wanted(p) && !Hidden(p) {
		t.obstacles = append(t.obstacles, snapshot.NoFile(p, "is a pipe, a socket or a device"))
	}
}

// maxPlain bounds the files that the resolver does not read and that count as obstacles. Objects of
// other repositories, whose names look like folders, are far more than a fleet has by mistake.
const maxPlain = 10_000

// Obstacles returns the obstacles of the snapshot, by path. It reuses obstacles of the last one.
func (t *Tree) Obstacles(last *snapshot.Snapshot) []*snapshot.File {
	out := slices.Clone(t.obstacles)
	var plain []*snapshot.File
	for _, n := range t.list {
		p := n.Path
		switch {
		case Hidden(p) || t.limits.Wanted(p):
		case n.Link:
			if _, err := t.target(p); errors.Is(err, errMissing) || errors.Is(err, errLoop) {
				entry := brokenLink(p, n.Target, err)
				entry.Folder = true
				out = append(out, entry)
			}
		case folderName.MatchString(p[strings.LastIndexByte(p, '/')+1:]):
			plain = append(plain, snapshot.PlainFile(p))
		}
	}
	if len(plain) <= maxPlain {
		out = append(out, plain...)
	}
	slices.SortFunc(out, func(a, b *snapshot.File) int { return strings.Compare(a.Path, b.Path) })
	for i, o := range out {
		if known := last.Obstacle(o.Path); known != nil && known.Digest == o.Digest {
			out[i] = known
		}
	}
	return out
}

// folderName matches the names that a level's folder may have: of a cluster, a tenant, a component.
var folderName = regexp.MustCompile(`^[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

// Beside returns what the repository has besides the files of Place, for rendering charts and
// folders.
func (t *Tree) Beside() (b snapshot.Beside) {
	if !t.limits.Charts {
		return b
	}
	for _, n := range t.list {
		p := n.Path
		if n.Link {
			b.Links = append(b.Links, snapshot.Link{Path: p, Target: n.Target})
		}
		switch {
		case n.Link && t.leadsToFolder(p):
			b.LinkedFolders = append(b.LinkedFolders, p)
		case Hidden(p) || !t.limits.Wanted(p):
			b.Unread = append(b.Unread, p)
		}
	}
	slices.SortFunc(b.Links, func(x, y snapshot.Link) int { return strings.Compare(x.Path, y.Path) })
	slices.Sort(b.LinkedFolders)
	slices.Sort(b.Unread)
	return b
}

func (t *Tree) leadsToFolder(p string) bool {
	final, err := t.target(p)
	return err == nil && t.nodes[final] == nil
}

func (t *Tree) index() {
	t.dirs = map[string]bool{"": true}
	t.paths = make([]string, 0, len(t.list))
	for _, n := range t.list {
		t.paths = append(t.paths, n.Path)
		for d := parent(n.Path); !t.dirs[d]; d = parent(d) {
			t.dirs[d] = true
		}
	}
	slices.Sort(t.paths)
}

func parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}

// Hidden reports whether a path has a part beginning with "..".
func Hidden(p string) bool { return strings.HasPrefix(p, "..") || strings.Contains(p, "/..") }
