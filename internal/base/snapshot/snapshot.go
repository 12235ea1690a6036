// Package snapshot holds a fleet's repository at one revision, as an immutable map of paths to
// contents.
//
//	s := snapshot.FromMap(map[string]string{"clusters/prod-eu-1.yaml": "tier: gold\n"})
//	s.File("clusters/prod-eu-1.yaml").Data // "tier: gold\n"
//	s.Under("clusters")                    // ["clusters/prod-eu-1.yaml"]
//
// Callers may rely on:
//
//  1. A Snapshot never changes once it is built. Reading it does no I/O.
//  2. Every file has a Digest of its content. Results are cached by digest, so that a new snapshot
//     costs only what changed.
//  3. Paths are slash-separated, relative to the repository's root, without "." and "..". Nothing
//     outside the repository is in a snapshot: a symbolic link that leads out is a File with Err
//     set.
//  4. A file over the size limit is a File without content and with Err set. Only a reader of that
//     file gets the error.
//  5. A folder beyond a limit is one File with Folder and Err set. For every path below it, the
//     method File returns that error, never nil: an unknown file is not an absent one.
//  6. The same holds for an obstacle. That is a file, a link to nothing or a submodule in a
//     folder's place, or a folder or a submodule in a file's place. Only a reader of its path gets
//     the error.
package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// MaxFileSize is the default limit of one file, in bytes.
const MaxFileSize = 1 << 20

// File is one file of a snapshot.
type File struct {
	// Path is the file's place in the repository.
	Path string
	// Digest identifies the content: equal digests mean equal contents.
	Digest string
	// Data is the content; it must not be changed.
	Data []byte
	// Err says why the content cannot be read (too large, a link out of the repository), nil for a
	// good file.
	Err error
	// Folder marks the entry of a folder that cannot be read.
	Folder bool
}

// Snapshot is a repository at one revision. The zero value is an empty repository.
type Snapshot struct {
	// Revision names the content: a Git commit id, or for a folder a digest of its files.
	Revision string

	files map[string]*File
	paths []string // sorted
	list  []*File  // in the order of paths
	// folders are the folders that cannot be read, in the order of paths.
	folders []*File
	// obstacles are the entries that are not what their names suggest, in the order of paths.
	obstacles []*File
	hasErrors bool // any of files has an error

	beside Beside
	commit Commit

	// parts are other repositories below paths, and joined their files by path. main is the
	// snapshot without them, nil if there are none.
	parts  []Part
	joined map[string]*File
	main   *Snapshot
}

// Beside lists what a repository has besides the files of its snapshot, by sorted paths.
type Beside struct {
	// Unread are files that the resolver does not read.
	Unread []string
	// LinkedFolders are symbolic links to folders. The snapshot has the files below a link, and has
	// them at another path, too.
	LinkedFolders []string
	// Links are all symbolic links, with their targets.
	Links []Link
}

// Link is a symbolic link, and its target as written.
type Link struct{ Path, Target string }

// WithBeside returns the same snapshot with what else the repository has.
func (s *Snapshot) WithBeside(b Beside) *Snapshot {
	out := *s
	out.beside = b
	return &out
}

// Beside returns what else the repository has; empty unless the source's limits ask for it. It must
// not be changed.
func (s *Snapshot) Beside() Beside {
	if s == nil {
		return Beside{}
	}
	return s.beside
}

// New builds a snapshot of files. The caller must not change the map afterwards.
func New(revision string, files map[string]*File) *Snapshot {
	s := &Snapshot{Revision: revision, files: files, paths: slices.Sorted(maps.Keys(files))}
	s.list = make([]*File, len(s.paths))
	for i, p := range s.paths {
		f := files[p]
		s.list[i] = f
		s.hasErrors = s.hasErrors || f.Err != nil
		if f.Folder {
			s.folders = append(s.folders, f)
		}
	}
	return s
}

