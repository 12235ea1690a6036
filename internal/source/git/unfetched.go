package git

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/disk"
)

// unfetchedFile lists the blobs that a server has left out of a mirror for their size, one per
// line.
const unfetchedFile = "argosy-unfetched"

// filterOf returns the option that makes a server leave out blobs beyond a limit of bytes. A server
// without filters sends all; then the limits of a git process apply.
func filterOf(limit int64) string { return "--filter=blob:limit=" + strconv.FormatInt(limit+1, 10) }

// acceptMissing accepts that the mirror lacks blobs: after a fetch it lists them, because the
// server has left them out. Any other missing blob means damage.
func (r *Repository) acceptMissing(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	path := filepath.Join(r.mirror, unfetchedFile)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listed := strings.Fields(string(data))
	known := make(map[string]bool, len(listed))
	for _, id := range listed {
		known[id] = true
	}
	more := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		isKnown := known[id]
		known[id] = true
		return isKnown
	})
	switch {
	case len(more) == 0:
		return nil
	case !r.fresh:
		return errCorrupt
	}
	return disk.Write(path, ".new-", []byte(strings.Join(append(listed, more...), "\n")+"\n"))
}

// forgetPromise removes the promise that a server sends missing objects from the mirror's
// configuration: git would request them whenever it reads a tree.
func (r *Repository) forgetPromise() error {
	path := filepath.Join(r.mirror, "config")
	data, err := os.ReadFile(path)
	core, more, _ := bytes.Cut(data, []byte("\n["))
	if err != nil || len(more) == 0 {
		return nil //nolint:nilerr // git reports a mirror without configuration
	}
	return disk.Write(path, ".new-", core, []byte{'\n'})
}
