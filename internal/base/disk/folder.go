package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// ListName is the file in a written folder that lists all others: WriteFolder may replace them.
const ListName = ".argosy-rendered"

// WriteFolder writes a folder of files in one step: it fills a folder next to it, then renames it.
// It replaces only a folder that WriteFolder wrote.
func WriteFolder(dir string, files map[string][]byte) error {
	listed := maps.Clone(files)
	listed[ListName] = []byte(strings.Join(slices.Sorted(maps.Keys(files)), "\n") + "\n")
	return writeFolder(dir, listed, replaceable)
}

// ErrNotEmpty means that a folder is not empty.
var ErrNotEmpty = errors.New("the folder is not empty")

// CreateFolder writes a new folder of files in one step. The folder is the user's from then on:
// WriteFolder does not replace it. The error wraps ErrNotEmpty if the folder is not empty.
func CreateFolder(dir string, files map[string][]byte) error {
	return writeFolder(dir, files, CheckEmpty)
}

// writeFolder writes a folder unless refuse returns an error.
func writeFolder(dir string, files map[string][]byte, refuse func(dir string) error) (err error) {
	dir, err = filepath.Abs(dir)
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", dir, err)
		}
	}()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // as any folder of a repository
		return err
	}
	if err := refuse(dir); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".argosy-new-"+filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	return errors.Join(exchange(work, dir, files), os.RemoveAll(work))
}

// CheckEmpty returns the error with which CreateFolder would refuse a folder.
func CheckEmpty(dir string) error {
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return ErrNotEmpty
	}
	return nil
}

// exchange fills a new folder in the work folder and moves it to dir.
func exchange(work, dir string, files map[string][]byte) error {
	fresh, old := filepath.Join(work, "new"), filepath.Join(work, "old")
	if err := fill(fresh, files); err != nil {
		return err
	}
	switch err := os.Rename(dir, old); {
	case errors.Is(err, fs.ErrNotExist):
		return os.Rename(fresh, dir)
	case err != nil:
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return nil
}

// parallelWrites is how many files are written in parallel: a disk syncs many as fast as one.
const parallelWrites = 16

// fill writes all files into a new folder.
func fill(dir string, files map[string][]byte) error {
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // as any folder of a repository
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names := slices.Sorted(maps.Keys(files))
	var writes errgroup.Group
	writes.SetLimit(parallelWrites)
	for _, name := range names {
		if _, err = makeFolders(root, filepath.ToSlash(filepath.Dir(name))); err != nil {
			break
		}
		writes.Go(func() error { return create(root, name, files[name]) })
	}
	return errors.Join(writes.Wait(), err)
}

// replaceable returns an error for a folder with a file that WriteFolder has not written.
func replaceable(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, ListName))
	ours := map[string]bool{ListName: true}
	for _, name := range strings.Split(string(list), "\n") {
		ours[name] = true
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			if err == nil && !d.IsDir() {
				return fmt.Errorf("%s is not a folder", p)
			}
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil || d.IsDir() {
			return err
		}
		if !ours[filepath.ToSlash(rel)] {
			return fmt.Errorf("%s is not what argosy has written; choose another folder, or empty it", rel)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
