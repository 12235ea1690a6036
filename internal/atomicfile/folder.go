package main

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

// listName is the file in a rendered folder that names all others: what render may replace.
const listName = ".argosy-rendered"

// writeFolder writes a folder, all of it or nothing: beside the one that is there, which it then takes the place of.
func writeFolder(dir string, files map[string][]byte) error {
	failed := func(err error) error {
		return usageError([]string{"nothing was written"}, "write %s: %w", dir, err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return failed(err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // as any folder of a repository
		return failed(err)
	}
	if err := removeLeftovers(dir); err != nil {
		return failed(err)
	}
	if err := replaceable(dir); err != nil {
		return failed(err)
	}
	w, err := newWorkFolder(dir)
	if err != nil {
		return failed(err)
	}
	if err := w.replace(dir, files); err != nil {
		return failed(errors.Join(err, w.end(dir)))
	}
	return w.end(dir)
}

// replace makes the new folder, and gives it its place.
func (w *workFolder) replace(dir string, files map[string][]byte) error {
	if err := fill(w.fresh(), files); err != nil {
		return err
	}
	if err := os.Rename(dir, w.old()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(w.fresh(), dir)
}

// atOnce is how many files are written at once: each waits for the disk, which takes many as fast as one.
const atOnce = 16

// fill writes all files of a new folder.
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
	writes.SetLimit(atOnce)
	for _, name := range names {
		if _, err = makeFolders(root, filepath.ToSlash(filepath.Dir(name))); err != nil {
			break
		}
		writes.Go(func() error { return writeSynced(root, name, files[name]) })
	}
	if err := errors.Join(writes.Wait(), err); err != nil {
		return err
	}
	return writeSynced(root, listName, []byte(strings.Join(names, "\n")+"\n"))
}

// replaceable refuses a folder with anything in it that render has not written.
func replaceable(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, listName))
	ours := map[string]bool{listName: true}
	for _, name := range strings.Split(string(list), "\n") {
		ours[name] = true
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			if err == nil && !d.IsDir() {
				return fmt.Errorf("%s is no folder", p)
			}
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil || d.IsDir() {
			return err
		}
		if !ours[filepath.ToSlash(rel)] {
			return fmt.Errorf("%s is not what render has written; choose another folder, or empty it", rel)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
