package refresh

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/state"
)

const (
	snapshotFormat = "snapshot/2"
	snapshotPrefix = "snapshot-"
)

// savedSnapshot is a snapshot as it is written. A revision names its content, so it has a record of
// its own that never changes.
type savedSnapshot struct {
	Revision string      `json:"revision"`
	Files    []savedFile `json:"files"`
}

// savedFile is a file of a snapshot, sorted by path. Bytes that are not UTF-8 are in RawPath and
// RawData.
type savedFile struct {
	Path    string `json:"path,omitempty"`
	RawPath []byte `json:"rawPath,omitempty"`
	Data    string `json:"data,omitempty"`
	RawData []byte `json:"rawData,omitempty"`
	// Problem is why a file has no content, and Digest what it has instead.
	Problem *problem.Problem `json:"problem,omitempty"`
	Digest  string           `json:"digest,omitempty"`
}

func (f savedFile) path() string { return f.Path + string(f.RawPath) }

// split returns data as text, or raw if it is not UTF-8.
func split(data []byte) (text string, raw []byte) {
	if utf8.Valid(data) {
		return string(data), nil
	}
	return "", data
}

// snapshotRecord names the record of a revision.
func snapshotRecord(revision string) string {
	sum := sha256.Sum256([]byte(snapshotFormat + " " + revision))
	return snapshotPrefix + hex.EncodeToString(sum[:10])
}

func snapshotDocument(s state.Store, revision string) *state.Document[savedSnapshot] {
	return state.NewDocument(s, snapshotRecord(revision), snapshotFormat, func(saved savedSnapshot) error {
		if saved.Revision != revision {
			return errors.New("it is of another revision")
		}
		return saved.check()
	})
}

// check refuses what no snapshot contains.
func (s savedSnapshot) check() error {
	last := ""
	for _, f := range s.Files {
		p := f.path()
		switch {
		case f.RawPath != nil && (f.Path != "" || utf8.Valid(f.RawPath)), f.RawData != nil && (f.Data != "" || utf8.Valid(f.RawData)):
			return fmt.Errorf("%q is text and raw", p)
		case !fs.ValidPath(strings.ToValidUTF8(p, "?")): // Git has paths in any encoding
			return fmt.Errorf("%q is no path of a repository", p)
		case p <= last:
			return fmt.Errorf("%q is listed twice or out of order", p)
		case (f.Problem == nil) != (f.Digest == ""), f.Problem != nil && len(f.Data)+len(f.RawData) > 0:
			return fmt.Errorf("%q has a problem and content, or neither", p)
		}
		last = p
	}
	return nil
}

func saveSnapshot(s *snapshot.Snapshot) savedSnapshot {
	out := savedSnapshot{Revision: s.Revision, Files: make([]savedFile, 0, s.Len())}
	for _, p := range s.Paths() {
		file := s.File(p)
		var saved savedFile
		saved.Path, saved.RawPath = split([]byte(p))
		if file.Err != nil {
			saved.Problem = &problem.From(file.Err, problem.InvalidValue, problem.Pos{File: p})[0]
			saved.Digest = file.Digest
		} else {
			saved.Data, saved.RawData = split(file.Data)
		}
		out.Files = append(out.Files, saved)
	}
	return out
}

func (s savedSnapshot) snapshot() *snapshot.Snapshot {
	files := make(map[string]*snapshot.File, len(s.Files))
	for _, f := range s.Files {
		p := f.path()
		if f.Problem != nil {
			files[p] = &snapshot.File{Path: p, Digest: f.Digest, Err: *f.Problem}
			continue
		}
		data := f.RawData
		if data == nil {
			data = []byte(f.Data)
		}
		files[p] = snapshot.NewFile(p, data, int64(len(data)))
	}
	return snapshot.New(s.Revision, files)
}
