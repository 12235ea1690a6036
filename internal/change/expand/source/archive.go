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

// maxUnpacked limits the bytes that a chart's archive unpacks to. Helm limits each archive within
// it, and the process that renders it is limited as a whole (package sandbox).
const maxUnpacked = 100 << 20

// CheckArchive returns an error for an archive that is not a chart or unpacks to more than the
// limit.
func CheckArchive(data []byte) error {
	return eachFile(data, func(string, io.Reader) (bool, error) { return true, nil })
}

// File returns a file of a chart by its path in the chart; nil if there is none.
func (a Archive) File(path string) (file *snapshot.File, err error) {
	data, err := a.Open()
	if err != nil {
		return nil, err
	}
	err = eachFile(data, func(name string, r io.Reader) (bool, error) {
		if name != path {
			return true, nil
		}
		text, err := io.ReadAll(r)
		file = snapshot.NewFile(path, text, snapshot.MaxFileSize)
		return false, err
	})
	return file, err
}

// eachFile visits the files of an archive, with the names that Helm gives them, until visit returns
// false.
func eachFile(data []byte, visit func(name string, r io.Reader) (bool, error)) error {
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return errors.New("it is not a packed chart")
	}
	unpacked := &io.LimitedReader{R: zipped, N: maxUnpacked + 1}
	in, more := tar.NewReader(unpacked), true
	for more && err == nil {
		var head *tar.Header
		if head, err = in.Next(); err == nil {
			more, err = visit(entryName(head.Name), in)
		}
	}
	switch {
	case unpacked.N <= 0:
		return fmt.Errorf("it has more than %d bytes when it is unpacked, which is the limit", maxUnpacked)
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("it cannot be unpacked: %w", err)
	}
	return nil
}

// entryName returns the name that Helm gives to an archive's entry: without the first folder,
// cleaned. (helm.sh/helm/v3 v3.18, pkg/chart/loader, LoadArchiveFiles)
func entryName(name string) string {
	delimiter := "/"
	if strings.ContainsRune(name, '\\') {
		delimiter = `\`
	}
	_, name, _ = strings.Cut(name, delimiter)
	return path.Clean(strings.ReplaceAll(name, delimiter, "/"))
}
