package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Unreadable returns the entry of a file or folder that the service may not read.
func Unreadable(p string, folder bool, err error) *File {
	kind := "file"
	if folder {
		kind = "folder"
	}
	return &File{Path: p, Folder: folder, Digest: "unreadable:" + kind + ":" + err.Error(), Err: problem.Problem{
		Reason: problem.MissingFile, Severity: problem.Error, Pos: problem.Pos{File: p},
		Found: kind + " cannot be read: " + err.Error(), Expected: "a " + kind + " that the service may read",
	}}
}

// BrokenFolders returns the entries of folders that cannot be read, by path. The slice must not be
// changed.
func (s *Snapshot) BrokenFolders() []*File {
	if s == nil {
		return nil
	}
	return s.folders
}

// SameBrokenFolders reports whether the same folders cannot be read in two snapshots. An unreadable
// folder affects all that is below it, folders without files included.
func (s *Snapshot) SameBrokenFolders(o *Snapshot) bool {
	same := func(a, b *File) bool { return a.Path == b.Path && a.Digest == b.Digest }
	return slices.EqualFunc(s.BrokenFolders(), o.BrokenFolders(), same) && slices.EqualFunc(s.Obstacles(), o.Obstacles(), same)
}

// BrokenFolder returns the entry of the unreadable folder that a path is, or is below; nil if there
// is none.
func (s *Snapshot) BrokenFolder(p string) *File {
	if s == nil || !s.hasErrors && len(s.obstacles) == 0 {
		return nil
	}
	for end := len(p); end > 0; end = strings.LastIndexByte(p[:end], '/') {
		if f := s.files[p[:end]]; f != nil && f.Err != nil {
			return f
		}
		if o := s.Obstacle(p[:end]); o != nil && o.Folder {
			return o
		}
	}
	return nil
}

// WithObstacles returns the same snapshot with obstacles, by path. The Folder field of an obstacle
// says that a reader may expect a folder there, not a file.
func (s *Snapshot) WithObstacles(obstacles []*File) *Snapshot {
	out := *s
	out.obstacles = obstacles
	return &out
}

// Obstacles returns the obstacles of the whole snapshot, by path. The slice must not be changed.
func (s *Snapshot) Obstacles() []*File { return s.ObstaclesUnder("") }

// ObstaclesUnder returns the obstacles below a folder; "" or "." means all.
func (s *Snapshot) ObstaclesUnder(dir string) []*File {
	switch {
	case s == nil:
		return nil
	case dir == "" || dir == ".":
		return s.obstacles
	}
	prefix := strings.TrimSuffix(dir, "/") + "/"
	from, _ := slices.BinarySearchFunc(s.obstacles, prefix, func(f *File, p string) int { return strings.Compare(f.Path, p) })
	to := from
	for to < len(s.obstacles) && strings.HasPrefix(s.obstacles[to].Path, prefix) {
		to++
	}
	return s.obstacles[from:to]
}

// EntriesUnder returns the files below a folder, and the obstacles where a reader may expect a
// file. The slice must not be changed.
func (s *Snapshot) EntriesUnder(dir string) []*File {
	files := s.FilesUnder(dir)
	for _, o := range s.ObstaclesUnder(dir) {
		if !o.Folder {
			files = append(slices.Clip(files), o)
		}
	}
	return files
}

// Obstacle returns the obstacle at a path, nil for none.
func (s *Snapshot) Obstacle(p string) *File {
	if s == nil || len(s.obstacles) == 0 {
		return nil
	}
	i, found := slices.BinarySearchFunc(s.obstacles, p, func(f *File, p string) int { return strings.Compare(f.Path, p) })
	if !found {
		return nil
	}
	return s.obstacles[i]
}

// plainFile is the finding of a file in a folder's place.
const plainFile = "is a file"

// PlainFile returns the obstacle of a file that the resolver does not read, in a folder's place.
func PlainFile(p string) *File { return NoFolder(p, plainFile) }

// IsPlain reports whether an obstacle is a PlainFile.
func IsPlain(obstacle *File) bool {
	var p problem.Problem
	return errors.As(obstacle.Err, &p) && p.Found == plainFile
}

// NoFolder returns the obstacle of a path that exists and is not a folder.
func NoFolder(p, found string) *File { return obstacleAt(p, true, found, "a folder") }

// NoFile returns the obstacle of a path that exists and is not a file.
func NoFile(p, found string) *File { return obstacleAt(p, false, found, "a file") }

func obstacleAt(p string, folder bool, found, expected string) *File {
	return &File{Path: p, Folder: folder, Digest: fmt.Sprintf("obstacle:%t:%s", folder, found), Err: problem.Problem{
		Reason: problem.MissingFile, Severity: problem.Error, Pos: problem.Pos{File: p}, Found: found, Expected: expected,
	}}
}

// Below returns the entry of a path below a folder that cannot be read.
func (f *File) Below(p string) *File {
	return &File{Path: p, Digest: f.Digest, Err: f.Err}
}
