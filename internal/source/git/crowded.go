package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"path"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source/tree"
)

// A commit may have any number of paths: twelve objects, each with ten times the next one, are
// 10^12 files, and Git lists them all. Beyond the limit, a crowd counts each object once, and
// leaves out the folders with the most entries.

const (
	// maxFolders bounds the bytes of the folders' objects that are counted, maxDepth their depth. A
	// folder beyond a limit counts as endless.
	maxFolders = 64 << 20
	maxDepth   = 100
)

// errCrowded means that a commit has more entries than the limit.
var errCrowded = errors.New("more entries than the limit")

// Modes of the entries of a folder's object.
const (
	modeFolder    = "40000"
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// crowd is a commit with too many entries. Its maps have the ids of folders' objects as keys.
type crowd struct {
	*Repository
	first   map[string]string // the first path
	size    map[string]int64  // in bytes
	content map[string][]byte
	weights map[string]*tree.Weight // in entries
}

// listCrowded lists the part of a commit that is within the limit of entries.
func (r *Repository) listCrowded(ctx context.Context, commit string) (*tree.Tree, error) {
	root, err := r.output(ctx, 1<<10, "--git-dir="+r.mirror, "rev-parse", "--verify", commit+"^{tree}")
	if err != nil {
		return nil, localError(err)
	}
	root = strings.TrimSpace(root)
	c := &crowd{r, map[string]string{root: ""}, map[string]int64{}, map[string][]byte{}, map[string]*tree.Weight{}}
	if err := c.read(ctx, root); err != nil {
		return nil, err
	}
	t := tree.New(r.name, r.limits, r.limits.Entries())
	if err := t.LeaveOutExcess(c.weigh(root)); err != nil {
		return nil, err
	}
	if err := c.list("", root, t); err != nil {
		return nil, err
	}
	return t, c.measure(ctx, t.Nodes())
}

// read reads the objects of all folders, depth by depth.
func (c *crowd) read(ctx context.Context, root string) error {
	ask := []string{root}
	for depth := 0; len(ask) > 0 && depth < maxDepth; depth++ {
		err := c.sizes(ctx, ask, func(id string, size int64) { c.size[id] = size })
		if err != nil {
			return err
		}
		ask = c.affordable(ask)
		if err := c.readObjects(ctx, "tree", ask, maxFolders, func(id string, data []byte) { c.content[id] = data }); err != nil {
			return err
		}
		var next []string
		for _, id := range ask {
			for e := range c.entries(id) {
				if _, seen := c.first[e.id]; e.mode == modeFolder && !seen {
					c.first[e.id] = path.Join(c.first[id], e.name)
					next = append(next, e.id)
				}
			}
		}
		ask = next
	}
	return nil
}

// affordable returns the folders to read that fit into the limit of bytes.
func (c *crowd) affordable(ask []string) (out []string) {
	weight := &tree.Weight{}
	for id, size := range c.size {
		weight.AddBelow(c.first[id], size)
	}
	excess := weight.Excess(maxFolders)
	for _, id := range ask {
		if c.size[id] != snapshot.UnknownSize && !tree.IsIn(c.first[id], excess) {
			out = append(out, id)
		}
	}
	return out
}

// weigh counts the entries of a folder, including its folders. A folder that has not been read is
// endless.
func (c *crowd) weigh(id string) *tree.Weight {
	if w := c.weights[id]; w != nil {
		return w
	}
	w := &tree.Weight{}
	if _, read := c.content[id]; !read {
		w.Add(tree.Endless)
	}
	for e := range c.entries(id) {
		if w.Add(1); e.mode == modeFolder {
			w.Put(e.name, c.weigh(e.id))
		}
	}
	c.weights[id] = w
	return w
}

// list adds the files and links of a folder, and of folders below it that are not left out.
func (c *crowd) list(at, id string, t *tree.Tree) error {
	for e := range c.entries(id) {
		p := path.Join(at, e.name)
		var err error
		switch {
		case e.mode == modeSubmodule || !isPath(at, e.name) || t.LeavesOut(p):
		case e.mode == modeFolder:
			err = c.list(p, e.id, t)
		default:
			err = t.Add(&tree.Node{Path: p, Link: e.mode == modeLink, ID: e.id})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measure finds the sizes of files.
func (c *crowd) measure(ctx context.Context, nodes iter.Seq[*tree.Node]) error {
	sizes := map[string]int64{}
	var ask, missing []string
	for n := range nodes {
		if _, asked := sizes[n.ID]; !asked {
			sizes[n.ID] = 0
			ask = append(ask, n.ID)
		}
	}
	err := c.sizes(ctx, ask, func(id string, size int64) {
		if sizes[id] = size; size == snapshot.UnknownSize {
			missing = append(missing, id)
		}
	})
	if err == nil {
		err = localError(c.acceptMissing(missing))
	}
	for n := range nodes {
		n.Size = sizes[n.ID]
	}
	return err
}

// sizes finds the sizes of objects: snapshot.UnknownSize for an object that the mirror lacks.
func (r *Repository) sizes(ctx context.Context, ids []string, got func(id string, size int64)) error {
	if len(ids) == 0 {
		return nil
	}
	return localError(r.run(ctx, command{
		args:  []string{"--git-dir=" + r.mirror, "cat-file", "--batch-check", "--buffer"},
		stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
		stdout: func(out io.Reader) error {
			in := bufio.NewReaderSize(out, 64<<10)
			for _, id := range ids {
				line, err := in.ReadString('\n')
				fields := strings.Fields(line) // "id type size", or "id missing"
				if err != nil || len(fields) < 2 || fields[0] != id {
					return errCorrupt
				}
				size := int64(snapshot.UnknownSize)
				if len(fields) == 3 {
					if size, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
						return errCorrupt
					}
				}
				got(id, size)
			}
			return nil
		},
	}))
}

// gitEntry is an entry of a folder's object.
type gitEntry struct{ mode, name, id string }

// entries returns the entries of a folder's object (gitformat-pack: mode, space, name, NUL, raw
// id).
func (c *crowd) entries(id string) iter.Seq[gitEntry] {
	return func(yield func(gitEntry) bool) {
		for data := c.content[id]; len(data) > 0; {
			head, rest, _ := bytes.Cut(data, []byte{0})
			mode, name, _ := strings.Cut(string(head), " ")
			raw := len(id) / 2
			if len(rest) < raw || !yield(gitEntry{mode, name, hex.EncodeToString(rest[:raw])}) {
				return
			}
			data = rest[raw:]
		}
	}
}

// isPath reports whether a name in a folder makes a path that a snapshot can have.
func isPath(folder, name string) bool {
	p := strings.TrimPrefix(folder+"/"+name, "/")
	clean, err := snapshot.CleanPath(p)
	return err == nil && clean == p
}
