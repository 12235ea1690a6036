package refresh

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
)

// Snapshots are records of snapshots. A revision names its content, so each one has a record of its
// own, which changes by Renew alone: a tar archive of its files. They are for one goroutine.
type Snapshots struct {
	store  *store.Store
	prefix string
	// damaged are the records to write anew if they are needed: they could not be read, or differ.
	damaged map[string]bool
}

// NewSnapshots describes records by their kind and the version of their format.
func NewSnapshots(s *store.Store, kind string, format int) *Snapshots {
	return &Snapshots{store: s, prefix: store.Name(kind, format) + "-", damaged: map[string]bool{}}
}

// Record names the record of a revision.
func (s *Snapshots) Record(revision string) string {
	sum := sha256.Sum256([]byte(revision))
	return s.prefix + hex.EncodeToString(sum[:10])
}

// Unneeded returns those of the named records that are of snapshots and not needed.
func (s *Snapshots) Unneeded(names []string, needed map[string]*snapshot.Snapshot) (out []string) {
	for _, name := range names {
		if _, is := needed[name]; !is && strings.HasPrefix(name, s.prefix) {
			out = append(out, name)
		}
	}
	return out
}

// Read reads the snapshot of a revision, which another record names: if it is missing, it is
// damaged. Files that the other snapshots have, too, are the same in memory.
func (s *Snapshots) Read(ctx context.Context, revision string, others ...*snapshot.Snapshot) (*snapshot.Snapshot, error) {
	name := s.Record(revision)
	data, _, err := s.store.Read(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		err = &store.Damaged{Record: name, Why: "it is missing"}
	}
	var out *snapshot.Snapshot
	if err == nil {
		if out, err = unarchive(revision, data, others...); err != nil {
			err = &store.Damaged{Record: name, Why: err.Error()}
		}
	}
	if store.IsDamaged(err) {
		s.damaged[name] = true
	}
	return out, err
}

// Renew has the next Write replace the record of a revision.
func (s *Snapshots) Renew(revision string) { s.damaged[s.Record(revision)] = true }

// Write writes those of the needed snapshots that are missing or damaged, by their records, and
// returns the names of all records before. A snapshot is nil if it is not at hand.
func (s *Snapshots) Write(ctx context.Context, needed map[string]*snapshot.Snapshot) ([]string, error) {
	names, err := s.store.Names(ctx)
	if err != nil {
		return nil, err
	}
	for name, files := range needed {
		isThere, version := slices.Contains(names, name), ""
		if files == nil || isThere && !s.damaged[name] {
			continue
		}
		if isThere {
			if _, version, err = s.store.Read(ctx, name); err != nil && !store.IsDamaged(err) {
				return nil, err
			}
		}
		data, err := archive(files)
		if err == nil {
			_, err = s.store.Write(ctx, name, data, version)
		}
		if err != nil && !errors.Is(err, store.ErrConflict) { // a replica has written it
			return nil, err
		}
		delete(s.damaged, name)
	}
	return names, nil
}

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

// maxCopies bounds the contents of an archive that it has already, in bytes: a commit may have one
// under very many names, and its limit of bytes counts it once.
const maxCopies = 16 << 20

// archive writes a snapshot. Equal snapshots give equal bytes. Beyond maxCopies, a file with the
// contents of an earlier one is a link to it.
func archive(s *snapshot.Snapshot) ([]byte, error) {
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
	first, copies := map[string]string{}, 0 // the first path of each content, by digest
	for _, file := range s.FilesUnder("") {
		data := file.Data
		head := &tar.Header{Name: file.Path, Mode: 0o600}
		if path, is := first[file.Digest]; is && file.Err == nil {
			if copies += len(data); copies > maxCopies {
				head.Typeflag, head.Linkname, data = tar.TypeLink, path, nil
			}
		} else if file.Err == nil {
			first[file.Digest] = file.Path
		}
		head.Size = int64(len(data))
		if file.Err != nil {
			why, err := json.Marshal(problem.From(file.Err, problem.InvalidValue, problem.Pos{File: file.Path})[0])
			failed = errors.Join(failed, err)
			head.PAXRecords = map[string]string{problemKey: string(why), digestKey: file.Digest}
			if file.Folder {
				head.PAXRecords[folderKey] = "true"
			}
		}
		err := w.WriteHeader(head)
		_, unwritten := w.Write(data)
		failed = errors.Join(failed, err, unwritten)
	}
	err := errors.Join(failed, w.Close())
	return b.Bytes(), err
}

// unarchive reads what archive has written of a revision; anything else is an error.
func unarchive(revision string, data []byte, others ...*snapshot.Snapshot) (*snapshot.Snapshot, error) {
	files, about, err := readArchive(revision, data)
	if err != nil {
		return nil, err
	}
	for _, o := range others {
		share(files, o)
	}
	if about[partsKey] == "" {
		return snapshot.New(revision, files), nil
	}
	var parts []snapshot.Part
	if err := json.Unmarshal([]byte(about[partsKey]), &parts); err != nil {
		return nil, err
	}
	s := snapshot.Split(about[mainKey], files, parts)
	if s.Revision != revision {
		return nil, errors.New("its mounts are others")
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
		case head.Typeflag == tar.TypeLink && head.Name > last && files[head.Linkname] != nil && files[head.Linkname].Err == nil:
			files[head.Name], last = files[head.Linkname].At(head.Name), head.Name
			continue
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
