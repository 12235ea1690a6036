package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// opened is a file or folder that is open. What a folder holds is opened from there on, name by name, and never through
// a symbolic link (H8), whatever has taken a folder's place meanwhile: what is something else by now is fs.ErrNotExist.
//
// The system is asked directly: what package os does besides is most of the cost of reading small files.
type opened struct{ fd int }

func openRoot(dir string) (opened, error) {
	fd, err := again(func() (int, error) { return unix.Open(dir, asFolder, 0) })
	return opened{fd}, err
}

const (
	asFolder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	asFile   = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC // not blocking: a pipe could have taken its place
	asWay    = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
)

func (o opened) close() { _ = unix.Close(o.fd) }

// folder opens a folder below this one.
func (o opened) folder(p string) (opened, error) { return o.open(p, asFolder) }

// file opens a file below this folder to read it.
func (o opened) file(p string) (opened, error) { return o.open(p, asFile) }

func (o opened) open(p string, as int) (opened, error) {
	at := o.fd
	for {
		name, rest, deeper := strings.Cut(p, "/")
		flags := as | unix.O_NOFOLLOW
		if deeper {
			flags = asWay | unix.O_NOFOLLOW
		}
		fd, err := again(func() (int, error) { return unix.Openat(at, name, flags, 0) })
		if at != o.fd {
			_ = unix.Close(at)
		}
		if err != nil || !deeper {
			return opened{fd}, gone(err)
		}
		at, p = fd, rest
	}
}

// stat is how the file or folder is.
func (o opened) stat() (fileStat, fs.FileMode, error) {
	var s unix.Stat_t
	_, err := again(func() (int, error) { return 0, unix.Fstat(o.fd, &s) })
	return statOf(&s), typeOf(s.Mode), err
}

// lstat is how what stands at a path below the folder is, without opening it.
func (o opened) lstat(p string) (fileStat, fs.FileMode, error) {
	var s unix.Stat_t
	_, err := again(func() (int, error) { return 0, unix.Fstatat(o.fd, p, &s, unix.AT_SYMLINK_NOFOLLOW) })
	return statOf(&s), typeOf(s.Mode), gone(err)
}

// readlink is where a link in the folder leads.
func (o opened) readlink(name string) (string, error) {
	target := make([]byte, unix.PathMax)
	n, err := again(func() (int, error) { return unix.Readlinkat(o.fd, name, target) })
	if errors.Is(err, unix.EINVAL) { // no link
		err = fs.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	return string(target[:n]), nil
}

// read reads some bytes of a file; none are left when it reads none.
func (o opened) read(into []byte) (int, error) {
	return again(func() (int, error) { return unix.Read(o.fd, into) })
}

// list is what the folder holds. The buffer is for the system's answers.
func (o opened) list(buffer []byte) (entries []entry, err error) {
	for {
		n, err := again(func() (int, error) { return unix.Getdents(o.fd, buffer) })
		if err != nil || n == 0 {
			return entries, err
		}
		if entries, err = o.entries(entries, buffer[:n]); err != nil {
			return nil, err
		}
	}
}

// entries adds what the system says: for each entry its inode (8 bytes), an offset (8), the length of all this (2), the
// type (1), and the name with a NUL behind it (getdents64(2), linux_dirent64).
func (o opened) entries(out []entry, said []byte) ([]entry, error) {
	const length, kind, name = 16, 18, 19
	for len(said) > name {
		this := said[:binary.NativeEndian.Uint16(said[length:])]
		said = said[len(this):]
		text, _, _ := bytes.Cut(this[name:], []byte{0})
		if string(text) == "." || string(text) == ".." {
			continue
		}
		e := entry{name: string(text), mode: typeOf(uint32(this[kind]) << 12)} // DT_REG is S_IFREG >> 12, and so on
		if this[kind] == unix.DT_UNKNOWN {
			var err error
			if _, e.mode, err = o.lstat(e.name); err != nil {
				return nil, err
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// again repeats what a signal interrupts.
func again(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// gone is the error of a path whose parts are something else by now: a link, or no folder.
func gone(err error) error {
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
