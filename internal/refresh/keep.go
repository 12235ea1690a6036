package refresh

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// Records of the tar headers that hold what a tar file has no place for.
const (
	revisionRecord = "ARGOSY.revision"
	digestRecord   = "ARGOSY.digest"
	errorRecord    = "ARGOSY.error"
	countRecord    = "ARGOSY.files"
)

// save writes a snapshot into a file, in one step: whoever reads it finds the old one or the new one.
func save(path string, s *snapshot.Snapshot) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".accepted-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	b := bufio.NewWriterSize(f, 1<<20)
	err = errors.Join(write(b, s), b.Flush(), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func write(w io.Writer, s *snapshot.Snapshot) error {
	t := tar.NewWriter(w)
	head := map[string]string{revisionRecord: s.Revision, countRecord: fmt.Sprint(s.Len())}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "snapshot", PAXRecords: head}); err != nil {
		return err
	}
	for _, p := range s.Paths() {
		file := s.File(p)
		records := map[string]string{digestRecord: file.Digest}
		if file.Err != nil { // a file without content; the reason is part of the snapshot
			text, err := json.Marshal(problem.From(file.Err, problem.InvalidValue, problem.Pos{File: p})[0])
			if err != nil {
				return err
			}
			records[errorRecord] = string(text)
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: p, Mode: 0o600, Size: int64(len(file.Data)), Format: tar.FormatPAX, PAXRecords: records}); err != nil {
			return err
		}
		if _, err := t.Write(file.Data); err != nil {
			return err
		}
	}
	return t.Close()
}

// restore reads what save has written; nil when there is nothing.
func restore(path string) (*snapshot.Snapshot, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := tar.NewReader(bufio.NewReaderSize(f, 1<<20))
	head, err := t.Next()
	if err != nil {
		return nil, err
	}
	revision, count := head.PAXRecords[revisionRecord], head.PAXRecords[countRecord]
	files := map[string]*snapshot.File{}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		file := snapshot.NewFile(h.Name, data, int64(len(data)))
		if text := h.PAXRecords[errorRecord]; text != "" {
			var p problem.Problem
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				return nil, err
			}
			file = &snapshot.File{Path: h.Name, Digest: h.PAXRecords[digestRecord], Err: p}
		}
		if file.Digest != h.PAXRecords[digestRecord] { // tar has checksums of headers alone
			return nil, fmt.Errorf("the content of %q is damaged", h.Name)
		}
		files[h.Name] = file
	}
	if revision == "" || count != fmt.Sprint(len(files)) {
		return nil, errors.New("it is no whole snapshot")
	}
	return snapshot.New(revision, files), nil
}
