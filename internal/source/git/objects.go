package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/tree"
)

// errCorrupt means that the mirror is damaged.
var errCorrupt = errors.New("the mirror is damaged")

// maxTarget is the longest target of a symbolic link (Linux: PATH_MAX).
const maxTarget = 4096

// maxListed bounds the bytes of a list of entries, per entry of the limit.
const maxListed = 256

// load makes the snapshot of a target whose commit is in the mirror.
func (r *Repository) load(ctx context.Context, t target) (*snapshot.Snapshot, error) {
	if r.last != nil && r.object == t.id {
		return r.last, nil
	}
	if err := r.verify(ctx, t); err != nil {
		return nil, err
	}
	commit := t.commit
	if r.last != nil && r.last.Revision == commit {
		return r.last, nil
	}
	tree, err := r.tree(ctx, commit)
	if err != nil {
		return nil, err
	}
	files, broken, err := tree.Place()
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, source.EmptyError(r.name)
	}
	if r.bytesOf(files) > r.limits.Bytes {
		var heavy []*snapshot.File
		if files, heavy, err = tree.Spare(files, r.sizeOnce()); err != nil {
			return nil, err
		}
		broken = append(broken, heavy...)
	}
	s, err := r.read(ctx, commit, files, broken)
	if err != nil {
		return nil, err
	}
	return s.WithBeside(tree.Beside()).WithObstacles(tree.Obstacles(r.last)).WithCommit(r.commitOf(ctx, commit)), nil
}

// tree lists all entries of a commit, and the targets of its links.
func (r *Repository) tree(ctx context.Context, commit string) (*tree.Tree, error) {
	t, err := r.listTree(ctx, commit)
	if errors.Is(err, errCrowded) {
		t, err = r.listCrowded(ctx, commit)
	}
	if err != nil {
		return nil, err
	}
	return t, r.readLinks(ctx, t)
}

// read makes a snapshot of files of a commit.
func (r *Repository) read(ctx context.Context, commit string, files []tree.Placed, broken []*snapshot.File) (*snapshot.Snapshot, error) {
	contents, err := r.readContents(ctx, files)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*snapshot.File, len(files)+len(broken))
	ids := make(map[string]string, len(files))
	blobs := make(map[string]*snapshot.File, len(files))
	for _, p := range files {
		file := r.file(p, contents)
		out[p.Path], ids[p.Path] = file, p.Node.ID
		if file.Err == nil { // an error names its file
			blobs[p.Node.ID] = file
		}
	}
	for _, b := range broken {
		out[b.Path] = b
	}
	r.ids, r.blobs = ids, blobs
	return snapshot.New(commit, out), nil
}

// file returns the entry of a placed blob: the previous snapshot's file if the blob is the same.
func (r *Repository) file(p tree.Placed, contents map[string][]byte) *snapshot.File {
	if r.ids[p.Path] == p.Node.ID {
		if file := r.last.File(p.Path); file != nil {
			return file
		}
	}
	if p.Node.Size > r.limits.FileSize {
		return snapshot.TooLarge(p.Path, p.Node.Size, r.limits.FileSize)
	}
	if twin := r.blobs[p.Node.ID]; twin != nil {
		file := *twin
		file.Path = p.Path
		return &file
	}
	return snapshot.NewFile(p.Path, contents[p.Node.ID], r.limits.FileSize)
}

