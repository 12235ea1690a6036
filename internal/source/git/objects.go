package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/tree"
)

// errCorrupt means that the mirror is damaged.
var errCorrupt = errors.New("the mirror is damaged")

// load makes the snapshot of a target whose commit is in the mirror.
func (r *Repository) load(ctx context.Context, t target) (*snapshot.Snapshot, error) {
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
	if err := tree.CheckBytes(files); err != nil {
		return nil, err
	}
	s, err := r.read(ctx, commit, tree, files, broken)
	if err != nil {
		return nil, err
	}
	return s.WithBeside(tree.Beside()).WithObstacles(tree.Obstacles(r.last)).WithCommit(r.commitOf(ctx, commit)), nil
}

// tree lists all entries of a commit, and the targets of its links.
func (r *Repository) tree(ctx context.Context, commit string) (*tree.Tree, error) {
	t, err := r.listTree(ctx, commit)
	if err != nil {
		return nil, err
	}
	return t, r.readLinks(ctx, t)
}

// read makes a snapshot of files of a commit's tree.
func (r *Repository) read(ctx context.Context, commit string, t *tree.Tree, files []tree.Placed, broken []*snapshot.File) (*snapshot.Snapshot, error) {
	contents, err := r.readContents(ctx, files)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*snapshot.File, len(files)+len(broken))
	blobs := make(map[string]*snapshot.File, len(files))
	for _, p := range files {
		file := r.file(p, contents)
		out[p.Path] = file
		if file.Err == nil { // an error names its file
			blobs[p.Node.ID] = file
		}
	}
	for _, b := range broken {
		out[b.Path] = b
	}
	r.blobs, r.targets = blobs, map[string]string{}
	for _, n := range t.Links() {
		r.targets[n.ID] = n.Target
	}
	return snapshot.New(commit, out), nil
}

// file returns the entry of a placed blob: the previous snapshot's file if the blob is the same.
func (r *Repository) file(p tree.Placed, contents map[string][]byte) *snapshot.File {
	if p.Node.Size > r.limits.FileSize {
		return snapshot.TooLarge(p.Path, p.Node.Size, r.limits.FileSize)
	}
	if twin := r.blobs[p.Node.ID]; twin != nil {
		if last := r.last.File(p.Path); last != nil && last.Digest == twin.Digest {
			return last
		}
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
	err := r.run(ctx, command{
		args: []string{"--git-dir=" + r.mirror, "ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit},
		stdout: func(out io.Reader) error {
			in := bufio.NewReaderSize(out, 64<<10)
			for {
				line, err := in.ReadSlice(0)
				switch {
				case errors.Is(err, io.EOF) && len(line) == 0:
					return nil
				case errors.Is(err, bufio.ErrBufferFull):
					_, p, _ := strings.Cut(string(line), "\t")
					return source.LimitError(r.name, fmt.Sprintf("bytes of the path %q", problem.Truncate(p, 100)), int64(len(p)), snapshot.MaxPath)
				case err != nil:
					return errCorrupt
				}
				n, kind, err := parseEntry(string(line[:len(line)-1]))
				if err == nil {
					err = t.Count(n.Path)
				}
				if err != nil {
					return err
				}
				switch {
				case !isPath(n.Path): // no snapshot has such a path
				case kind == "commit":
					t.AddSubmodule(n.Path)
				case kind == "tree":
					t.AddFolder(n.Path)
				default:
					t.Add(n)
				}
			}
		},
	})
	return t, localError(err)
}

// parseEntry reads one line of ls-tree: "mode type id size<TAB>path". Folders and submodules (tree,
// commit) have only a path.
func parseEntry(line string) (n *tree.Node, kind string, _ error) {
	head, p, ok := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if !ok || len(fields) != 4 {
		return nil, "", errCorrupt
	}
	if fields[1] != "blob" {
		return &tree.Node{Path: p}, fields[1], nil
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil { // the mirror lacks the blob
		return nil, "", errCorrupt
	}
	return &tree.Node{Path: p, Link: fields[0] == "120000", ID: fields[2], Size: size}, fields[1], nil
}

func isPath(p string) bool {
	clean, err := snapshot.CleanPath(p)
	return err == nil && clean == p
}

// readLinks fills in the targets of all links.
func (r *Repository) readLinks(ctx context.Context, t *tree.Tree) error {
	if err := t.CheckLinks(); err != nil {
		return err
	}
	links, targets := t.Links(), map[string]string{}
	var ask []string
	for _, n := range links {
		if n.Size > tree.MaxTarget {
			continue
		}
		if target, ok := r.targets[n.ID]; ok {
			targets[n.ID] = target
		} else if _, ok := targets[n.ID]; !ok {
			targets[n.ID] = ""
			ask = append(ask, n.ID)
		}
	}
	if err := r.readBlobs(ctx, ask, tree.MaxTarget, func(id string, data []byte) { targets[id] = string(data) }); err != nil {
		return err
	}
	for _, n := range links {
		n.Target = targets[n.ID]
		n.Outside = n.Target == "" || strings.HasPrefix(n.Target, "/")
	}
	return nil
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
	err := r.readBlobs(ctx, ask, r.limits.FileSize, func(id string, data []byte) { contents[id] = data })
	return contents, err
}

// readBlobs reads blobs from the mirror, with one git command.
func (r *Repository) readBlobs(ctx context.Context, ids []string, limit int64, got func(id string, data []byte)) error {
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
