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
	// partsKey lists the mounts whose files are among the others, and mainKey is the revision of
	// the fleet repository alone.
	partsKey = "ARGOSY.parts"
	mainKey  = "ARGOSY.main"
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
	about := map[string]string{revisionKey: s.Revision}
	var failed error
	if parts := s.Parts(); len(parts) > 0 {
		list, err := json.Marshal(parts)
		failed = err
		about[partsKey], about[mainKey] = string(list), s.Main().Revision
	}
	failed = errors.Join(failed, w.WriteHeader(&tar.Header{Name: "revision", PAXRecords: about}))
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

// Unarchive reads what Archive has written of a revision; anything else is damaged. Files that the
// other snapshots have, too, are the same in memory.
func Unarchive(revision string, data []byte, others ...*snapshot.Snapshot) (*snapshot.Snapshot, error) {
	files, about, err := readArchive(revision, data)
	if err != nil {
		return nil, &state.Damaged{Record: snapshotRecord(revision), Why: err.Error()}
	}
	for _, o := range others {
		share(files, o)
	}
	if about[partsKey] == "" {
		return snapshot.New(revision, files), nil
	}
	var parts []snapshot.Part
	if err := json.Unmarshal([]byte(about[partsKey]), &parts); err != nil {
		return nil, &state.Damaged{Record: snapshotRecord(revision), Why: err.Error()}
	}
	s := snapshot.Split(about[mainKey], files, parts)
	if s.Revision != revision {
		return nil, &state.Damaged{Record: snapshotRecord(revision), Why: "its mounts are others"}
	}
	return s, nil
}

// readArchive also returns what the first entry says of the whole.
func readArchive(revision string, data []byte) (map[string]*snapshot.File, map[string]string, error) {
	in := bytes.NewReader(data)
	r := tar.NewReader(in)
	about, err := r.Next()
	if err != nil {
		return nil, nil, err
	}
	if about.PAXRecords[revisionKey] != revision {
		return nil, nil, errors.New("it is of another revision")
	}
	files, last := map[string]*snapshot.File{}, ""
	for {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, about.PAXRecords, nil
		}
		switch {
		case err != nil:
			return nil, nil, err
		case !fs.ValidPath(strings.ToValidUTF8(head.Name, "?")): // Git has paths in any encoding
			return nil, nil, fmt.Errorf("%q is no path of a repository", head.Name)
		case head.Name <= last || head.Typeflag != tar.TypeReg || head.Size > int64(in.Len()):
			return nil, nil, fmt.Errorf("%q is listed twice, out of order, cut off or no file", head.Name)
		}
		last = head.Name
		content := make([]byte, head.Size)
		if _, err := io.ReadFull(r, content); err != nil {
			return nil, nil, err
		}
		file := snapshot.NewFile(head.Name, content, head.Size)
		if why, is := head.PAXRecords[problemKey]; is {
			var p problem.Problem
			if err := json.Unmarshal([]byte(why), &p); err != nil {
				return nil, nil, err
			}
			file = &snapshot.File{Path: head.Name, Digest: head.PAXRecords[digestKey], Err: p, Folder: head.PAXRecords[folderKey] != ""}
		}
		files[head.Name] = file
	}
}
