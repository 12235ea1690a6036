package dir

import (
	"context"
	"errors"
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
// outside, and reads them while their folder is open. It uses paths only for questions about names,
// such as whether a file has changed.
type walk struct {
	*Folder
	ctx      context.Context
	root     *os.Root
	real     string
	clone    bool  // the folder is a clone, not a folder of several clones
	fresh    int64 // the next poll does not trust times from here on
	tree     *tree.Tree
	listings map[string]listing
	found    map[string]readFile // by path in the snapshot
	failed   firstFailure
	bytes    int64 // of all files
}

// listing holds a folder's entries. It is valid as long as the folder's times stay the same.
type listing struct {
	stat fileStat
	racy bool
	dirs []string
	// nodes are the files and links. odd are other entries, such as a pipe.
	nodes     []tree.Node
	odd       []string
	submodule bool
}

// dir visits a folder. below is its path from the open folder.
func (w *walk) dir(rel string, at *os.Root, below string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	// Files of the folder are opened from the folder while it is open, else from the root.
	from, to := w.root, rel
	l, known, err := w.cached(rel)
	if err == nil && !known {
		var here *os.Root
		if here, err = at.OpenRoot(below); err == nil {
			l, err = w.list(rel, here)
			if strings.Count(rel, "/") < openFolders {
				defer here.Close()
				from, to = here, ""
			} else {
				here.Close()
			}
		}
	}
	err = vanished(err)
	if rel != "" && errors.Is(err, fs.ErrPermission) {
		w.tree.MarkUnreadable(snapshot.Unreadable(rel, true, fs.ErrPermission))
		return nil
	}
	if err != nil {
		return source.FileError(w.name, rel, err)
	}
	w.listings[rel] = l
	if l.submodule {
		w.tree.AddSubmodule(rel)
	} else {
		w.tree.AddFolder(rel)
	}
	for i := range l.nodes {
		n := &l.nodes[i]
		if err := w.tree.Count(n.Path); err != nil {
			return err
		}
		w.tree.Add(n)
		if !n.Link && !tree.Hidden(n.Path) && w.limits.Wanted(n.Path) {
			w.visit(tree.Placed{Path: n.Path, Node: n}, from, path.Join(to, path.Base(n.Path)))
		}
	}
	for _, p := range l.odd {
		w.tree.AddOdd(p)
	}
	for _, dir := range l.dirs {
		if err := w.tree.Count(dir); err != nil {
			return err
		}
		if err := w.dir(dir, from, path.Join(to, path.Base(dir))); err != nil {
			return err
		}
	}
	return nil
}

// cached returns the listing of the last poll if no entry was added or removed since.
func (w *walk) cached(rel string) (listing, bool, error) {
	l, ok := w.Folder.listings[rel]
	if !ok || l.racy {
		return l, false, nil
	}
	info, err := os.Lstat(filepath.Join(w.real, rel))
	if err != nil {
		return l, false, err
	}
	stat := statOf(info)
	l.racy = stat.youngerThan(w.fresh)
	return l, stat == l.stat, nil
}

// list lists a folder that is open.
func (w *walk) list(rel string, here *os.Root) (listing, error) {
	info, err := here.Lstat(".") // before its entries: a later change makes it differ
	if err != nil {
		return listing{}, err
	}
	stat := statOf(info)
	// In order, so that the same folder gives the same snapshot, even beyond a limit.
	entries, err := fs.ReadDir(here.FS(), ".")
	if err != nil {
		return listing{}, err
	}
	if rel != "" && w.clone && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" }) {
		return listing{stat: stat, racy: stat.youngerThan(w.fresh), submodule: true}, nil // or a clone in a clone
	}
	l := listing{stat: stat, racy: stat.youngerThan(w.fresh), nodes: make([]tree.Node, 0, len(entries))}
	for _, e := range entries {
		n := tree.Node{Path: path.Join(rel, e.Name())}
		switch {
		case e.Name() == ".git":
		case e.IsDir():
			l.dirs = append(l.dirs, n.Path)
		case e.Type().IsRegular():
			l.nodes = append(l.nodes, n)
		case e.Type() == fs.ModeSymlink:
			target, err := here.Readlink(e.Name())
			if err != nil {
				return listing{}, source.FileError(w.name, n.Path, vanished(err))
			}
			n.Link, n.Target = true, filepath.ToSlash(target)
			if filepath.IsAbs(target) {
				n.Target, n.Outside = w.below(target)
			}
			l.nodes = append(l.nodes, n)
		default:
			l.odd = append(l.odd, n.Path)
		}
	}
	return l, nil
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

// vanished returns fs.ErrNotExist for the error of a path in which a link or a file has replaced a
// folder.
func vanished(err error) error {
	var system syscall.Errno
	var own *source.Error
	if err != nil && !errors.As(err, &system) && !errors.As(err, &own) || system == syscall.ELOOP || system == syscall.ENOTDIR || system == syscall.EINVAL {
		return fs.ErrNotExist
	}
	return err
}
