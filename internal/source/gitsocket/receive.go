package gitsocket

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/tree"
)

// receiver builds a snapshot from the frames of a response, and trusts none of them.
type receiver struct {
	limits source.Limits
	last   *snapshot.Snapshot // the client's last snapshot, nil for none
	files  map[string]*snapshot.File
	frames int
	blobs  map[string]*snapshot.File // received contents, by digest
	bytes  int64                     // of blobs
	texts  int64                     // bytes of names and faults

	obstacles []*snapshot.File
}

// receive reads the files that follow a start. It returns nil if there is no snapshot.
func (c *Client) receive(in *bufio.Reader, begin *start) (*snapshot.Snapshot, error) {
	r := receiver{limits: c.o.Limits, last: c.last, files: map[string]*snapshot.File{}, blobs: map[string]*snapshot.File{}}
	switch {
	case begin.Revision != "" && !revision.MatchString(begin.Revision):
		return nil, invalid("a revision that is no commit")
	case begin.Base == "":
	case c.last == nil || begin.Base != c.last.Revision:
		return nil, invalid("the difference to a commit that the service does not have")
	default:
		for _, f := range c.last.FilesUnder("") {
			r.files[f.Path] = f
		}
	}
	for {
		var f frame
		err := readLine(in, &f)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		switch {
		case err != nil:
			return nil, err
		case f.End && begin.Revision == "":
			return nil, nil
		case f.End:
			s, err := r.snapshot(begin.Revision)
			if err != nil || s == c.last {
				return s, err
			}
			return s.WithCommit(snapshot.Commit{Author: text(begin.Commit.Author), Subject: text(begin.Commit.Subject), At: begin.Commit.At}), nil
		case begin.Revision == "":
			return nil, invalid("files without a revision")
		}
		if err := r.add(in, f); err != nil {
			return nil, err
		}
	}
}

// add takes one frame, and the content that follows it.
func (r *receiver) add(in io.Reader, f frame) error {
	if r.frames++; r.frames > 2*r.limits.Files {
		return invalid("more than %d changes", 2*r.limits.Files)
	}
	if f.File == nil {
		if r.files[string(f.Gone)] == nil {
			return invalid("a file to remove that is not there")
		}
		delete(r.files, string(f.Gone))
		return nil
	}
	p := string(f.File.Path)
	if clean, err := snapshot.CleanPath(p); err != nil || clean != p || tree.Hidden(p) || !r.limits.Wanted(p) && f.File.Fault == nil {
		return invalid("a path that no snapshot has: %q", problem.Truncate(p, 100))
	}
	got, err := r.content(in, p, f.File)
	if err != nil {
		return err
	}
	if r.texts += textsOf(got); r.texts > maxTexts(r.limits) {
		return invalid("more than %d bytes of names and faults", maxTexts(r.limits))
	}
	if f.File.Obstacle {
		if got.Err == nil {
			return invalid("an obstacle without a fault: %q", problem.Truncate(p, 100))
		}
		if old := r.last.Obstacle(p); old != nil && old.Digest == got.Digest {
			got = old
		}
		r.obstacles = append(r.obstacles, got)
		return nil
	}
	if old := r.last.File(p); old != nil && old.Digest == got.Digest {
		got = old // an unchanged file keeps its *snapshot.File
	}
	if r.files[p] = got; len(r.files) > r.limits.Files {
		return invalid("more than %d files", r.limits.Files)
	}
	return nil
}

// content reads the content after a file's frame. It checks the size before it reserves memory.
func (r *receiver) content(in io.Reader, p string, f *file) (*snapshot.File, error) {
	if f.Fault != nil {
		if f.Size != 0 || !isReason(string(f.Fault.Reason)) {
			return nil, invalid("a fault with content or without a reason: %q", problem.Truncate(p, 100))
		}
		line, err := json.Marshal(f.Fault)
		if err != nil {
			return nil, err
		}
		return &snapshot.File{Path: p, Folder: f.Folder, Digest: fmt.Sprintf("fault:%t:%x", f.Folder, sha256.Sum256(line)), Err: f.Fault.problem(p)}, nil
	}
	if f.Folder {
		return nil, invalid("a folder without a fault: %q", problem.Truncate(p, 100))
	}
	if f.Size < 0 || f.Size > r.limits.FileSize {
		return nil, invalid("%q has %d bytes; at most %d", problem.Truncate(p, 100), f.Size, r.limits.FileSize)
	}
	data := make([]byte, f.Size)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, err
	}
	got := snapshot.NewFile(p, data, r.limits.FileSize)
	if twin := r.blobs[got.Digest]; twin != nil {
		got.Data = twin.Data
		return got, nil
	}
	r.blobs[got.Digest] = got
	if r.bytes += f.Size; r.bytes > r.limits.Bytes {
		return nil, invalid("more than %d bytes of files", r.limits.Bytes)
	}
	return got, nil
}

// snapshot returns the whole snapshot, if it is within the limits.
func (r *receiver) snapshot(revision string) (*snapshot.Snapshot, error) {
	if len(r.files) == 0 {
		return nil, invalid("no file")
	}
	var total, texts int64
	counted := map[string]bool{}
	for _, f := range r.files {
		texts += textsOf(f)
		if !counted[f.Digest] {
			counted[f.Digest] = true
			total += int64(len(f.Data))
		}
	}
	if total > r.limits.Bytes {
		return nil, invalid("%d bytes of files; at most %d", total, r.limits.Bytes)
	}
	if texts > maxTexts(r.limits) {
		return nil, invalid("%d bytes of names and faults; at most %d", texts, maxTexts(r.limits))
	}
	if r.last != nil && r.last.Revision == revision {
		if !maps.EqualFunc(r.files, filesOf(r.last), func(a, b *snapshot.File) bool { return a == b }) {
			return nil, invalid("another content of the commit that the service has")
		}
		return r.last, nil
	}
	slices.SortFunc(r.obstacles, func(a, b *snapshot.File) int { return strings.Compare(a.Path, b.Path) })
	obstacles := slices.CompactFunc(r.obstacles, func(a, b *snapshot.File) bool { return a.Path == b.Path })
	return snapshot.New(revision, r.files).WithObstacles(obstacles), nil
}

// maxTexts returns the limit of the bytes of all names and faults, which no snapshot reaches.
func maxTexts(l source.Limits) int64 { return 64<<10 + int64(l.Files)*maxTextsOfFile }

// textsOf returns the bytes of a file's name and fault.
func textsOf(f *snapshot.File) int64 {
	n := len(f.Path)
	var p problem.Problem
	if errors.As(f.Err, &p) {
		n += len(p.Reason) + len(p.Subject) + len(p.Found) + len(p.Expected)
		for _, hint := range p.Hints {
			n += len(hint)
		}
	}
	return int64(n)
}

func filesOf(s *snapshot.Snapshot) map[string]*snapshot.File {
	out := make(map[string]*snapshot.File, s.Len())
	for _, f := range s.FilesUnder("") {
		out[f.Path] = f
	}
	return out
}
