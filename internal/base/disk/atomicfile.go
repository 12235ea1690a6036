package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces a file's content by the parts in one step: the file has all of its old content or
// all of the new one. The new content survives a crash of the machine. An interrupted write leaves
// a file next to it, named by temporary, a pattern of os.CreateTemp.
func Write(path, temporary string, parts ...[]byte) (err error) {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, temporary)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	var failed error
	for _, part := range parts {
		_, err := file.Write(part)
		failed = errors.Join(failed, err)
	}
	if err := errors.Join(failed, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder syncs a folder's entries to the disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) { // some file systems cannot sync folders
		return err
	}
	return nil
}