// listTree lists all files and links of a commit. Folders count as entries, too, and so do paths
// that a snapshot cannot have.
func (r *Repository) listTree(ctx context.Context, commit string) (*tree.Tree, error) {
	t := tree.New(r.name, r.limits, r.last.Len())
	var missing []string
	err := r.run(ctx, command{
		args: []string{"--git-dir=" + r.mirror, "ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit},
		stdout: func(out io.Reader) error {
			in := bufio.NewReaderSize(out, 64<<10)
			for entries, bytes := 1, 0; ; entries++ {
				line, err := in.ReadSlice(0)
				bytes += len(line)
				switch {
				case errors.Is(err, io.EOF) && len(line) == 0:
					return nil
				case entries > r.limits.Entries() || bytes > maxListed*r.limits.Entries() || t.IsFull() || errors.Is(err, bufio.ErrBufferFull):
					return errCrowded
				case err != nil:
					return errCorrupt
				}
				n, kind, err := parseEntry(string(line[:len(line)-1]))
				if err != nil {
					return err
				}
				switch {
				case n == nil:
					continue
				case kind == "commit":
					t.AddSubmodule(n.Path)
					continue
				case kind == "tree":
					t.AddFolder(n.Path)
					continue
				}
				if n.Size == snapshot.UnknownSize {
					missing = append(missing, n.ID)
				}
				if err := t.Add(n); err != nil {
					return err
				}
			}
		},
	})
	if err == nil {
		err = r.acceptMissing(missing)
	}
	if err != nil {
		return nil, localError(err)
	}
	return t, nil
}

// parseEntry reads one line of ls-tree: "mode type id size<TAB>path". It returns nil for paths that
// a snapshot cannot have. Folders and submodules (tree, commit) have only a path.
func parseEntry(line string) (n *tree.Node, kind string, _ error) {
	head, p, ok := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if !ok || len(fields) != 4 {
		return nil, "", errCorrupt
	}
	if clean, err := snapshot.CleanPath(p); err != nil || clean != p {
		return nil, "", nil //nolint:nilerr // no snapshot has such a path
	}
	if fields[1] != "blob" {
		return &tree.Node{Path: p}, fields[1], nil
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	switch {
	case fields[3] == "BAD": // it is not in the mirror
		size = snapshot.UnknownSize
	case err != nil:
		return nil, "", errCorrupt
	}
	return &tree.Node{Path: p, Link: fields[0] == "120000", ID: fields[2], Size: size}, fields[1], nil
}

// readLinks fills in the targets of all links.
func (r *Repository) readLinks(ctx context.Context, t *tree.Tree) error {
	links := t.Links()
	targets := make(map[string]string, len(links))
	var ask []string
	for _, n := range links {
		if n.Size > maxTarget {
			continue
		}
		if target, ok := r.targets[n.ID]; ok {
			targets[n.ID] = target
		} else if _, ok := targets[n.ID]; !ok {
			targets[n.ID] = ""
			ask = append(ask, n.ID)
		}
	}
	if err := r.readObjects(ctx, "blob", ask, maxTarget, func(id string, data []byte) { targets[id] = string(data) }); err != nil {
		return err
	}
	for _, n := range links {
		n.Target = targets[n.ID]
		n.Outside = n.Target == "" || strings.HasPrefix(n.Target, "/")
	}
	r.targets = targets
	return nil
}

// sizeOnce returns a function that returns a file's bytes to read, and 0 for a repeated blob.
func (r *Repository) sizeOnce() func(tree.Placed) int64 {
	counted := map[string]bool{}
	return func(p tree.Placed) int64 {
		if p.Node.Size > r.limits.FileSize || counted[p.Node.ID] {
			return 0
		}
		counted[p.Node.ID] = true
		return p.Node.Size
	}
}

// bytesOf returns the bytes of all files.
func (r *Repository) bytesOf(files []tree.Placed) (total int64) {
	size := r.sizeOnce()
	for _, p := range files {
		total += size(p)
	}
	return total
}

// readContents reads the blobs that the previous snapshot did not have.
func (r *Repository) readContents(ctx context.Context, files []tree.Placed) (map[string][]byte, error) {
	contents := map[string][]byte{}
	counted := make(map[string]bool, len(files))
	var ask []string
	for _, p := range files {
		id := p.Node.ID
		if p.Node.Size > r.limits.FileSize || counted[id] {
			continue
		}
		counted[id] = true
		if r.blobs[id] == nil {
			ask = append(ask, id)
		}
	}
	err := r.readObjects(ctx, "blob", ask, r.limits.FileSize, func(id string, data []byte) { contents[id] = data })
	return contents, err
}

// readObjects reads objects of a kind from the mirror, with one git command.
func (r *Repository) readObjects(ctx context.Context, kind string, ids []string, limit int64, got func(id string, data []byte)) error {
	if len(ids) == 0 {
		return nil
	}
	err := r.run(ctx, command{
		args:  []string{"--git-dir=" + r.mirror, "cat-file", "--batch", "--buffer"},
		stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
		stdout: func(out io.Reader) error {
			in := bufio.NewReaderSize(out, 64<<10)
			for _, id := range ids {
				head, err := in.ReadString('\n')
				if err != nil {
					return errCorrupt
				}
				// "id kind size", or "id missing"
				fields := strings.Fields(head)
				if len(fields) != 3 || fields[0] != id || fields[1] != kind {
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
				r.reads++
				got(id, data)
			}
			return nil
		},
	})
	return localError(err)
}

// localError returns the error of a command that reads the mirror: errCorrupt if git failed.
func localError(err error) error {
	var exit *gitExit
	if errors.As(err, &exit) {
		return fmt.Errorf("%w: %s", errCorrupt, exit.message)
	}
	return err
}
