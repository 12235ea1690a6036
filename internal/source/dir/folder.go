package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/tree"
)

const (
	folderInterval = time.Second
	// After a change, Watch polls every quietStep until two polls agree, so that a checkout, which
	// writes in many steps, is one change. It polls at most quietSteps times.
	quietStep  = 150 * time.Millisecond
	quietSteps = 5
	// racy is how old a file's times must be at a poll for the next poll to trust them. A write
	// within the granularity of the file system's clock does not change them.
	racy = 2 * time.Second
	// walkAttempts is how often a poll starts again when files vanish meanwhile.
	walkAttempts = 3
)

// Folder is a repository in a folder of this machine, without Git.
type Folder struct {
	source.Watcher
	dir    string // absolute, links not resolved
	name   string
	limits source.Limits

	mu    sync.Mutex
	last  *snapshot.Snapshot
	seen  map[string]readFile // by path in the snapshot, as they were when they were read
	reads int                 // files read so far; for tests
}

// readFile is a file as it was when its content was last read.
type readFile struct {
	stat fileStat
	racy bool
	file *snapshot.File
}

type fileStat struct {
	size         int64
	mtime, ctime int64
	dev, inode   uint64
}

// New makes a source of a folder, which need not exist yet.
func New(dir string, limits source.Limits) (*Folder, error) {
	name := fmt.Sprintf("folder %q", dir)
	if dir == "" {
		return nil, &source.Error{Reason: source.InvalidOptions, Source: "folder", Detail: "no location given", Hint: "give a folder or a Git URL"}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, source.FileError(name, "", err)
	}
	return &Folder{Watcher: source.NewWatcher(folderInterval, false), dir: abs, name: name, limits: limits.WithDefaults(), seen: map[string]readFile{}}, nil
}

// String returns `folder "dir"`.
func (f *Folder) String() string { return f.name }

// Close does nothing: a folder holds nothing.
func (f *Folder) Close() error { return nil }

// Snapshot reads the files that have changed since the last call.
func (f *Folder) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	for range walkAttempts {
		var s *snapshot.Snapshot
		if s, err = f.poll(ctx); err == nil {
			f.last = s
			return s, nil
		}
		if !errors.Is(err, source.Unstable) {
			break
		}
	}
	return f.last, err
}

// Watch polls the folder each second.
func (f *Folder) Watch(ctx context.Context, update func(*snapshot.Snapshot, error)) {
	var last *snapshot.Snapshot
	first := true
	f.Poll(ctx, func(ctx context.Context) (*snapshot.Snapshot, error) {
		s, err := f.Snapshot(ctx)
		for i := 0; i < quietSteps && !first && (s != last || err != nil) && f.Wait(ctx, quietStep); i++ {
			previous, previousErr := s, err
			s, err = f.Snapshot(ctx)
			if s == previous && (err == nil) == (previousErr == nil) {
				break
			}
		}
		last, first = s, false
		return s, err
	}, update)
}

func (f *Folder) poll(ctx context.Context) (*snapshot.Snapshot, error) {
	began := time.Now()
	real, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return nil, source.FileError(f.name, "", err)
	}
	if info, err := os.Stat(real); err == nil && !info.IsDir() {
		return nil, &source.Error{Reason: source.NotFound, Source: f.name, Detail: "not a folder"}
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, source.FileError(f.name, "", err)
	}
	defer root.Close()

	w := &walk{
		Folder: f, ctx: ctx, root: root, real: real, fresh: began.Add(-racy).UnixNano(), tree: tree.New(f.name, f.limits, len(f.seen)),
		found: make(map[string]readFile, len(f.seen)),
	}
	_, err = root.Lstat(".git")
	w.clone = err == nil
	s, err := w.snapshot()
	if err == nil {
		f.seen = w.found
	} else { // the next poll reads neither these again nor the last snapshot's
		maps.DeleteFunc(f.seen, func(p string, read readFile) bool { return read.file != f.last.File(p) })
		maps.Copy(f.seen, w.found)
	}
	return s, err
}

// snapshot makes a snapshot of the folder, including the targets of links.
func (w *walk) snapshot() (*snapshot.Snapshot, error) {
	if err := w.dir(""); err != nil {
		return nil, err
	}
	files, broken, err := w.tree.Place()
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, source.EmptyError(w.name)
	}
	for _, p := range files {
		if p.Path == p.Node.Path {
			continue
		}
		if err := w.visit(p); err != nil {
			return nil, err
		}
	}
	if err := w.tree.CheckBytes(files); err != nil {
		return nil, err
	}
	out := make([]*snapshot.File, 0, len(files)+len(broken))
	changed := w.last == nil
	for _, p := range files {
		file := w.found[p.Path].file
		if file == nil { // beyond a limit when it was read, and the repository is smaller now
			return nil, source.FileError(w.name, p.Path, fs.ErrNotExist)
		}
		changed = changed || file != w.last.File(p.Path)
		out = append(out, file)
	}
	for _, b := range broken {
		old := w.last.File(b.Path)
		changed = changed || old == nil || old.Digest != b.Digest
		out = append(out, b)
	}
	obstacles := w.tree.Obstacles(w.last)
	if !changed && len(out) == w.last.Len() && slices.Equal(obstacles, w.last.Obstacles()) {
		return w.last, nil
	}
	return snapshot.Of(out, obstacles...).WithBeside(w.tree.Beside()), nil
}
