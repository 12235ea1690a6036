package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Part is another repository that a snapshot has below a path (a mount).
type Part struct {
	// Path is the folder of the snapshot that the part's files are below.
	Path string `json:"path"`
	// Repository names the repository for people; positions in its files have it.
	Repository string `json:"repository"`
	// Revision is the part's own; empty if it holds nothing, because it has never been read.
	Revision string `json:"revision,omitempty"`
	// Unknown marks a part that cannot be read, and of which nobody knows whether it ever was.
	Unknown bool `json:"unknown,omitempty"`

	files []*File // with their paths in the snapshot, sorted
}

// NewPart joins files, whose paths are those in the snapshot, in the order of paths.
func NewPart(at, repository, revision string, files []*File) Part {
	return Part{Path: at, Repository: repository, Revision: revision, files: files}
}

// Files are the part's files, with their paths in the snapshot. The slice must not be changed.
func (p Part) Files() []*File { return p.files }

// At is the part below another path.
func (p Part) At(folder string) Part {
	files := make([]*File, len(p.files))
	for i, f := range p.files {
		files[i] = f.At(folder + strings.TrimPrefix(f.Path, p.Path))
	}
	p.Path, p.files = folder, files
	return p
}

// At is the file with another path; the content is shared.
func (f *File) At(p string) *File {
	out := *f
	out.Path = p
	var wrong problem.Problem
	if found := problem.From(f.Err, problem.InvalidValue, problem.Pos{}); len(found) > 0 {
		wrong = found[0]
		wrong.Pos.File = p
		out.Err = wrong
	}
	return &out
}

// Join returns the snapshot with parts below their paths, in which it must have no files of its
// own. No file is copied. The revision names the parts' revisions and files, too.
func (s *Snapshot) Join(parts []Part) *Snapshot {
	if len(parts) == 0 {
		return s
	}
	out := *s
	out.main, out.parts = s, slices.Clone(parts)
	slices.SortFunc(out.parts, func(a, b Part) int { return strings.Compare(a.Path, b.Path) })
	out.joined = map[string]*File{}
	h, isRead := sha256.New(), false
	for _, p := range out.parts {
		isRead = isRead || p.Revision != "" || p.Unknown
		for _, text := range []string{p.Path, p.Repository, p.Revision} {
			h.Write(append([]byte(text), 0))
		}
		at := sort.SearchStrings(out.paths, p.Path+"/")
		paths := make([]string, len(p.files))
		for i, f := range p.files {
			out.joined[f.Path], paths[i] = f, f.Path
			h.Write(append([]byte(f.Digest+f.Path), 0))
		}
		out.paths = slices.Concat(out.paths[:at], paths, out.paths[at:])
		out.list = slices.Concat(out.list[:at], p.files, out.list[at:])
	}
	if isRead {
		out.Revision = s.Revision + "+" + hex.EncodeToString(h.Sum(nil)[:6])
	}
	return &out
}

// Split is a joined snapshot, from all of its files and the parts without theirs.
func Split(mainRevision string, files map[string]*File, parts []Part) *Snapshot {
	out, paths := slices.Clone(parts), slices.Sorted(maps.Keys(files))
	for i := range out {
		for _, p := range paths {
			if strings.HasPrefix(p, out[i].Path+"/") {
				out[i].files = append(out[i].files, files[p])
				delete(files, p)
			}
		}
	}
	return New(mainRevision, files).Join(out)
}

// Parts are the joined repositories, by path. The slice must not be changed.
func (s *Snapshot) Parts() []Part {
	if s == nil {
		return nil
	}
	return s.parts
}

// Part is the joined repository at a path.
func (s *Snapshot) Part(at string) (Part, bool) {
	parts := s.Parts()
	i := slices.IndexFunc(parts, func(p Part) bool { return p.Path == at })
	if i < 0 {
		return Part{}, false
	}
	return parts[i], true
}

// Main is the snapshot without its parts.
func (s *Snapshot) Main() *Snapshot {
	if s == nil || s.main == nil {
		return s
	}
	return s.main
}

// Locate is a position with the repository that the file is in, and its place there (U1).
func (s *Snapshot) Locate(pos problem.Pos) problem.Pos {
	for _, p := range s.Parts() {
		if rest, ok := strings.CutPrefix(pos.File, p.Path+"/"); ok && pos.Repository == "" {
			pos.Repository, pos.File = p.Repository, rest
		}
	}
	return pos
}

// all are the files of the snapshot and of its parts, as a map of the caller's own.
func (s *Snapshot) all() map[string]*File {
	out := maps.Clone(s.files)
	if out == nil {
		out = map[string]*File{}
	}
	maps.Copy(out, s.joined)
	return out
}