// Of builds a snapshot of files with distinct paths. Its revision is a digest of all paths and
// contents, as a folder without Git has no commit. The caller must not change the obstacles
// afterwards.
func Of(list []*File, obstacles ...*File) *Snapshot {
	files := make(map[string]*File, len(list))
	for _, f := range list {
		files[f.Path] = f
	}
	s, h := New("", files), sha256.New()
	for _, f := range s.list {
		h.Write([]byte(f.Path + "\x00" + f.Digest + "\x00"))
	}
	for _, o := range obstacles {
		if !IsPlain(o) { // a note for people
			h.Write([]byte(o.Path + "\x00" + o.Digest + "\x00"))
		}
	}
	s.Revision = "sha256:" + hex.EncodeToString(h.Sum(nil)[:16])
	return s.WithObstacles(obstacles)
}

// FromMap builds a snapshot from contents by path, for tests and generated fleets. Its revision is
// a digest of both.
func FromMap(contents map[string]string) *Snapshot {
	files := make([]*File, 0, len(contents))
	for p, c := range contents {
		files = append(files, NewFile(p, []byte(c), MaxFileSize))
	}
	return Of(files)
}

// NewFile returns a file with the digest of its content. A file over limit bytes, or a pointer of
// Git LFS, has an error instead of its content.
func NewFile(p string, data []byte, limit int64) *File {
	if int64(len(data)) > limit {
		return TooLarge(p, int64(len(data)), limit)
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:16])
	if bytes.HasPrefix(data, []byte(lfsPointer)) {
		return &File{Path: p, Digest: "lfs-pointer:" + digest, Err: problem.Problem{
			Reason: problem.LFSPointer, Severity: problem.Error, Pos: problem.Pos{File: p},
			Found: "Git LFS pointer", Expected: "the content itself, which is not fetched from Git LFS",
			Hints: []string{"git lfs pull, take the file's pattern out of .gitattributes, git add --renormalize it, and commit"},
		}}
	}
	return &File{Path: p, Digest: digest, Data: data}
}

// lfsPointer begins a pointer of Git LFS. (git-lfs, docs/spec.md)
const lfsPointer = "version https://git-lfs.github.com/spec/"

// TooLarge returns the entry of a file over the size limit.
func TooLarge(p string, size, limit int64) *File {
	return &File{Path: p, Digest: fmt.Sprintf("too-large:%d", size), Err: problem.Problem{
		Reason: problem.LimitExceeded, Severity: problem.Error, Pos: problem.Pos{File: p},
		Found: fmt.Sprintf("file of %d bytes", size), Expected: fmt.Sprintf("at most %d bytes", limit),
	}}
}

// Outside returns the entry of a symbolic link that leads out of the repository.
func Outside(p, target string) *File {
	short, digest := Target(target)
	return &File{Path: p, Digest: "outside:" + digest, Err: problem.Problem{
		Reason: problem.OutsideRepository, Severity: problem.Error, Pos: problem.Pos{File: p},
		Found: fmt.Sprintf("symbolic link to %q leads out of the repository", short), Expected: "a file inside the repository",
	}}
}

// Target returns a link's target, shortened, and its digest: a target may have 4 KB, and a
// repository many links.
func Target(target string) (short, digest string) {
	const longest = 100
	if len(target) <= longest {
		return target, target
	}
	return problem.Truncate(target, longest), fmt.Sprintf("%x", sha256.Sum256([]byte(target)))
}

// File returns the file at a path, or nil when there is none. The path must be clean.
func (s *Snapshot) File(p string) *File {
	if s == nil {
		return nil
	}
	f := s.files[p]
	if f == nil && s.joined != nil {
		f = s.joined[p]
	}
	if f != nil {
		return f
	}
	if o := s.Obstacle(p); o != nil && !o.Folder {
		return o
	}
	if folder := s.BrokenFolder(path.Dir(p)); folder != nil {
		return folder.Below(p)
	}
	return nil
}

// Len returns the number of files.
func (s *Snapshot) Len() int {
	if s == nil {
		return 0
	}
	return len(s.paths)
}

// Paths returns the paths of all files, sorted; the slice must not be changed.
func (s *Snapshot) Paths() []string {
	if s == nil {
		return nil
	}
	return s.paths
}

