package atomicfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Export replaces a file for other users to read, all of it or nothing; Write keeps it to its
// owner.
func Export(name string, data []byte) error {
	failed := func(err error) error { return fmt.Errorf("write %s: %w", name, err) }
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return failed(err)
	}
	defer root.Close()
	temporary := ".argosy-" + rand.Text()
	if err = writeSynced(root, temporary, data); err == nil {
		err = root.Rename(temporary, filepath.Base(name))
	}
	if err != nil {
		_ = root.Remove(temporary)
		return failed(err)
	}
	return nil
}

// ErrChanged means that a file is no longer what its writer has read.
var ErrChanged = errors.New("somebody else has changed it meanwhile")

// makeFolders makes a folder and its parents and returns those that it made.
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

func writeSynced(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return cmp.Or(err, f.Sync(), f.Close())
}
