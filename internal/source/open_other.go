//go:build !linux

package source

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// opened is a file or folder that is open; os.Root sees to it that nothing outside of a folder is read (H8). Linux, which
// the service runs on, has a faster one.
type opened struct {
	dir  *os.Root
	data *os.File
}

func openRoot(dir string) (opened, error) {
	root, err := os.OpenRoot(dir)
	return opened{dir: root}, err
}

func (o opened) close() {
	if o.dir != nil {
		o.dir.Close()
	} else {
		o.data.Close()
	}
}

// folder opens a folder below this one.
func (o opened) folder(p string) (opened, error) {
	dir, err := o.dir.OpenRoot(filepath.FromSlash(p))
	return opened{dir: dir}, err
}

// file opens a file below this folder to read it; not blocking, as a pipe could have taken its place.
func (o opened) file(p string) (opened, error) {
	file, err := o.dir.OpenFile(filepath.FromSlash(p), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return opened{data: file}, err
}

// stat is how the file or folder is.
func (o opened) stat() (fileStat, fs.FileMode, error) {
	if o.dir != nil {
		return o.lstat(".")
	}
	return statOf(o.data.Stat())
}

// lstat is how what stands at a path below the folder is, without opening it.
func (o opened) lstat(p string) (fileStat, fs.FileMode, error) {
	return statOf(o.dir.Lstat(filepath.FromSlash(p)))
}

// readlink is where a link in the folder leads.
func (o opened) readlink(name string) (string, error) { return o.dir.Readlink(name) }

// read reads some bytes of a file; none are left when it reads none.
func (o opened) read(into []byte) (int, error) {
	n, err := o.data.Read(into)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// list is what the folder holds.
func (o opened) list([]byte) ([]entry, error) {
	dir, err := o.dir.Open(".")
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

// statOf leaves out of a file's identity what has another name on each system.
func statOf(info fs.FileInfo, err error) (fileStat, fs.FileMode, error) {
	if err != nil {
		return fileStat{}, 0, err
	}
	return fileStat{size: info.Size(), mtime: info.ModTime().UnixNano()}, info.Mode().Type(), nil
}
