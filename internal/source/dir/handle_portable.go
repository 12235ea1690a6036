//go:build !linux

package dir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// handle is a file or folder that is open; os.Root prevents reading outside of a folder (H8).
// Linux, which the service runs on, has a faster one.
type handle struct {
	dir  *os.Root
	data *os.File
}

func openRoot(dir string) (handle, error) {
	root, err := os.OpenRoot(dir)
	return handle{dir: root}, err
}

func (h handle) close() {
	if h.dir != nil {
		h.dir.Close()
	} else {
		h.data.Close()
	}
}

// folder opens a folder below this one.
func (h handle) folder(p string) (handle, error) {
	dir, err := h.dir.OpenRoot(filepath.FromSlash(p))
	return handle{dir: dir}, err
}

// file opens a file below this folder to read it; not blocking, as a pipe could have taken its
// place.
func (h handle) file(p string) (handle, error) {
	file, err := h.dir.OpenFile(filepath.FromSlash(p), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return handle{data: file}, err
}

// stat is the state of the file or folder.
func (h handle) stat() (fileStat, fs.FileMode, error) {
	if h.dir != nil {
		return h.lstat(".")
	}
	return statOf(h.data.Stat())
}

// lstat is the state of a path below the folder, without opening it.
func (h handle) lstat(p string) (fileStat, fs.FileMode, error) {
	return statOf(h.dir.Lstat(filepath.FromSlash(p)))
}

// readlink is where a link in the folder leads.
func (h handle) readlink(name string) (string, error) { return h.dir.Readlink(name) }

// read reads some bytes of a file; none are left when it reads none.
func (h handle) read(into []byte) (int, error) {
	n, err := h.data.Read(into)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// list returns the entries of the folder.
func (h handle) list([]byte) ([]entry, error) {
	dir, err := h.dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	found, err := dir.ReadDir(-1)
	entries := make([]entry, len(found))
	for i, e := range found {
		entries[i] = entry{name: e.Name(), mode: e.Type()}
	}
	return entries, err
}

// statOf keeps the parts of a file's state that have the same name on every system.
func statOf(info fs.FileInfo, err error) (fileStat, fs.FileMode, error) {
	if err != nil {
		return fileStat{}, 0, err
	}
	return fileStat{size: info.Size(), mtime: info.ModTime().UnixNano()}, info.Mode().Type(), nil
}
