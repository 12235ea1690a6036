package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

const (
	folderInterval = time.Second
	// settleStep and settleSteps: after a change, Watch looks again until two looks agree, so that what a checkout
	// writes in many steps arrives as one change; but it does not wait for long.
	settleStep  = 150 * time.Millisecond
	settleSteps = 5
	// racy is how old a file's times must be at a look for the next look to trust them: a write within the clock's
	// granularity of the file system leaves no trace in them.
	racy = 2 * time.Second
	// relist is how long listings are kept at most.
	relist = time.Minute
	// walkAttempts is how often a look starts over when files vanish under it.
	walkAttempts = 3
)

// Folder is a repository in a folder of this machine, without Git.
type Folder struct {
	watcher
	dir    string // absolute, links not resolved
	name   string
	limits Limits

	mu   sync.Mutex
	last *snapshot.Snapshot
	// listings are those of the last look, dropped each relist: not every network file system keeps its folders' times.
	listings map[string]listing
	relisted time.Time
	seen     map[string]seenFile // by path in the snapshot, of the last good look
	reads    int                 // files read so far; for tests
}

// seenFile is a file as it was when its content was last read.
type seenFile struct {
	stat fileStat
	racy bool
	file *snapshot.File
}

type fileStat struct {
	size         int64
	mtime, ctime int64
	dev, inode   uint64
}

// NewFolder makes a source of a folder, which need not be there yet.
func NewFolder(dir string, limits Limits) (*Folder, error) {
	name := fmt.Sprintf("folder %q", dir)
	if dir == "" {
		return nil, &Error{Reason: InvalidOptions, Source: "folder", Detail: "no location given", Hint: "give a folder or a Git URL"}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fsError(name, "", err)
	}
	return &Folder{watcher: newWatcher(folderInterval, false), dir: abs, name: name, limits: limits.withDefaults()}, nil
}

// String is `folder "dir"`.
func (f *Folder) String() string { return f.name }

// Close does nothing: a folder holds nothing.
func (f *Folder) Close() error { return nil }

// Snapshot reads what has changed since the last call.
func (f *Folder) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	for range walkAttempts {
		var s *snapshot.Snapshot
		if s, err = f.look(ctx); err == nil {
			f.last = s
			return s, nil
		}
		if !errors.Is(err, Unstable) {
			break
		}
	}
	return f.last, err
}

