package atomicfile

import (
	"bytes"
	"crypto/rand"
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

// allName begins the names of the work folders of WriteAll.
const allName = "files"

// Replacement is a file that gets another content, unless it is no longer what it was.
type Replacement struct {
	Name    string
	Was, Is []byte
}

// WriteAll writes new files below dir and then replaces others, all of them or none. None of the
// new files may exist: the error names the files that exist and wraps fs.ErrExist. It wraps
// ErrChanged if a file is no longer what it was. WriteAll writes nothing outside of dir, whatever
// symbolic links there are (rule H8).
//
// It fills a work folder in dir and then gives the files their names, one after the other. What a
// killed process has done of that, the next WriteAll or RemoveUnfinished in dir undoes.
func WriteAll(dir string, files map[string][]byte, replacements []Replacement) (err error) {
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
	all := maps.Clone(files)
	if all == nil {
		all = map[string][]byte{}
	}
	replacements = slices.Clone(replacements)
	for i, r := range replacements {
		replacements[i].Name = target(dir, r.Name)
		all[replacements[i].Name] = r.Is
	}
	if err = fill(w.fresh(), all); err == nil {
		err = w.link(root, names)
	}
	for _, r := range replacements {
		if err == nil {
			err = w.exchange(root, r)
		}
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

// target is the file that a name leads to: of a link below dir the file that it names, so that the
// link stays. Any other name is returned as it is.
func target(dir, name string) string {
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return name
	}
	file, err := filepath.EvalSymlinks(filepath.Join(base, name))
	if err != nil {
		return name
	}
	if rel, err := filepath.Rel(base, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name // no access leaves dir: it fails
}

// exchange gives a file of the work folder the name and the mode of another, which the work folder
// keeps.
func (w *workFolder) exchange(root *os.Root, r Replacement) error {
	work := filepath.Base(w.path)
	now, err := root.ReadFile(r.Name)
	if err == nil && !bytes.Equal(now, r.Was) {
		err = ErrChanged
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	if _, err := makeFolders(root, path.Join(work, was, path.Dir(r.Name))); err != nil {
		return err
	}
	if err := root.Link(r.Name, path.Join(work, was, r.Name)); err != nil {
		return err
	}
	info, err := root.Stat(r.Name)
	if err != nil {
		return err
	}
	if err := root.Chmod(path.Join(work, "new", r.Name), info.Mode().Perm()); err != nil {
		return err
	}
	return rename(root, path.Join(work, "new", r.Name), r.Name)
}

// was is the folder of a work folder with the files that get another content.
const was = "was"

// rename gives a file a second name, in one step and whatever has that name. The first one stays.
func rename(root *os.Root, from, to string) error {
	temporary := path.Join(path.Dir(to), ".argosy-"+rand.Text())
	if err := root.Link(from, temporary); err != nil {
		return err
	}
	if err := root.Rename(temporary, to); err != nil {
		_ = root.Remove(temporary)
		return err
	}
	return nil
}

// RemoveUnfinished undoes what killed processes have begun to write with WriteAll.
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

// undo removes the work folder. Unless all files have their names, it gives the names back to the
// files that had them, and removes the new files and the folders that were made for them.
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
			kept := path.Join(filepath.Base(w.path), was, filepath.ToSlash(name))
			if _, err := root.Lstat(kept); err == nil {
				return rename(root, kept, name)
			}
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
