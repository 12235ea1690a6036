package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	// openFolders is how many folders inside each other are open at a time, at most.
	openFolders = 32
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
	root, err := openRoot(real)
	if err != nil {
		return nil, fsError(f.name, "", err)
	}
	defer root.close()

	if began.Sub(f.relisted) > relist {
		f.listings, f.relisted = nil, began
	}
	w := &walk{
		Folder: f, ctx: ctx, root: root, real: real, fresh: began.Add(-racy).UnixNano(), tree: newTree(f.name, f.limits, len(f.seen)),
		listings: make(map[string]listing, len(f.listings)), found: make(map[string]seenFile, len(f.seen)), buffer: make([]byte, 32<<10),
	}
	_, _, err = root.lstat(".git")
	w.clone = err == nil
	if err := w.dir("", root, "."); err != nil {
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
	return w.snapshot(files, broken)
}

// snapshot is made of the files, those that stand elsewhere by links included.
func (w *walk) snapshot(files []placed, broken []*snapshot.File) (*snapshot.Snapshot, error) {
	f := w.Folder
	for _, p := range files {
		if p.path != p.node.path {
			w.look(p, w.root, p.node.path)
		}
	}
	if w.bytes > f.limits.Bytes {
		return nil, overLimit(f.name, "bytes of all files", w.bytes, f.limits.Bytes)
	}
	if w.failed.err != nil {
		return nil, fsError(f.name, w.failed.path, w.failed.err)
	}
	out := make([]*snapshot.File, 0, len(files)+len(broken))
	changed := f.last == nil
	for _, p := range files {
		file := w.found[p.path].file
		changed = changed || file != f.seen[p.path].file
		out = append(out, file)
	}
	for _, b := range broken {
		old := f.last.File(b.Path)
		changed = changed || old == nil || old.Digest != b.Digest
		out = append(out, b)
	}
	f.seen = w.found
	if !changed && len(out) == f.last.Len() {
		return f.last, nil
	}
	return snapshot.Of(out).WithBeside(w.tree.beside()), nil
}

// look finds out what a file is now. It stands at a path below a folder that is open.
func (w *walk) look(p placed, at opened, below string) {
	file, err := w.file(p, at, below)
	if err != nil {
		w.failed.note(p.node.path, err)
	}
	w.found[p.path] = file
}

// file is a file as it is now: the one of the last look where it is the same.
func (w *walk) file(p placed, at opened, below string) (seenFile, error) {
	old, known := w.seen[p.path]
	if known && !old.racy {
		if stat, _, err := at.lstat(below); err == nil && stat == old.stat {
			w.count(stat.size)
			return seenFile{stat: stat, racy: stat.youngerThan(w.fresh), file: old.file}, nil
		}
	}
	file, err := at.file(below)
	if err != nil {
		return seenFile{}, err
	}
	defer file.close()
	stat, mode, err := file.stat()
	if err != nil {
		return seenFile{}, err
	}
	if !mode.IsRegular() {
		return seenFile{}, fs.ErrNotExist // something else has taken its place
	}
	if w.count(stat.size) || len(w.found) > w.limits.Files {
		return seenFile{}, nil // there will be no snapshot
	}
	content, err := w.content(p.path, file, stat.size)
	if err != nil {
		return seenFile{}, err
	}
	if known && old.file.Digest == content.Digest {
		content = old.file
	}
	return seenFile{stat: stat, racy: stat.youngerThan(w.fresh), file: content}, nil
}

// count bounds the bytes of all files: it reports whether they are beyond the limit.
func (w *walk) count(size int64) bool {
	if size <= w.limits.FileSize {
		w.bytes += size
	}
	return w.bytes > w.limits.Bytes
}

