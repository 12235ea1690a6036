package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// allName begins the names of the work folders of CreateAll.
const allName = "files"

// CreateAll writes several files below dir, all of them or none. None of them may exist: the error
// names the files that exist and wraps fs.ErrExist. It writes nothing outside of dir, whatever
// symbolic links there are (rule H8).
//
// It fills a work folder in dir and then gives the files their names, one after the other. What a
// killed process has done of that, the next CreateAll or RemoveUnfinished in dir undoes.
func CreateAll(dir string, files map[string][]byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write below %s: %w", dir, err)
		}
	}()
	if err := RemoveUnfinished(dir); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names := slices.Sorted(maps.Keys(files))
	var taken []string
	for _, name := range names {
		if _, err := root.Lstat(name); err == nil {
			taken = append(taken, name)
		}
	}
	if len(taken) > 0 {
		return fmt.Errorf("%s: %w", strings.Join(taken, ", "), fs.ErrExist)
	}
	w, err := newWorkFolder(filepath.Join(dir, allName))
	if err != nil {
		return err
	}
	defer w.lock.Close()
	if err = fill(w.fresh(), files); err == nil {
		err = w.link(root, names)
	}
	if err == nil {
		err = os.Rename(w.fresh(), w.old()) // from here on it is finished
	}
	return errors.Join(err, w.undo(root))
}

// link gives the files of the work folder their names. A link, unlike a rename, fails when the name
// is taken.
func (w *workFolder) link(root *os.Root, names []string) error {
	for _, name := range names {
		if _, err := makeFolders(root, path.Dir(name)); err != nil {
			return err
		}
		if err := root.Link(path.Join(filepath.Base(w.path), "new", name), name); err != nil {
			return err
		}
	}
	return nil
}

// RemoveUnfinished undoes what killed processes have begun to write with CreateAll.
func RemoveUnfinished(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return eachLeftover(filepath.Join(dir, allName), func(w *workFolder) error {
		defer w.lock.Close()
		return w.undo(root)
	})
}

// undo removes the work folder, and unless all files have their names, the files with names and the
// folders that were made for them.
func (w *workFolder) undo(root *os.Root) error {
	folders := map[string]bool{}
	err := filepath.WalkDir(w.fresh(), func(staged string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(w.fresh(), staged)
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() {
			folders[name] = true
			return nil
		}
		mine, err := os.Lstat(staged)
		if err != nil {
			return err
		}
		if there, err := root.Lstat(name); err == nil && os.SameFile(mine, there) {
			return root.Remove(name)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	byDepth := slices.Sorted(maps.Keys(folders))
	slices.Reverse(byDepth)
	for _, folder := range byDepth {
		if there, err := root.Lstat(folder); err == nil && there.IsDir() {
			_ = root.Remove(folder) // fails, as it should, if it holds anything else
		}
	}
	return os.RemoveAll(w.path)
}