// Watch looks at the folder each second.
func (f *Folder) Watch(ctx context.Context, update func(*snapshot.Snapshot, error)) {
	var last *snapshot.Snapshot
	first := true
	f.watch(ctx, func(ctx context.Context) (*snapshot.Snapshot, error) {
		s, err := f.Snapshot(ctx)
		for i := 0; i < settleSteps && !first && (s != last || err != nil) && f.wait(ctx, settleStep); i++ {
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

func (f *Folder) look(ctx context.Context) (*snapshot.Snapshot, error) {
	began := time.Now()
	real, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return nil, fsError(f.name, "", err)
	}
	if info, err := os.Stat(real); err == nil && !info.IsDir() {
		return nil, &Error{Reason: NotFound, Source: f.name, Detail: "not a folder"}
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fsError(f.name, "", err)
	}
	defer root.Close()

	if began.Sub(f.relisted) > relist {
		f.listings, f.relisted = nil, began
	}
	w := &walk{
		Folder: f, ctx: ctx, real: real, fresh: began.Add(-racy).UnixNano(), tree: newTree(f.name, f.limits, len(f.seen)),
		stats: make(map[string]fileStat, len(f.seen)), listings: make(map[string]listing, len(f.listings)),
	}
	if err := w.dir(""); err != nil {
		f.listings = nil
		return nil, err
	}
	f.listings = w.listings
	files, broken, err := w.tree.place()
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, empty(f.name)
	}
	return f.read(root, w, files, broken)
}

// read makes the snapshot, reading those files that are not known yet.
func (f *Folder) read(root *os.Root, w *walk, files []placed, broken []*snapshot.File) (*snapshot.Snapshot, error) {
	seen := make(map[string]seenFile, len(files))
	out := make(map[string]*snapshot.File, len(files)+len(broken))
	changed := f.last == nil
	var failed firstFailure
	if err := f.sum(w, files); err != nil {
		return nil, err
	}
	for i, p := range files {
		if i%256 == 0 && w.ctx.Err() != nil {
			return nil, w.ctx.Err()
		}
		stat := w.stats[p.node.path]
		old, known := f.seen[p.path]
		entry := seenFile{stat: stat, racy: stat.youngerThan(w.fresh), file: old.file}
		if !known || old.racy || old.stat != stat {
			file, err := f.readFile(root, p, stat.size)
			if err != nil {
				failed.note(p.node.path, err)
				continue
			}
			if !known || old.file.Digest != file.Digest {
				entry.file, changed = file, true
			}
		}
		seen[p.path] = entry
		out[p.path] = entry.file
	}
	if failed.err != nil {
		return nil, fsError(f.name, failed.path, failed.err)
	}
	for _, b := range broken {
		out[b.Path] = b
		old := f.last.File(b.Path)
		changed = changed || old == nil || old.Digest != b.Digest
	}
	f.seen = seen
	if !changed && len(out) == f.last.Len() {
		return f.last, nil
	}
	return snapshot.New(snapshot.RevisionOf(out), out), nil
}

// sum bounds the bytes of all files, and completes their times.
func (f *Folder) sum(w *walk, files []placed) error {
	var total int64
	var failed firstFailure
	for _, p := range files {
		stat, ok := w.stats[p.node.path]
		if !ok { // reached through a link alone
			var err error
			if stat, _, err = lstat(w.full(p.node.path)); err != nil {
				failed.note(p.node.path, err)
				continue
			}
			w.stats[p.node.path] = stat
		}
		if stat.size <= f.limits.FileSize {
			total += stat.size
		}
	}
	if failed.err != nil {
		return fsError(f.name, failed.path, failed.err)
	}
	if total > f.limits.Bytes {
		return overLimit(f.name, "bytes of all files", total, f.limits.Bytes)
	}
	return nil
}

// firstFailure is the failure of the first path in order, whichever came first: files come in no order, and a text that
// names another one at each look would be news each time (G5).
type firstFailure struct {
	path string
	err  error
}

func (f *firstFailure) note(path string, err error) {
	if f.err == nil || path < f.path {
		f.path, f.err = path, err
	}
}

// readFile reads a file; os.Root sees to it that nothing outside the root is read, whatever has happened since the
// walk.
func (f *Folder) readFile(root *os.Root, p placed, size int64) (*snapshot.File, error) {
	if size > f.limits.FileSize {
		return snapshot.TooLarge(p.path, size, f.limits.FileSize), nil
	}
	// Not blocking: a pipe could have taken the file's place.
	file, err := root.OpenFile(filepath.FromSlash(p.node.path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist // counts as vanished
	}
	f.reads++
	data := make([]byte, 0, info.Size()+1)
	for int64(len(data)) <= f.limits.FileSize {
		n, err := file.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return snapshot.NewFile(p.path, data, f.limits.FileSize), nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
	return snapshot.TooLarge(p.path, max(info.Size(), int64(len(data))), f.limits.FileSize), nil
}

// walk is one look at the names and times of a folder.
type walk struct {
	*Folder
	ctx      context.Context
	real     string
	fresh    int64 // times from here on are not trusted by the next look
	tree     *tree
	stats    map[string]fileStat
	listings map[string]listing
}

// listing is what a folder holds; it is valid as long as the folder's own times stay.
type listing struct {
	stat    fileStat
	racy    bool
	entries []listed
}

// listed is an entry of a folder: a folder, or a node.
type listed struct {
	path   string
	node   *node // nil for a folder
	wanted bool
}

func (w *walk) full(p string) string { return w.real + "/" + p }

func (w *walk) dir(rel string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	l, err := w.list(rel)
	if err != nil {
		return fsError(w.name, rel, err)
	}
	w.listings[rel] = l
	for _, e := range l.entries {
		if e.node == nil {
			if err := w.dir(e.path); err != nil {
				return err
			}
			continue
		}
		if e.wanted {
			stat, mode, err := lstat(w.full(e.path))
			if err == nil && !mode.IsRegular() {
				err = fs.ErrNotExist // something else has taken its place
			}
			if err != nil {
				return fsError(w.name, e.path, err)
			}
			w.stats[e.path] = stat
		}
		if err := w.tree.add(e.node); err != nil {
			return err
		}
	}
	return nil
}

// list lists a folder, from memory if nothing has come or gone.
func (w *walk) list(rel string) (listing, error) {
	stat, _, err := lstat(w.full(rel))
	if err != nil {
		return listing{}, err
	}
	l := listing{stat: stat, racy: stat.youngerThan(w.fresh)}
	if old, ok := w.Folder.listings[rel]; ok && !old.racy && old.stat == stat {
		l.entries = old.entries
		return l, nil
	}
	dir, err := os.Open(w.full(rel))
	if err != nil {
		return listing{}, err
	}
	entries, err := dir.ReadDir(-1)
	dir.Close()
	if err != nil {
		return listing{}, err
	}
	l.entries = make([]listed, 0, len(entries))
	for _, entry := range entries {
		if entry.Name() == ".git" {
			continue
		}
		e := listed{path: path.Join(rel, entry.Name())}
		switch entry.Type() {
		case fs.ModeDir:
		case 0:
			e.node, e.wanted = &node{path: e.path}, w.limits.wanted(e.path)
		case fs.ModeSymlink:
			target, err := os.Readlink(w.full(e.path))
			if err != nil {
				return listing{}, err
			}
			e.node = &node{path: e.path, link: true, target: filepath.ToSlash(target)}
			if filepath.IsAbs(target) {
				e.node.target, e.node.outside = w.below(target)
			}
		default:
			continue
		}
		l.entries = append(l.entries, e)
	}
	return l, nil
}

// below turns an absolute link into one that counts from the root; outside tells that it leads elsewhere.
func (w *walk) below(target string) (rooted string, outside bool) {
	for _, root := range []string{w.Folder.dir, w.real} {
		if rest, ok := strings.CutPrefix(filepath.Clean(target), strings.TrimSuffix(root, "/")); ok && (rest == "" || rest[0] == '/') {
			return "/" + strings.TrimPrefix(rest, "/"), false
		}
	}
	return target, true
}

func (s fileStat) youngerThan(t int64) bool { return max(s.mtime, s.ctime) >= t }
