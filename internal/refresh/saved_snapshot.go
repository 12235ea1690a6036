package refresh

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/state"
)

// snapshotKind names the records of snapshots. A revision names its content, so each one has a
// record of its own that never changes: a tar archive of its files.
var snapshotKind = state.Name("snapshots", 3)

// Keys of an archive's entries: problemKey is why a file has no content, and digestKey what it has
// instead. The first entry is empty, and its revisionKey names the revision.
const (
	revisionKey = "ARGOSY.revision"
	problemKey  = "ARGOSY.problem"
	digestKey   = "ARGOSY.digest"
	folderKey   = "ARGOSY.folder" // marks a folder that cannot be read
)

// snapshotRecord names the record of a revision.
func snapshotRecord(revision string) string {
	sum := sha256.Sum256([]byte(revision))
	return snapshotKind + "-" + hex.EncodeToString(sum[:10])
}

// Archive writes a snapshot. Equal snapshots give equal bytes.
func Archive(s *snapshot.Snapshot) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	failed := w.WriteHeader(&tar.Header{Name: "revision", PAXRecords: map[string]string{revisionKey: s.Revision}})
	for _, file := range s.FilesUnder("") {
		head := &tar.Header{Name: file.Path, Mode: 0o600, Size: int64(len(file.Data))}
		if file.Err != nil {
			why, err := json.Marshal(problem.From(file.Err, problem.InvalidValue, problem.Pos{File: file.Path})[0])
			failed = errors.Join(failed, err)
			head.PAXRecords = map[string]string{problemKey: string(why), digestKey: file.Digest}
			if file.Folder {
				head.PAXRecords[folderKey] = "true"
			}
		}
		err := w.WriteHeader(head)
		_, unwritten := w.Write(file.Data)
		failed = errors.Join(failed, err, unwritten)
	}
	err := errors.Join(failed, w.Close())
	return b.Bytes(), err
}

// Unarchive reads what Archive has written of a revision; anything else is damaged.
func Unarchive(revision string, data []byte) (*snapshot.Snapshot, error) {
	files, err := readArchive(revision, data)
	if err != nil {
		return nil, &state.Damaged{Record: snapshotRecord(revision), Why: err.Error()}
	}
	return snapshot.New(revision, files), nil
}

func readArchive(revision string, data []byte) (map[string]*snapshot.File, error) {
	in := bytes.NewReader(data)
	r := tar.NewReader(in)
	head, err := r.Next()
	if err != nil {
		return nil, err
	}
	if head.PAXRecords[revisionKey] != revision {
		return nil, errors.New("it is of another revision")
	}
	files, last := map[string]*snapshot.File{}, ""
	for {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		switch {
		case err != nil:
			return nil, err
		case !fs.ValidPath(strings.ToValidUTF8(head.Name, "?")): // Git has paths in any encoding
			return nil, fmt.Errorf("%q is no path of a repository", head.Name)
		case head.Name <= last || head.Typeflag != tar.TypeReg || head.Size > int64(in.Len()):
			return nil, fmt.Errorf("%q is listed twice, out of order, cut off or no file", head.Name)
		}
		last = head.Name
		content := make([]byte, head.Size)
		if _, err := io.ReadFull(r, content); err != nil {
			return nil, err
		}
		file := snapshot.NewFile(head.Name, content, head.Size)
		if why, is := head.PAXRecords[problemKey]; is {
			var p problem.Problem
			if err := json.Unmarshal([]byte(why), &p); err != nil {
				return nil, err
			}
			file = &snapshot.File{Path: head.Name, Digest: head.PAXRecords[digestKey], Err: p, Folder: head.PAXRecords[folderKey] != ""}
		}
		files[head.Name] = file
	}
}
