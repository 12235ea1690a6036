package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// replace sets a file's content and mode in one step.
func replace(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	temporary := path.Join(path.Dir(name), ".argosy-"+rand.Text())
	err := create(root, temporary, data)
	if err == nil {
		err = root.Chmod(temporary, mode)
	}
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		_ = root.Remove(temporary)
	}
	return err
}

// create writes a new file. An error leaves no file.
func create(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = root.Remove(name)
	}
	return err
}

// makeFolders creates a folder and its parents, and returns the folders that it created.
func makeFolders(root *os.Root, dir string) (made []string, err error) {
	switch {
	case dir == ".":
		return nil, nil
	case !fs.ValidPath(dir):
		return nil, fmt.Errorf("folder %q: %w", dir, fs.ErrInvalid)
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
