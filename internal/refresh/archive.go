package refresh

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/state"
)

// An archive is a snapshot as it is kept: a tar file, with what tar has no place for in these records of its headers. Tar has
// checksums of parts of its headers alone, so the first one has a sum of all that the archive says.
const (
	formatRecord   = "ARGOSY.format"
	revisionRecord = "ARGOSY.revision"
	sumRecord      = "ARGOSY.sum"
	digestRecord   = "ARGOSY.digest"
	errorRecord    = "ARGOSY.error"

	archiveFormat = "argosy-snapshot/1"
	homesName     = "homes"
	// maxArchive bounds an archive that is read, in bytes: what a source reads at most (source.Limits), and its headers.
	maxArchive = 1 << 30
)

// sealing is the sum of what an archive says, in the order in which it says it.
type sealing struct{ hash.Hash }

func seal(revision string) sealing {
	s := sealing{sha256.New()}
	s.add(archiveFormat, revision)
	return s
}

func (s sealing) add(texts ...string) {
	for _, text := range texts {
		_, _ = fmt.Fprintf(s, "%d:%s", len(text), text)
	}
}

func (s sealing) text() string { return hex.EncodeToString(s.Sum(nil)) }

// errorText is why a file has no content, which is part of a snapshot; empty for one that has.
func errorText(file *snapshot.File) (string, error) {
	if file.Err == nil {
		return "", nil
	}
	text, err := json.Marshal(problem.From(file.Err, problem.InvalidValue, problem.Pos{File: file.Path})[0])
	return string(text), err
}

// write writes an archive. Homes are its first file: there may be too many members for a header.
func write(w io.Writer, s *snapshot.Snapshot, homes []home) error {
	list, err := json.Marshal(homes)
	if err != nil {
		return err
	}
	sum := seal(s.Revision)
	sum.add(string(list))
	for _, p := range s.Paths() {
		text, err := errorText(s.File(p))
		if err != nil {
			return err
		}
		sum.add(p, s.File(p).Digest, text)
	}
	t := tar.NewWriter(w)
	head := map[string]string{formatRecord: archiveFormat, revisionRecord: s.Revision, sumRecord: sum.text()}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "snapshot", PAXRecords: head}); err != nil {
		return err
	}
	if err := writeEntry(t, homesName, list, nil); err != nil {
		return err
	}
	for _, p := range s.Paths() {
		file := s.File(p)
		records := map[string]string{digestRecord: file.Digest}
		if file.Err != nil {
			if records[errorRecord], err = errorText(file); err != nil {
				return err
			}
		}
		if err := writeEntry(t, p, file.Data, records); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeEntry(t *tar.Writer, name string, data []byte, records map[string]string) error {
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(data)), Format: tar.FormatPAX, PAXRecords: records}); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}

// readArchive reads what write has written, whole or not at all.
func readArchive(r io.Reader) (*snapshot.Snapshot, []home, error) {
	t := tar.NewReader(r)
	head, err := t.Next()
	if err != nil {
		return nil, nil, fmt.Errorf("it is no archive: %w", err)
	}
	if format := head.PAXRecords[formatRecord]; format != archiveFormat {
		return nil, nil, fmt.Errorf("it is of format %q; expected %q", format, archiveFormat)
	}
	revision := head.PAXRecords[revisionRecord]
	sum := seal(revision)
	_, list, err := readEntry(t)
	if err != nil {
		return nil, nil, fmt.Errorf("its list of homes: %w", err)
	}
	sum.add(string(list))
	files := map[string]*snapshot.File{}
	for last := ""; ; {
		h, data, err := readEntry(t)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		file, err := fileOf(h, data)
		if err != nil {
			return nil, nil, err
		}
		if h.Name <= last {
			return nil, nil, fmt.Errorf("%q is there twice, or not in its place", h.Name)
		}
		files[h.Name], last = file, h.Name
		sum.add(h.Name, file.Digest, h.PAXRecords[errorRecord])
	}
	if head.PAXRecords[sumRecord] != sum.text() {
		return nil, nil, errors.New("it is not what was written: its sum is another")
	}
	var homes []home
	if err = state.Unmarshal(list, &homes); err == nil {
		err = checkHomes(homes)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("its list of homes: %w", err)
	}
	return snapshot.New(revision, files), homes, nil
}

// readEntry is the next file. A sparse one could stand for more than there is.
func readEntry(t *tar.Reader) (*tar.Header, []byte, error) {
	h, err := t.Next()
	if err != nil {
		return nil, nil, err
	}
	sparse := func(key string) bool { return strings.HasPrefix(key, "GNU.sparse.") }
	if h.Typeflag != tar.TypeReg || slices.ContainsFunc(slices.Collect(maps.Keys(h.PAXRecords)), sparse) {
		return nil, nil, fmt.Errorf("%q is no plain file", h.Name)
	}
	data, err := io.ReadAll(t)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return h, data, err
}

// fileOf is an entry as a file of a snapshot.
func fileOf(h *tar.Header, data []byte) (*snapshot.File, error) {
	if !fs.ValidPath(h.Name) {
		return nil, fmt.Errorf("%q is no path of a repository", h.Name)
	}
	file := snapshot.NewFile(h.Name, data, int64(len(data)))
	if text := h.PAXRecords[errorRecord]; text != "" {
		var p problem.Problem
		if err := state.Unmarshal([]byte(text), &p); err != nil {
			return nil, err
		}
		file = &snapshot.File{Path: h.Name, Digest: h.PAXRecords[digestRecord], Err: p}
	}
	if file.Digest != h.PAXRecords[digestRecord] || file.Err != nil && len(data) > 0 {
		return nil, fmt.Errorf("the content of %q is damaged", h.Name)
	}
	return file, nil
}
