package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Create writes a file below dir that does not exist yet, all of it or nothing. Its error wraps
// fs.ErrExist if the name is taken. Create writes nothing outside of dir, whatever symbolic links
// there are (rule H8).
func Create(dir, name string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", name, err)
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	made, err := makeFolders(root, path.Dir(name))
	defer func() {
		for i := len(made) - 1; err != nil && i >= 0; i-- {
			_ = root.Remove(made[i]) // fails, as it should, if somebody else has written into it
		}
	}()
	if err != nil {
		return err
	}
	temporary := path.Join(path.Dir(name), ".argosy-"+rand.Text())
	if err = writeSynced(root, temporary, data); err == nil {
		err = root.Link(temporary, name) // a link, unlike a rename, fails when the name is taken
	}
	_ = root.Remove(temporary)
	return err
}

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
