package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// writeNew writes a file that is not there yet, all of it or nothing. Nothing outside the folder is written, whatever
// symbolic links there are (rule H8).
func writeNew(dir, name string, data []byte) error {
	failed := func(err error) error {
		return usageError([]string{"nothing was written"}, "write %s: %w", name, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return failed(err)
	}
	defer root.Close()
	made, err := makeFolders(root, path.Dir(name))
	undo := func() {
		for i := len(made) - 1; i >= 0; i-- {
			_ = root.Remove(made[i]) // fails, as it should, when somebody else has put something into it
		}
	}
	if err != nil {
		undo()
		return failed(err)
	}
	temporary := path.Join(path.Dir(name), ".argosy-"+rand.Text())
	if err := writeSynced(root, temporary, data); err != nil {
		_ = root.Remove(temporary)
		undo()
		return failed(err)
	}
	// A link, unlike a rename, fails when the name is taken.
	err = root.Link(temporary, name)
	_ = root.Remove(temporary)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return existsError(name)
	}
	undo()
	return failed(err)
}

// makeFolders makes a folder and its parents and returns those that were not there.
func makeFolders(root *os.Root, dir string) (made []string, err error) {
	if dir == "." {
		return nil, nil
	}
	if made, err = makeFolders(root, path.Dir(dir)); err != nil {
		return made, err
	}
	switch err := root.Mkdir(dir, 0o755); {
	case err == nil:
		return append(made, dir), nil
	case errors.Is(err, fs.ErrExist):
		return made, nil
	default:
		return made, err
	}
}

func writeSynced(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}
