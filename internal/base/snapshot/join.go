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
	// Repository is the repository's display name, which positions in its files have.
	Repository string `json:"repository"`
	// Revision is the part's own revision; empty for a part that has never been read.
	Revision string `json:"revision,omitempty"`
	// Unknown marks a part that cannot be read now, and may never have been read.
	Unknown bool `json:"unknown,omitempty"`

	files []*File // with their paths in the snapshot, sorted
}

// NewPart makes a part of files with their paths in the snapshot, sorted by path.
func NewPart(at, repository, revision string, files []*File) Part {
	return Part{Path: at, Repository: repository, Revision: revision, files: files}
}

// Files returns the part's files, with their paths in the snapshot. The slice must not be changed.
func (p Part) Files() []*File { return p.files }

// At returns the part below another path.
func (p Part) At(folder string) Part {
	files := make([]*File, len(p.files))
	for i, f := range p.files {
		files[i] = f.At(folder + strings.TrimPrefix(f.Path, p.Path))
	}
	p.Path, p.files = folder, files
	return p
}

// At returns the file with another path; the content is shared.
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
// own. No file is copied. The revision also identifies the parts' revisions and files.
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

// Split rebuilds a joined snapshot from all of its files and the parts without their files.
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

// Parts returns the joined repositories, by path. The slice must not be changed.
func (s *Snapshot) Parts() []Part {
	if s == nil {
		return nil
	}
	return s.parts
}

// Part returns the joined repository at a path.
func (s *Snapshot) Part(at string) (Part, bool) {
	parts := s.Parts()
	i := slices.IndexFunc(parts, func(p Part) bool { return p.Path == at })
	if i < 0 {
		return Part{}, false
	}
	return parts[i], true
}

// Main returns the snapshot without its parts.
func (s *Snapshot) Main() *Snapshot {
	if s == nil || s.main == nil {
		return s
	}
	return s.main
}

// Locate returns a position with the file's repository and its path there.
func (s *Snapshot) Locate(pos problem.Pos) problem.Pos {
	for _, p := range s.Parts() {
		if rest, ok := strings.CutPrefix(pos.File, p.Path+"/"); ok && pos.Repository == "" {
			pos.Repository, pos.File = p.Repository, rest
		}
	}
	return pos
}

// all returns the files of the snapshot and of its parts in a new map.
func (s *Snapshot) all() map[string]*File {
	out := maps.Clone(s.files)
	if out == nil {
		out = map[string]*File{}
	}
	maps.Copy(out, s.joined)
	return out
}
