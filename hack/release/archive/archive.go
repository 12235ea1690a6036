// Package archive writes files as tar archives: the same files are the same bytes, wherever and
// whenever they are written.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// File is a regular file, a symbolic link, or a folder (its mode says so).
type File struct {
	Content []byte
	Mode    int64
	Link    string // of a symbolic link
	Folder  bool
	Owner   int
}

// Files are a tree, by path without a leading slash. Folders above a file need no entry.
type Files map[string]File

// Tar writes a tree, sorted, with one time for everything.
func (f Files) Tar(w io.Writer, at time.Time) error {
	all := maps.Clone(f)
	for name := range f {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, is := all[dir]; !is {
				all[dir] = File{Folder: true, Mode: 0o755}
			}
		}
	}
	t := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		file := all[name]
		h := &tar.Header{
			Name: name, Mode: file.Mode, Uid: file.Owner, Gid: file.Owner, ModTime: at.UTC(),
			Typeflag: tar.TypeReg, Size: int64(len(file.Content)), Format: tar.FormatUSTAR,
		}
		switch {
		case file.Folder:
			h.Typeflag, h.Name = tar.TypeDir, strings.TrimSuffix(name, "/")+"/"
		case file.Link != "":
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, file.Link, 0o777
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(file.Content); err != nil {
			return err
		}
	}
	return t.Close()
}

// TarGz is the compressed archive of a tree.
func (f Files) TarGz(at time.Time) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := f.Tar(z, at); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