// content reads a file of about a size.
func (w *walk) content(p string, file opened, size int64) (*snapshot.File, error) {
	if size > w.limits.FileSize {
		return snapshot.TooLarge(p, size, w.limits.FileSize), nil
	}
	w.reads++
	data := make([]byte, 0, size+1)
	for int64(len(data)) <= w.limits.FileSize {
		n, err := file.read(data[len(data):cap(data)])
		if err != nil {
			return nil, err
		}
		data = data[:len(data)+n]
		// What ends at its size, with room for more, is read to its end.
		if n == 0 || size > 0 && int64(len(data)) == size {
			return snapshot.NewFile(p, data, w.limits.FileSize), nil
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
	return snapshot.TooLarge(p, int64(len(data)), w.limits.FileSize), nil
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

// walk is one look at a folder. Files are read as it comes by, from the folders that are open anyway.
type walk struct {
	*Folder
	ctx      context.Context
	root     opened
	real     string
	clone    bool  // the folder is a clone, and no folder that clones are put together in
	fresh    int64 // times from here on are not trusted by the next look
	tree     *tree
	listings map[string]listing
	found    map[string]seenFile // by path in the snapshot
	failed   firstFailure
	bytes    int64  // of all files
	buffer   []byte // for listing folders
}

// listing is what a folder holds; it is valid as long as the folder's own times stay.
type listing struct {
	stat fileStat
	racy bool
	dirs []string
	// nodes are the files and links.
	nodes []node
}

// entry is a name in a folder.
type entry struct {
	name string
	mode fs.FileMode // its type
}

// dir looks at a folder, which stands at a path below one that is open.
func (w *walk) dir(rel string, at opened, below string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	// What stands in the folder is opened from the folder while it is open, else from the root.
	from, to := w.root, rel
	l, known, err := w.remembered(rel)
	if err == nil && !known {
		var here opened
		if here, err = at.folder(below); err == nil {
			l, err = w.list(rel, here)
			if strings.Count(rel, "/") < openFolders {
				defer here.close()
				from, to = here, ""
			} else {
				here.close()
			}
		}
	}
	if err != nil {
		return fsError(w.name, rel, err)
	}
	w.listings[rel] = l
	for i := range l.nodes {
		n := &l.nodes[i]
		if err := w.tree.add(n); err != nil {
			return err
		}
		if !n.link && !hidden(n.path) && w.limits.wanted(n.path) {
			w.look(placed{n.path, n}, from, join(to, path.Base(n.path)))
		}
	}
	for _, dir := range l.dirs {
		if err := w.dir(dir, from, join(to, path.Base(dir))); err != nil {
			return err
		}
	}
	return nil
}

// remembered is what a folder holds if nothing has come or gone since the last look.
func (w *walk) remembered(rel string) (listing, bool, error) {
	l, ok := w.Folder.listings[rel]
	if !ok || l.racy {
		return l, false, nil
	}
	stat, _, err := w.root.lstat(cmp.Or(rel, "."))
	l.racy = stat.youngerThan(w.fresh)
	return l, stat == l.stat, err
}

// list lists a folder that is open.
func (w *walk) list(rel string, here opened) (listing, error) {
	stat, _, err := here.stat() // before its entries: what comes later makes it differ
	if err != nil {
		return listing{}, err
	}
	entries, err := here.list(w.buffer)
	if err != nil {
		return listing{}, err
	}
	if rel != "" && w.clone && slices.ContainsFunc(entries, func(e entry) bool { return e.name == ".git" }) {
		entries = nil // a submodule, or a clone in a clone: another repository's
	}
	l := listing{stat: stat, racy: stat.youngerThan(w.fresh), nodes: make([]node, 0, len(entries))}
	for _, e := range entries {
		n := node{path: join(rel, e.name)}
		switch {
		case e.name == ".git":
		case e.mode.IsDir():
			l.dirs = append(l.dirs, n.path)
		case e.mode.IsRegular():
			l.nodes = append(l.nodes, n)
		case e.mode == fs.ModeSymlink:
			target, err := here.readlink(e.name)
			if err != nil {
				return listing{}, fsError(w.name, n.path, err)
			}
			n.link, n.target = true, filepath.ToSlash(target)
			if filepath.IsAbs(target) {
				n.target, n.outside = w.below(target)
			}
			l.nodes = append(l.nodes, n)
		}
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

// join is the path of a name in a folder; "" is the root.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
