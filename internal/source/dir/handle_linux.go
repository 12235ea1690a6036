package dir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// handle is a file or folder that is open. Entries of a folder are opened from there on, name by
// name, and never through a symbolic link (H8), whatever has taken a folder's place meanwhile:
// anything else at that name gives fs.ErrNotExist.
//
// It calls the system directly: the overhead of package os is most of the cost of reading small
// files.
type handle struct{ fd int }

func openRoot(dir string) (handle, error) {
	fd, err := retryInterrupted(func() (int, error) { return unix.Open(dir, folderFlags, 0) })
	return handle{fd}, err
}

const (
	folderFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	fileFlags   = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC // not blocking: a pipe could have taken its place
	pathFlags   = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
)

func (h handle) close() { _ = unix.Close(h.fd) }

// folder opens a folder below this one.
func (h handle) folder(p string) (handle, error) { return h.open(p, folderFlags) }

// file opens a file below this folder to read it.
func (h handle) file(p string) (handle, error) { return h.open(p, fileFlags) }

func (h handle) open(p string, as int) (handle, error) {
	at := h.fd
	for {
		name, rest, deeper := strings.Cut(p, "/")
		flags := as | unix.O_NOFOLLOW
		if deeper {
			flags = pathFlags | unix.O_NOFOLLOW
		}
		fd, err := retryInterrupted(func() (int, error) { return unix.Openat(at, name, flags, 0) })
		if at != h.fd {
			_ = unix.Close(at)
		}
		if err != nil || !deeper {
			return handle{fd}, missing(err)
		}
		at, p = fd, rest
	}
}

// stat is the state of the file or folder.
func (h handle) stat() (fileStat, fs.FileMode, error) {
	var s unix.Stat_t
	_, err := retryInterrupted(func() (int, error) { return 0, unix.Fstat(h.fd, &s) })
	return statOf(&s), typeOf(s.Mode), err
}

// lstat is the state of a path below the folder, without opening it.
func (h handle) lstat(p string) (fileStat, fs.FileMode, error) {
	var s unix.Stat_t
	_, err := retryInterrupted(func() (int, error) { return 0, unix.Fstatat(h.fd, p, &s, unix.AT_SYMLINK_NOFOLLOW) })
	return statOf(&s), typeOf(s.Mode), missing(err)
}

// readlink is where a link in the folder leads.
func (h handle) readlink(name string) (string, error) {
	target := make([]byte, unix.PathMax)
	n, err := retryInterrupted(func() (int, error) { return unix.Readlinkat(h.fd, name, target) })
	if errors.Is(err, unix.EINVAL) { // no link
		err = fs.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	return string(target[:n]), nil
}

// read reads some bytes of a file; none are left when it reads none.
func (h handle) read(into []byte) (int, error) {
	return retryInterrupted(func() (int, error) { return unix.Read(h.fd, into) })
}

// list returns the entries of the folder. The system fills the buffer.
func (h handle) list(buffer []byte) (entries []entry, err error) {
	for {
		n, err := retryInterrupted(func() (int, error) { return unix.Getdents(h.fd, buffer) })
		if err != nil || n == 0 {
			return entries, err
		}
		if entries, err = h.parseEntries(entries, buffer[:n]); err != nil {
			return nil, err
		}
	}
}

// parseEntries adds the entries of a getdents64 buffer: for each entry its inode (8 bytes), an
// offset (8), the length of all this (2), the type (1), and the name with a NUL behind it
// (getdents64(2), linux_dirent64).
func (h handle) parseEntries(out []entry, buffer []byte) ([]entry, error) {
	const length, kind, name = 16, 18, 19
	for len(buffer) > name {
		this := buffer[:binary.NativeEndian.Uint16(buffer[length:])]
		buffer = buffer[len(this):]
		text, _, _ := bytes.Cut(this[name:], []byte{0})
		if string(text) == "." || string(text) == ".." {
			continue
		}
		e := entry{name: string(text), mode: typeOf(uint32(this[kind]) << 12)} // DT_REG is S_IFREG >> 12, and so on
		if this[kind] == unix.DT_UNKNOWN {
			var err error
			if _, e.mode, err = h.lstat(e.name); err != nil {
				return nil, err
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// retryInterrupted repeats a system call that a signal interrupts.
func retryInterrupted(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// missing turns the error of a path whose parts are now a link, or no folder, into fs.ErrNotExist.
func missing(err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return fs.ErrNotExist
	}
	return err
}

func statOf(s *unix.Stat_t) fileStat {
	return fileStat{size: s.Size, mtime: s.Mtim.Nano(), ctime: s.Ctim.Nano(), dev: s.Dev, inode: s.Ino}
}

func typeOf(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}
