package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces a file's content in one step: the file has all of its old content or all of the
// new one, and only its owner reads it. The new content survives a crash of the machine. An
// interrupted write leaves a file next to it, named by temporary, a pattern of os.CreateTemp.
func Write(path, temporary string, data []byte) error { return write(path, temporary, data, 0o600) }

// Export does what Write does, and lets other users read the file.
func Export(path string, data []byte) error {
	if err := write(path, ".argosy-", data, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func write(path, temporary string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, temporary)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
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