// Under returns the paths below a folder, sorted; "" or "." means all. The slice must not be
// changed.
func (s *Snapshot) Under(dir string) []string {
	from, to := s.under(dir)
	return s.Paths()[from:to]
}

// FilesUnder returns the files below a folder, in the order of Under. The slice must not be
// changed.
func (s *Snapshot) FilesUnder(dir string) []*File {
	if s == nil {
		return nil
	}
	from, to := s.under(dir)
	return s.list[from:to]
}

func (s *Snapshot) under(dir string) (from, to int) {
	paths := s.Paths()
	if dir == "" || dir == "." {
		return 0, len(paths)
	}
	prefix := strings.TrimSuffix(dir, "/") + "/"
	from = sort.SearchStrings(paths, prefix)
	return from, from + sort.Search(len(paths)-from, func(i int) bool { return !strings.HasPrefix(paths[from+i], prefix) })
}

// HasDir reports whether any file is below the folder.
func (s *Snapshot) HasDir(dir string) bool { return len(s.Under(dir)) > 0 }

// WithFolders returns the snapshot in which some folders have the files of earlier snapshots.
func (s *Snapshot) WithFolders(earlier map[string]*Snapshot) *Snapshot {
	files := s.all()
	for dir := range earlier {
		for _, p := range s.Under(dir) {
			delete(files, p)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(earlier)) {
		for _, f := range earlier[dir].FilesUnder(dir) {
			files[f.Path] = f
		}
	}
	out := New(s.Revision, files)
	out.parts = s.parts
	for _, o := range s.obstacles {
		if !inAny(o.Path, earlier) {
			out.obstacles = append(out.obstacles, o)
		}
	}
	for dir, was := range earlier {
		out.obstacles = append(out.obstacles, was.ObstaclesUnder(dir)...)
	}
	slices.SortFunc(out.obstacles, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func inAny(p string, folders map[string]*Snapshot) bool {
	for dir := range folders {
		if strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}

// With returns the snapshot with other files at some paths. Positions name the Path of such a file,
// which may differ from its path in the map.
func (s *Snapshot) With(files map[string]*File) *Snapshot {
	all := s.all()
	maps.Copy(all, files)
	out := New(s.Revision, all).WithBeside(s.beside)
	out.parts, out.obstacles = s.parts, s.obstacles
	return out
}

// Changed returns the sorted paths that were added, removed or changed between two snapshots. A nil
// old snapshot counts as empty.
func Changed(old, updated *Snapshot) []string {
	a, b := old.Paths(), updated.Paths()
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && old.list[i] == updated.list[j] && a[i] == b[j]: // most files: they were not read again
			i++
			j++
		case j == len(b) || i < len(a) && a[i] < b[j]:
			out = append(out, a[i])
			i++
		case i == len(a) || b[j] < a[i]:
			out = append(out, b[j])
			j++
		default:
			if old.list[i].Digest != updated.list[j].Digest {
				out = append(out, a[i])
			}
			i++
			j++
		}
	}
	return out
}

// MaxPath bounds the path of a file, in bytes. Files with longer paths are not listed: a few Git
// objects can make a million of them.
const MaxPath = 1024

// CleanPath checks a path that comes from a file or a template: relative, inside the repository,
// without "." and "..". It returns the cleaned path.
func CleanPath(p string) (string, error) {
	switch {
	case len(p) > MaxPath:
		return "", fmt.Errorf("path of %d bytes: expected at most %d", len(p), MaxPath)
	case p == "":
		return "", fmt.Errorf("empty path")
	case strings.HasPrefix(p, "/"):
		return "", fmt.Errorf("absolute path %q: paths are relative to the repository's root", p)
	case strings.ContainsAny(p, "\\\x00"):
		return "", fmt.Errorf("path %q holds a backslash or NUL: separate folders by slashes", p)
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", fmt.Errorf("path %q leads upwards (..): paths stay inside the repository", p)
		}
	}
	return path.Clean(p), nil
}
