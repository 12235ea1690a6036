package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
)

// TooHeavy is the entry of a folder that has more of something than its share of what a repository
// may have (H10). An actual number below zero stands for one without an end.
func TooHeavy(p, what string, actual, limit int64) *File {
	found := fmt.Sprintf("folder with %d %s", actual, what)
	if actual < 0 {
		found = "folder with endless " + what
	}
	return &File{Path: p, Folder: true, Digest: "too-heavy:" + found, Err: problem.Problem{
		Reason: problem.LimitExceeded, Severity: problem.Error, Pos: problem.Pos{File: p}, Found: found,
		Expected: fmt.Sprintf("at most %d in the repository", limit),
		Hints:    []string{"nothing below this folder is read, because the repository exceeds the limit and this folder has the most"},
	}}
}

// Unreadable is the entry of a file or folder that the service may not read.
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

// BrokenFolders are the entries of folders that cannot be read, by path. The slice must not be
// changed.
func (s *Snapshot) BrokenFolders() []*File {
	if s == nil {
		return nil
	}
	return s.folders
}

// SameBrokenFolders reports whether the same folders cannot be read in two snapshots. One that
// cannot concerns all that is below it, folders without files included.
func (s *Snapshot) SameBrokenFolders(o *Snapshot) bool {
	return slices.EqualFunc(s.BrokenFolders(), o.BrokenFolders(), func(a, b *File) bool { return a.Path == b.Path && a.Digest == b.Digest })
}

// BrokenFolder is the entry of the folder that cannot be read and that a path is, or is below; nil
// if there is none.
func (s *Snapshot) BrokenFolder(p string) *File {
	if s == nil || len(s.folders) == 0 {
		return nil
	}
	for end := len(p); end > 0; end = strings.LastIndexByte(p[:end], '/') {
		if f := s.files[p[:end]]; f != nil && f.Folder {
			return f
		}
	}
	return nil
}

// Below is what a reader gets of a path below a folder that cannot be read.
func (f *File) Below(p string) *File {
	return &File{Path: p, Digest: f.Digest, Err: f.Err}
}

func brokenFolders(list []*File) (out []*File) {
	for _, f := range list {
		if f.Folder {
			out = append(out, f)
		}
	}
	return out
}
