package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// The limits of a chart with all archives in it: the bytes and number of its files, how deep
// archives nest, and the length and depth of a file's name.
const (
	maxUnpacked      = 100 << 20
	maxUnpackedFiles = 10_000
	maxNested        = 4
	maxFileName      = 1024
	maxFolders       = 64
)

// CheckArchive returns an error for an archive that is not a chart or unpacks to more than the
// limits.
//
// It reads names as Helm does. Helm bounds each archive for itself and follows archives in archives
// without end. (helm.sh/helm/v3 v3.18, pkg/chart/loader, LoadArchiveFiles and LoadFiles)
func CheckArchive(data []byte) error {
	return new(unpacked).archive(bytes.NewReader(data), 0)
}

// CheckFiles returns an error for a chart's folder that is, or unpacks to, more than the limits.
func CheckFiles(files []*snapshot.File) error {
	var u unpacked
	for _, f := range files {
		if err := u.add(f.Path, int64(len(f.Data))); err != nil {
			return err
		}
		if isPackedChart(f.Path) {
			if err := u.archive(bytes.NewReader(f.Data), 1); errors.As(err, new(limitError)) {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
		}
	}
	return nil
}

// limitError is a limit that an archive exceeds.
type limitError string

func (e limitError) Error() string { return string(e) }

// unpacked counts the files of a chart, including the files of all archives in it.
type unpacked struct {
	bytes, stream int64
	files         int
}

// add counts a file.
func (u *unpacked) add(name string, size int64) error {
	u.files++
	u.bytes += size
	switch {
	case u.files > maxUnpackedFiles:
		return limitError(fmt.Sprintf("it has more than %d files, which is the limit", maxUnpackedFiles))
	case size < 0 || u.bytes > maxUnpacked:
		return limitError(fmt.Sprintf("it has more than %d bytes when it is unpacked, which is the limit", maxUnpacked))
	case len(name) > maxFileName:
		return limitError(fmt.Sprintf("it has a file whose name has %d bytes; the limit is %d", len(name), maxFileName))
	case strings.Count(name, "/") > maxFolders:
		return limitError(fmt.Sprintf("it has a file %d folders deep; the limit is %d", strings.Count(name, "/"), maxFolders))
	}
	return nil
}

// read counts the bytes that an archive unpacks to, including headers and holes.
func (u *unpacked) read(n int) error {
	if u.stream += int64(n); u.stream > 2*maxUnpacked {
		return limitError(fmt.Sprintf("it has more than %d bytes when it is unpacked, which is the limit", maxUnpacked))
	}
	return nil
}

// archive counts the files of an archive. In a nested archive only limits are errors: Helm reports
// the others.
func (u *unpacked) archive(packed io.Reader, depth int) error {
	if depth > maxNested {
		return limitError(fmt.Sprintf("it has archives in archives; the limit is %d", maxNested))
	}
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		return errors.New("it is not a packed chart")
	}
	in := tar.NewReader(&counted{zipped, u})
	for {
		head, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, new(limitError)):
			return err
		case err != nil:
			return fmt.Errorf("it cannot be unpacked: %w", err)
		}
		name := entryName(head.Name)
		if err := u.add(name, head.Size); err != nil {
			return err
		}
		if isPackedChart(name) {
			if err := u.archive(in, depth+1); errors.As(err, new(limitError)) {
				return err
			}
		}
	}
}

// entryName returns the name that Helm gives to an archive's entry: without the first folder,
// cleaned.
func entryName(name string) string {
	delimiter := "/"
	if strings.ContainsRune(name, '\\') {
		delimiter = `\`
	}
	_, name, _ = strings.Cut(name, delimiter)
	return path.Clean(strings.ReplaceAll(name, delimiter, "/"))
}

// isPackedChart reports whether Helm takes a file of a chart for an archive and unpacks it.
func isPackedChart(name string) bool {
	return path.Ext(name) == ".tgz" && path.Base(path.Dir(name)) == "charts"
}

// counted counts the bytes read from an archive.
type counted struct {
	r io.Reader
	u *unpacked
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if limit := c.u.read(n); limit != nil {
		return 0, limit
	}
	return n, err
}

// File returns a file of a chart by its path in the chart; nil if there is none.
func (a Archive) File(path string) (file *snapshot.File, err error) {
	err = a.each(func(name string, text []byte) bool {
		if name == path {
			file = snapshot.NewFile(path, text, snapshot.MaxFileSize)
		}
		return file == nil
	})
	return file, err
}

// each visits the files of a chart until visit returns false.
func (a Archive) each(visit func(name string, text []byte) bool) error {
	data, err := a.Open()
	if err != nil {
		return err
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return errors.New("it is not a packed chart")
	}
	in := tar.NewReader(zipped)
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(io.LimitReader(in, maxUnpacked))
		}
		if err != nil {
			return fmt.Errorf("it cannot be unpacked: %w", err)
		}
		if !visit(entryName(head.Name), text) {
			return nil
		}
	}
}
