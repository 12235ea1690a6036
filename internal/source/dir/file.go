package dir

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/tree"
)

// snapshot makes a snapshot of the files, including the targets of links.
func (w *walk) snapshot(files []tree.Placed, broken []*snapshot.File) (*snapshot.Snapshot, error) {
	f := w.Folder
	for _, p := range files {
		if p.Path != p.Node.Path {
			w.visit(p, w.root, p.Node.Path)
		}
	}
	if w.failed.err == nil {
		if err := w.tree.CheckBytes(files); err != nil {
			w.keep()
			return nil, err
		}
	}
	seen := make(map[string]readFile, len(files))
	for _, p := range files {
		seen[p.Path] = w.found[p.Path]
		if w.failed.err == nil && seen[p.Path].file == nil {
			w.failed.note(p.Node.Path, fs.ErrNotExist) // the repository is smaller now
		}
	}
	if w.failed.err != nil {
		return nil, source.FileError(f.name, w.failed.path, w.failed.err)
	}
	out := make([]*snapshot.File, 0, len(files)+len(broken))
	changed := f.last == nil
	for _, p := range files {
		file := seen[p.Path].file
		changed = changed || file != f.last.File(p.Path)
		out = append(out, file)
	}
	for _, b := range broken {
		old := f.last.File(b.Path)
		changed = changed || old == nil || old.Digest != b.Digest
		out = append(out, b)
	}
	f.seen = seen
	obstacles := w.tree.Obstacles(f.last)
	if !changed && len(out) == f.last.Len() && slices.Equal(obstacles, f.last.Obstacles()) {
		return f.last, nil
	}
	return snapshot.Of(out, obstacles...).WithBeside(w.tree.Beside()), nil
}

// keep remembers what has been read, although it is beyond a limit: the next poll does not read it
// again.
func (w *walk) keep() {
	seen := make(map[string]readFile, len(w.found))
	for p, file := range w.found {
		if file.file != nil {
			seen[p] = file
		}
	}
	w.seen = seen
}

// visit records a file as it is now. below is its path from the open folder.
func (w *walk) visit(p tree.Placed, at *os.Root, below string) {
	file, err := w.file(p, at, below)
	if errors.Is(err, fs.ErrPermission) {
		file, err = readFile{racy: true, file: snapshot.Unreadable(p.Path, false, fs.ErrPermission)}, nil
		if old := w.seen[p.Path].file; old != nil && old.Digest == file.file.Digest {
			file.file = old
		}
	}
	if err != nil {
		w.failed.note(p.Node.Path, err)
	}
	w.found[p.Path] = file
	p.Node.Size = file.stat.size
}

// file reads a file, or reuses the last poll's if it did not change.
func (w *walk) file(p tree.Placed, at *os.Root, below string) (readFile, error) {
	old, known := w.seen[p.Path]
	if known && !old.racy {
		if info, err := os.Lstat(filepath.Join(w.real, p.Node.Path)); err == nil && statOf(info) == old.stat {
			w.count(old.stat.size)
			return readFile{stat: old.stat, racy: old.stat.youngerThan(w.fresh), file: old.file}, nil
		}
	}
	// Not blocking: a pipe may have taken the file's place.
	file, err := at.OpenFile(below, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return readFile{}, vanished(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return readFile{}, err
	}
	stat := statOf(info)
	if !info.Mode().IsRegular() {
		return readFile{}, fs.ErrNotExist // something else has taken its place
	}
	if w.count(stat.size) || len(w.found) > w.limits.Files {
		return readFile{stat: stat}, nil // beyond a limit, the snapshot is refused
	}
	content, err := w.content(p.Path, file, stat.size)
	if err != nil {
		return readFile{}, err
	}
	if known && old.file.Digest == content.Digest {
		content = old.file
	}
	return readFile{stat: stat, racy: stat.youngerThan(w.fresh), file: content}, nil
}

// count adds a file's size, and reports whether all files are beyond the limit of bytes.
func (w *walk) count(size int64) bool {
	if size <= w.limits.FileSize {
		w.bytes += size
	}
	return w.bytes > w.limits.Bytes
}

// content reads a file of about the given size.
func (w *walk) content(p string, file io.Reader, size int64) (*snapshot.File, error) {
	if size > w.limits.FileSize {
		return snapshot.TooLarge(p, size, w.limits.FileSize), nil
	}
	w.reads++
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(file, w.limits.FileSize+1)); err != nil {
		return nil, err
	}
	return snapshot.NewFile(p, data.Bytes(), w.limits.FileSize), nil
}

// firstFailure keeps the failure of the first path in order. Files come in no order, and an error
// that names another file at each poll would be reported as new each time.
type firstFailure struct {
	path string
	err  error
}

func (f *firstFailure) note(path string, err error) {
	if f.err == nil || path < f.path {
		f.path, f.err = path, err
	}
}

func (s fileStat) youngerThan(t int64) bool { return max(s.mtime, s.ctime) >= t }

func statOf(info fs.FileInfo) fileStat {
	s := fileStat{size: info.Size(), mtime: info.ModTime().UnixNano()}
	s.more(info)
	return s
}
