package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/internal/atomicfile"
)

const (
	folderFormat  = "argosy-record"
	folderVersion = "1"
	suffix        = ".record"
	temporary     = ".record-"
	// maxFile bounds a record of a folder, in bytes.
	maxFile = 512 << 20
)

// Folder is a store of files, for one process. The first line of a file has its format, version and
// checksum.
type Folder struct {
	dir string
	mu  sync.Mutex
}

// NewFolder opens a folder, and creates it if need be.
func NewFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	left, err := filepath.Glob(filepath.Join(dir, temporary+"*"))
	for _, path := range left { // of a process that was killed while it wrote
		err = errors.Join(err, os.Remove(path))
	}
	return &Folder{dir: dir}, err
}

func (f *Folder) String() string { return "folder " + f.dir }

// Shared is false: a folder belongs to one process.
func (f *Folder) Shared() bool { return false }

func (f *Folder) path(name string) string { return filepath.Join(f.dir, name+suffix) }

// Read reads a file, whole or not at all. The version is its checksum. A file that the disk does
// not give is damaged: waiting would not help.
func (f *Folder) Read(_ context.Context, name string) ([]byte, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read(name)
}

func (f *Folder) read(name string) ([]byte, string, error) {
	info, err := os.Stat(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", ErrNotFound
	}
	if err != nil {
		return nil, "", &Damaged{name, err.Error()}
	}
	if info.Size() > maxFile {
		return nil, "", &Damaged{name, fmt.Sprintf("it has %d bytes; the limit is %d", info.Size(), maxFile)}
	}
	data, err := os.ReadFile(f.path(name))
	if err != nil {
		return nil, "", &Damaged{name, err.Error()}
	}
	head, body, _ := bytes.Cut(data, []byte{'\n'})
	words := strings.Fields(string(head))
	switch {
	case len(words) != 3 || words[0] != folderFormat:
		return nil, "", &Damaged{name, "it is no record"}
	case words[1] != folderVersion:
		return nil, "", &Damaged{name, fmt.Sprintf("it is of version %q; expected %q", words[1], folderVersion)}
	case words[2] != checksum(body):
		return nil, "", &Damaged{name, "its checksum is wrong"}
	}
	return body, words[2], nil
}

// Write writes a file in one step, also in place of a damaged one.
func (f *Folder) Write(_ context.Context, name string, data []byte, version string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, current, err := f.read(name); !IsDamaged(err) && current != version {
		return "", ErrConflict
	}
	if len(data) > maxFile {
		return "", &TooLarge{name, len(data), maxFile}
	}
	sum := checksum(data)
	head := fmt.Appendf(nil, "%s %s %s\n", folderFormat, folderVersion, sum)
	if err := atomicfile.Write(f.path(name), temporary, head, data); err != nil {
		return "", err
	}
	return sum, nil
}

// Remove removes a file.
func (f *Folder) Remove(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Names lists the records.
func (f *Folder) Names(context.Context) ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	var out []string
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), suffix); is {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, err
}
