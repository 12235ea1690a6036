package refresh

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// savedFile is a file of a snapshot, sorted by path.
type savedFile struct {
	Path rawText `json:"path"`
	Data rawText `json:"data,omitempty"`
	// Problem is why a file has no content, and Digest what it has instead.
	Problem *problem.Problem `json:"problem,omitempty"`
	Digest  string           `json:"digest,omitempty"`
}

// rawText is bytes that most often are UTF-8: a JSON string, or else base64 in a list.
type rawText []byte

func (t rawText) MarshalJSON() ([]byte, error) {
	if utf8.Valid(t) {
		return json.Marshal(string(t))
	}
	return json.Marshal([][]byte{t})
}

func (t *rawText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		var list [][]byte
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		if len(list) != 1 {
			return errors.New("expected one text")
		}
		*t = list[0]
		return nil
	}
	var s string
	err := json.Unmarshal(data, &s)
	*t = rawText(s)
	return err
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
		p := string(f.Path)
		switch {
		case !fs.ValidPath(strings.ToValidUTF8(p, "?")): // Git has paths in any encoding
			return fmt.Errorf("%q is no path of a repository", p)
		case p <= last:
			return fmt.Errorf("%q is listed twice or out of order", p)
		case (f.Problem == nil) != (f.Digest == ""), f.Problem != nil && len(f.Data) > 0:
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
		saved := savedFile{Path: rawText(p), Data: file.Data}
		if file.Err != nil {
			saved.Problem = &problem.From(file.Err, problem.InvalidValue, problem.Pos{File: p})[0]
			saved.Data, saved.Digest = nil, file.Digest
		}
		out.Files = append(out.Files, saved)
	}
	return out
}

func (s savedSnapshot) snapshot() *snapshot.Snapshot {
	files := make(map[string]*snapshot.File, len(s.Files))
	for _, f := range s.Files {
		p := string(f.Path)
		if f.Problem != nil {
			files[p] = &snapshot.File{Path: p, Digest: f.Digest, Err: *f.Problem}
			continue
		}
		data := []byte(f.Data)
		if data == nil { // a file of no bytes has content, too
			data = []byte{}
		}
		files[p] = snapshot.NewFile(p, data, int64(len(data)))
	}
	return snapshot.New(s.Revision, files)
}
