package dir

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/tree"
)

// walk is one poll of a folder. It opens files below the root, never through a link that leads
// outside. It uses paths only for questions about names, such as whether a file has changed.
type walk struct {
	*Folder
	ctx   context.Context
	root  *os.Root
	real  string
	clone bool  // the folder is a clone, not a folder of several clones
	fresh int64 // the next poll does not trust times from here on
	tree  *tree.Tree
	found map[string]readFile // by path in the snapshot
	bytes int64               // of all files
}

// dir visits a folder and all that is below it.
func (w *walk) dir(rel string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := w.list(rel)
	if rel != "" && errors.Is(err, fs.ErrPermission) {
		w.tree.MarkUnreadable(snapshot.Unreadable(rel, true, fs.ErrPermission))
		return nil
	}
	if err != nil {
		return source.FileError(w.name, rel, vanished(err))
	}
	if rel != "" && w.clone && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" }) {
		w.tree.AddSubmodule(rel) // or a clone in a clone
		return nil
	}
	w.tree.AddFolder(rel)
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if err := w.entry(path.Join(rel, e.Name()), e.Type()); err != nil {
			return err
		}
	}
	return nil
}

// list lists a folder in order, so that the same folder gives the same error. It returns an error
// if a link has taken the folder's place: what the link leads to is not the folder's content.
func (w *walk) list(rel string) ([]fs.DirEntry, error) {
	name := cmp.Or(rel, ".")
	d, err := w.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // not blocking: as in file
	if err != nil {
		return nil, err
	}
	defer d.Close()
	opened, err := d.Stat()
	if err != nil {
		return nil, err
	}
	if named, err := w.root.Lstat(name); err != nil || !os.SameFile(opened, named) {
		return nil, cmp.Or(err, fs.ErrNotExist)
	}
	entries, err := d.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// entry visits an entry of a folder.
func (w *walk) entry(p string, kind fs.FileMode) error {
	if err := w.tree.Count(p); err != nil {
		return err
	}
	n := &tree.Node{Path: p}
	switch kind {
	case fs.ModeDir:
		return w.dir(p)
	case 0:
		w.tree.Add(n)
		if !tree.Hidden(p) && w.limits.Wanted(p) {
			return w.visit(tree.Placed{Path: p, Node: n})
		}
	case fs.ModeSymlink:
		target, err := w.root.Readlink(p)
		if err != nil {
			return source.FileError(w.name, p, vanished(err))
		}
		n.Link, n.Target, n.Size = true, filepath.ToSlash(target), int64(len(target))
		if filepath.IsAbs(target) {
			n.Target, n.Outside = w.below(target)
		}
		w.tree.Add(n)
		return w.tree.CheckLinks()
	default:
		w.tree.AddOdd(p)
	}
	return nil
}

// below turns an absolute link into one relative to the root; outside reports that it leads out of
// the folder.
func (w *walk) below(target string) (rooted string, outside bool) {
	for _, root := range []string{w.Folder.dir, w.real} {
		if rest, ok := strings.CutPrefix(filepath.Clean(target), strings.TrimSuffix(root, "/")); ok && (rest == "" || rest[0] == '/') {
			return "/" + strings.TrimPrefix(rest, "/"), false
		}
	}
	return target, true
}

// visit records a file as it is now.
func (w *walk) visit(p tree.Placed) error {
	file, err := w.file(p)
	if errors.Is(err, fs.ErrPermission) {
		file, err = readFile{racy: true, file: snapshot.Unreadable(p.Path, false, fs.ErrPermission)}, nil
		if old := w.seen[p.Path].file; old != nil && old.Digest == file.file.Digest {
			file.file = old
		}
	}
	if err != nil {
		return source.FileError(w.name, p.Node.Path, vanished(err))
	}
	if p.Node.Size = file.stat.size; file.file != nil {
		w.found[p.Path] = file
	}
	return nil
}

// file reads a file, or reuses the last poll's if it did not change. Beyond a limit it reads
// nothing: the snapshot is refused.
func (w *walk) file(p tree.Placed) (readFile, error) {
	old, known := w.seen[p.Path]
	if known && !old.racy {
		if info, err := os.Lstat(w.real + "/" + p.Node.Path); err == nil && statOf(info) == old.stat {
			w.isBeyond(old.stat.size)
			old.racy = old.stat.youngerThan(w.fresh)
			return old, nil
		}
	}
	// Not blocking: a pipe may have taken the file's place.
	file, err := w.root.OpenFile(p.Node.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return readFile{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return readFile{}, err
	}
	if !info.Mode().IsRegular() {
		return readFile{}, fs.ErrNotExist // something else has taken its place
	}
	stat := statOf(info)
	if w.isBeyond(stat.size) {
		return readFile{stat: stat}, nil
	}
	content, err := w.content(p.Path, file, stat.size)
	if err != nil {
		return readFile{}, err
	}
	if known && old.file.Digest == content.Digest {
		content = old.file
	}
	return readFile{stat: stat, racy: stat.youngerThan(w.fresh), file: content}, nil
}

// isBeyond adds a file's size, and reports whether all files are beyond a limit.
func (w *walk) isBeyond(size int64) bool {
	if size <= w.limits.FileSize {
		w.bytes += size
	}
	return w.bytes > w.limits.Bytes || len(w.found) > w.limits.Files
}

// content reads a file of about the given size.
func (w *walk) content(p string, file io.Reader, size int64) (*snapshot.File, error) {
	if size > w.limits.FileSize {
		return snapshot.TooLarge(p, size, w.limits.FileSize), nil
	}
	w.reads++
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(file, w.limits.FileSize+1)); err != nil {
		return nil, err
	}
	return snapshot.NewFile(p, data.Bytes(), w.limits.FileSize), nil
}

// vanished returns fs.ErrNotExist for the error of a path in which a link or a file has replaced a
// folder.
func vanished(err error) error {
	var system syscall.Errno
	if !errors.As(err, &system) || system == syscall.ELOOP || system == syscall.ENOTDIR || system == syscall.EINVAL {
		return fs.ErrNotExist
	}
	return err
}

func (s fileStat) youngerThan(t int64) bool { return max(s.mtime, s.ctime) >= t }

func statOf(info fs.FileInfo) fileStat {
	s := fileStat{size: info.Size(), mtime: info.ModTime().UnixNano()}
	s.more(info)
	return s
}
