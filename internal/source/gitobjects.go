package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

// errCorrupt means that the mirror is not what it should be.
var errCorrupt = errors.New("the mirror is damaged")

// maxTarget is the longest target of a symbolic link (Linux: PATH_MAX).
const maxTarget = 4096

// load makes the snapshot of a commit that is in the mirror.
func (g *Git) load(ctx context.Context, commit string) (*snapshot.Snapshot, error) {
	if g.last != nil && g.last.Revision == commit {
		return g.last, nil
	}
	tree, err := g.tree(ctx, commit)
	if err != nil {
		return nil, err
	}
	files, broken, err := tree.place()
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, empty(g.name)
	}
	s, err := g.read(ctx, commit, files, broken)
	if err != nil {
		return nil, err
	}
	return s.WithBeside(tree.beside()), nil
}

// tree is all that a commit has, with where its links lead.
func (g *Git) tree(ctx context.Context, commit string) (*tree, error) {
	t, err := g.listTree(ctx, commit)
	if err != nil {
		return nil, err
	}
	return t, g.readLinks(ctx, t)
}

// read makes a snapshot of files of a commit.
func (g *Git) read(ctx context.Context, commit string, files []placed, broken []*snapshot.File) (*snapshot.Snapshot, error) {
	contents, err := g.readContents(ctx, files)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*snapshot.File, len(files)+len(broken))
	ids := make(map[string]string, len(files))
	blobs := make(map[string]*snapshot.File, len(files))
	for _, p := range files {
		file := g.file(p, contents)
		out[p.path], ids[p.path] = file, p.node.id
		blobs[p.node.id] = file
	}
	for _, b := range broken {
		out[b.Path] = b
	}
	g.ids, g.blobs = ids, blobs
	return snapshot.New(commit, out), nil
}

// file is the entry of a placed blob: the previous snapshot's own where it is the same.
func (g *Git) file(p placed, contents map[string][]byte) *snapshot.File {
	if g.ids[p.path] == p.node.id {
		if file := g.last.File(p.path); file != nil {
			return file
		}
	}
	if p.node.size > g.limits.FileSize {
		return snapshot.TooLarge(p.path, p.node.size, g.limits.FileSize)
	}
	if twin := g.blobs[p.node.id]; twin != nil {
		file := *twin
		file.Path = p.path
		return &file
	}
	return snapshot.NewFile(p.path, contents[p.node.id], g.limits.FileSize)
}

// listTree lists all files and links of a commit.
func (g *Git) listTree(ctx context.Context, commit string) (*tree, error) {
	t := newTree(g.name, g.limits, g.last.Len())
	err := g.run(ctx, command{
		args: []string{"--git-dir=" + g.mirror, "ls-tree", "-r", "-z", "-l", "--full-tree", commit},
		stdout: func(r io.Reader) error {
			in := bufio.NewReaderSize(r, 64<<10)
			for {
				line, err := in.ReadString(0)
				if errors.Is(err, io.EOF) && line == "" {
					return nil
				}
				if err != nil {
					return errCorrupt
				}
				n, err := parseEntry(line[:len(line)-1])
				if err != nil {
					return err
				}
				if n == nil {
					continue
				}
				if err := t.add(n); err != nil {
					return err
				}
			}
		},
	})
	if err != nil {
		return nil, localError(err)
	}
	return t, nil
}

// parseEntry reads one line of ls-tree: "mode type id size<TAB>path". Submodules give nil, and so do paths that
// nothing could ask for.
func parseEntry(line string) (*node, error) {
	head, p, ok := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if !ok || len(fields) != 4 {
		return nil, errCorrupt
	}
	if fields[1] != "blob" {
		return nil, nil
	}
	if clean, err := snapshot.CleanPath(p); err != nil || clean != p {
		return nil, nil //nolint:nilerr // nothing could ask for it
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return nil, errCorrupt
	}
	return &node{path: p, link: fields[0] == "120000", id: fields[2], size: size}, nil
}

// readLinks fills in the targets of all links.
func (g *Git) readLinks(ctx context.Context, t *tree) error {
	if t.links == 0 {
		g.targets = nil
		return nil
	}
	targets := make(map[string]string, t.links)
	var ask []string
	for _, n := range t.nodes {
		if !n.link || n.size > maxTarget {
			continue
		}
		if target, ok := g.targets[n.id]; ok {
			targets[n.id] = target
		} else if _, ok := targets[n.id]; !ok {
			targets[n.id] = ""
			ask = append(ask, n.id)
		}
	}
	if err := g.readBlobs(ctx, ask, maxTarget, func(id string, data []byte) { targets[id] = string(data) }); err != nil {
		return err
	}
	for _, n := range t.nodes {
		if n.link {
			n.target = targets[n.id]
			n.outside = n.target == "" || strings.HasPrefix(n.target, "/")
		}
	}
	g.targets = targets
	return nil
}

// readContents reads the blobs that the previous snapshot did not have.
func (g *Git) readContents(ctx context.Context, files []placed) (map[string][]byte, error) {
	contents := map[string][]byte{}
	counted := make(map[string]bool, len(files))
	var ask []string
	var total int64
	for _, p := range files {
		id := p.node.id
		if p.node.size > g.limits.FileSize || counted[id] {
			continue
		}
		counted[id] = true
		total += p.node.size
		if g.blobs[id] == nil {
			ask = append(ask, id)
		}
	}
	if total > g.limits.Bytes {
		return nil, overLimit(g.name, "bytes of all files", total, g.limits.Bytes)
	}
	err := g.readBlobs(ctx, ask, g.limits.FileSize, func(id string, data []byte) { contents[id] = data })
	return contents, err
}

// readBlobs reads blobs of the mirror, in one go.
func (g *Git) readBlobs(ctx context.Context, ids []string, limit int64, got func(id string, data []byte)) error {
	if len(ids) == 0 {
		return nil
	}
	err := g.run(ctx, command{
		args:  []string{"--git-dir=" + g.mirror, "cat-file", "--batch", "--buffer"},
		stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
		stdout: func(r io.Reader) error {
			in := bufio.NewReaderSize(r, 64<<10)
			for _, id := range ids {
				head, err := in.ReadString('\n')
				if err != nil {
					return errCorrupt
				}
				// "id blob size", or "id missing"
				fields := strings.Fields(head)
				if len(fields) != 3 || fields[0] != id || fields[1] != "blob" {
					return errCorrupt
				}
				size, err := strconv.ParseInt(fields[2], 10, 64)
				if err != nil || size > limit {
					return errCorrupt
				}
				data := make([]byte, size)
				if _, err := io.ReadFull(in, data); err != nil {
					return errCorrupt
				}
				if _, err := in.Discard(1); err != nil {
					return errCorrupt
				}
				g.reads++
				got(id, data)
			}
			return nil
		},
	})
	return localError(err)
}

// localError is the error of a command that reads the mirror: if git failed, the mirror is damaged.
func localError(err error) error {
	var exit *gitExit
	if errors.As(err, &exit) {
		return fmt.Errorf("%w: %s", errCorrupt, exit.message)
	}
	return err
}
