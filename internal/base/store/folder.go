package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/disk"
)

const (
	suffix    = ".record"
	temporary = ".record-"
)

// Folder holds objects in files, for one process.
type Folder struct {
	dir string
	mu  sync.Mutex // held while a file changes
}

// NewFolder opens a folder, and creates it if necessary.
func NewFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	left, err := filepath.Glob(filepath.Join(dir, temporary+"*"))
	for _, path := range left { // files of a process that was killed while it wrote
		err = errors.Join(err, os.Remove(path))
	}
	return &Folder{dir: dir}, err
}

func (f *Folder) String() string { return "folder " + f.dir }

// Shared returns false: a folder belongs to one process.
func (f *Folder) Shared() bool { return false }

// MaxSize returns more bytes than a record may have.
func (f *Folder) MaxSize() int { return 2 * maxRecord }

func (f *Folder) path(name string) string { return filepath.Join(f.dir, name+suffix) }

// Get reads a file. The version is its checksum. A file that the disk cannot read is damaged:
// waiting would not help.
func (f *Folder) Get(_ context.Context, name string) ([]byte, string, error) {
	info, err := os.Stat(f.path(name))
	if err == nil && info.Size() > int64(f.MaxSize()) {
		err = fmt.Errorf("it has %d bytes; the limit is %d", info.Size(), f.MaxSize())
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(f.path(name))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", ErrNotFound
	case err != nil:
		return nil, "", &Damaged{name, err.Error()}
	}
	return data, checksum(data), nil
}

// Put writes a file in one step. It also replaces a file that cannot be read.
func (f *Folder) Put(ctx context.Context, name string, data []byte, version string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, now, err := f.Get(ctx, name); !IsDamaged(err) && now != version {
		return "", ErrConflict
	}
	return checksum(data), disk.Write(f.path(name), temporary, data)
}

// Delete removes a file.
func (f *Folder) Delete(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return os.RemoveAll(f.path(name))
}

// List lists the files.
func (f *Folder) List(context.Context) ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	var out []string
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), suffix); is {
			out = append(out, name)
		}
	}
	return out, err
}
