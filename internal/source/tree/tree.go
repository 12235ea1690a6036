package tree

import (
	"errors"
	"iter"
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
	// ID and Size are the id and size of the blob (only Git).
	ID   string
	Size int64
}

// Tree holds all nodes of a repository. Folders follow from the paths of their files.
type Tree struct {
	source string
	limits source.Limits
	nodes  map[string]*Node
	names  int // bytes of their paths

	dirs  map[string]bool // filled by index
	paths []string        // sorted, filled by index
	links []string        // the paths that are symbolic links

	targets map[string]target // by the path of a link
	weights map[string]int64  // by the folder that a link leads to
	// leftOut are the entries of folders whose contents are unknown.
	leftOut map[string]*snapshot.File
	// obstacles are the obstacles that are not nodes: submodules, and folders with the name of a
	// file.
	obstacles []*snapshot.File
}

// New makes an empty tree with room for size nodes.
func New(source string, limits source.Limits, size int) *Tree {
	return &Tree{
		source: source, limits: limits, nodes: make(map[string]*Node, size),
		targets: map[string]target{}, weights: map[string]int64{}, leftOut: map[string]*snapshot.File{},
	}
}

// nameOfEntry bounds the bytes of all paths, per entry of the limit.
const nameOfEntry = 128

// Add adds a node. Beyond the limit of entries, or of the bytes of their paths, it leaves out the
// folders with the most. It returns an error if there is no such folder.
func (t *Tree) Add(n *Node) error {
	if t.LeavesOut(n.Path) {
		return nil
	}
	t.nodes[n.Path] = n
	t.names += len(n.Path)
	what, weigh, limit := "entries", func(string) int64 { return 1 }, t.limits.Entries()
	switch {
	case len(t.nodes) > limit:
	case t.names > nameOfEntry*limit:
		what, weigh, limit = "bytes of paths", func(p string) int64 { return int64(len(p)) }, nameOfEntry*limit
	default:
		return nil
	}
	weight := &Weight{}
	for p := range t.nodes {
		weight.AddBelow(parent(p), weigh(p))
	}
	return t.leaveOutExcess(weight, int64(limit)*3/4, what, int64(limit)) // with room for further entries
}

// LeaveOutExcess leaves out the folders that have too many entries, by a weight in entries. It
// returns an error if there is no such folder.
func (t *Tree) LeaveOutExcess(weight *Weight) error {
	limit := int64(t.limits.Entries())
	return t.leaveOutExcess(weight, limit, "entries", limit)
}

func (t *Tree) leaveOutExcess(weight *Weight, share int64, what string, limit int64) error {
	excess := weight.Excess(share)
	if _, whole := excess[""]; whole {
		return source.LimitError(t.source, what, weight.total, limit)
	}
	for _, entry := range tooHeavy(excess, what, limit) {
		t.LeaveOut(entry)
	}
	maps.DeleteFunc(t.nodes, func(p string, _ *Node) bool {
		if !IsIn(p, excess) {
			return false
		}
		t.names -= len(p)
		return true
	})
	return nil
}

// IsFull reports whether the tree has reached the limit of entries or of the bytes of their paths.
func (t *Tree) IsFull() bool {
	return len(t.nodes) >= t.limits.Entries() || t.names+snapshot.MaxPath > nameOfEntry*t.limits.Entries()
}

// Nodes returns all nodes that have been added and not left out, in any order.
func (t *Tree) Nodes() iter.Seq[*Node] { return maps.Values(t.nodes) }

// LeaveOut leaves out a folder that has too many entries, or that cannot be read.
func (t *Tree) LeaveOut(entry *snapshot.File) { t.leftOut[entry.Path] = entry }

// LeavesOut reports whether a path is in a folder that is left out.
func (t *Tree) LeavesOut(p string) bool { return IsIn(p, t.leftOut) }

// IsIn reports whether a path is one of the folders, or below one.
func IsIn[V any](p string, folders map[string]V) bool {
	if len(folders) == 0 {
		return false
	}
	for ; p != ""; p = parent(p) {
		if _, is := folders[p]; is {
			return true
		}
	}
	return false
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

// Place follows all links and returns the files of a snapshot by path. broken are the entries that
// cannot be read: links to nothing or out of the repository, and folders beyond their share of the
// limits.
func (t *Tree) Place() (files []Placed, broken []*snapshot.File, err error) {
	weight := &Weight{}
	for p, n := range t.nodes {
		if !n.Link && !Hidden(p) && t.limits.Wanted(p) {
			weight.AddBelow(parent(p), 1)
		}
	}
	links := t.Links()
	if len(links) > 0 {
		t.index()
		for _, n := range links {
			t.addLink(weight, n)
		}
	}
	limit := int64(t.limits.Files)
	excess := weight.Excess(limit)
	if _, whole := excess[""]; whole {
		return nil, nil, source.LimitError(t.source, "files", weight.total, limit)
	}
	files = make([]Placed, 0, min(weight.total, limit))
	for p, n := range t.nodes {
		if !n.Link && !Hidden(p) && t.limits.Wanted(p) && !IsIn(p, excess) {
			files = append(files, Placed{p, n})
		}
	}
	broken = slices.AppendSeq(tooHeavy(excess, "files", limit), maps.Values(t.leftOut))
	for _, n := range links {
		if !Hidden(n.Path) && !IsIn(n.Path, excess) {
			files, broken = t.placeLink(files, broken, n.Path, n)
		}
	}
	return files, broken, nil
}

// Spare leaves out files of a snapshot beyond the limit of bytes: the folders with the most. It
// calls size in the order of paths.
func (t *Tree) Spare(files []Placed, size func(Placed) int64) (kept []Placed, broken []*snapshot.File, err error) {
	weight := &Weight{}
	for _, p := range slices.SortedFunc(slices.Values(files), func(a, b Placed) int { return strings.Compare(a.Path, b.Path) }) {
		weight.AddBelow(parent(p.Path), size(p))
	}
	excess := weight.Excess(t.limits.Bytes)
	if _, whole := excess[""]; whole {
		return nil, nil, source.LimitError(t.source, "bytes of all files", weight.total, t.limits.Bytes)
	}
	kept = slices.DeleteFunc(slices.Clone(files), func(p Placed) bool { return IsIn(p.Path, excess) })
	return kept, tooHeavy(excess, "bytes of files", t.limits.Bytes), nil
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
	for p, n := range t.nodes {
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
	for p, n := range t.nodes {
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
	t.paths = make([]string, 0, len(t.nodes))
	for p := range t.nodes {
		t.paths = append(t.paths, p)
		for d := parent(p); !t.dirs[d]; d = parent(d) {
			t.dirs[d] = true
		}
	}
	slices.Sort(t.paths)
	for _, p := range t.paths {
		if t.nodes[p].Link {
			t.links = append(t.links, p)
		}
	}
}

func parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}

// Hidden reports whether a path has a part beginning with "..".
func Hidden(p string) bool { return strings.HasPrefix(p, "..") || strings.Contains(p, "/..") }
