package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// unpacks refuses an archive that is none, or too much when it is unpacked, with the archives of
// dependencies that it holds: Helm's loader knows no limits.
func unpacks(data []byte) error {
	budget := int64(maxUnpacked)
	return unpack(bytes.NewReader(data), &budget, 0)
}

// maxNested is how deep archives may be in archives.
const maxNested = 4

func unpack(packed io.Reader, budget *int64, depth int) error {
	if depth > maxNested {
		return fmt.Errorf("it has archives in archives; the limit is %d", maxNested)
	}
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		return errors.New("it is no packed chart")
	}
	limited := &bounded{zipped, budget}
	files := tar.NewReader(limited)
	for {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && strings.HasSuffix(head.Name, ".tgz") {
			err = unpack(files, budget, depth+1)
		}
		switch {
		case errors.Is(err, errBudget) && depth > 0:
			return errBudget
		case errors.Is(err, errBudget):
			return fmt.Errorf("it has more than %d bytes when it is unpacked, which is the limit", int64(maxUnpacked))
		case err != nil && depth == 0:
			return fmt.Errorf("it cannot be unpacked: %w", err)
		case err != nil:
			return err
		}
	}
}

var errBudget = errors.New("too many bytes")

// bounded reads as many bytes as the budget has.
type bounded struct {
	r      io.Reader
	budget *int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if *b.budget -= int64(n); *b.budget < 0 {
		return 0, errBudget
	}
	return n, err
}
