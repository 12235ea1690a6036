package source

import (
	"errors"
	"io/fs"
	"syscall"
)

// lstat is os.Lstat without what a poll of many files need not pay for.
func lstat(name string) (fileStat, fs.FileMode, error) {
	var s syscall.Stat_t
	err := syscall.Lstat(name, &s)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Lstat(name, &s)
	}
	if err != nil {
		return fileStat{}, 0, err
	}
	mode := fs.ModeIrregular
	switch s.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		mode = 0
	case syscall.S_IFDIR:
		mode = fs.ModeDir
	case syscall.S_IFLNK:
		mode = fs.ModeSymlink
	}
	return fileStat{size: s.Size, mtime: s.Mtim.Nano(), ctime: s.Ctim.Nano(), dev: s.Dev, inode: s.Ino}, mode, nil
}
