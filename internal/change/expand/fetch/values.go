package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// files is the folder of the cache that files of values are in, each named by the SHA-256 of its
// URL.
const files = "values"

// Values is the file of values at a URL: as it is in this run, or offline as it was in the last.
// Its error is a *source.Unavailable.
func (c *Charts) Values(at string) ([]byte, error) {
	return c.values.get(at, func() ([]byte, error) {
		data, err := c.valuesAt(at)
		if err != nil {
			err = explained(err)
		}
		return data, err
	})
}

func (c *Charts) valuesAt(at string) ([]byte, error) {
	sum := sha256.Sum256([]byte(at))
	path := filepath.Join(c.o.Dir, files, hex.EncodeToString(sum[:]))
	if c.o.Offline {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, notKept()
		}
		return data, err
	}
	u, err := url.Parse(at)
	if err != nil { // its text quotes the URL
		return nil, &source.Unavailable{Detail: "its URL cannot be parsed"}
	}
	ctx, done := c.slot(maxChart)
	defer done()
	data, err := c.download(ctx, u, at, "the file", snapshot.MaxFileSize)
	var refused *source.Unavailable
	if errors.As(err, &refused) && refused.Hint == helmCredentials {
		refused.Hint = "Argo CD reads it with no credentials but the URL's"
	}
	if err != nil {
		return nil, err
	}
	return data, write(path, data)
}
