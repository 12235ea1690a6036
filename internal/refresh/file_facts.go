package refresh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/trigger"
)

const (
	factsInterval = 5 * time.Second
	maxFactsFile  = 16 << 20
)

// FileFacts are the facts of a file, which is polled. An invalid file leaves the last good facts in
// place.
type FileFacts struct {
	path    string
	trigger trigger.Trigger

	mu   sync.Mutex
	data []byte
	set  facts.Set
	err  error
}

// NewFileFacts reads a facts file; it has to be valid now.
func NewFileFacts(path string) (*FileFacts, error) {
	f := &FileFacts{path: path, trigger: trigger.New()}
	f.poll()
	if f.err != nil {
		return nil, f.err
	}
	return f, nil
}

// Current returns the facts of the last valid file.
func (f *FileFacts) Current() (facts.Set, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set, true
}

// Err is why the file is invalid now.
func (f *FileFacts) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Run reads the file every few seconds: it is small, and the times of mounted ConfigMaps are not
// reliable.
func (f *FileFacts) Run(ctx context.Context, changed func()) {
	ticker := time.NewTicker(factsInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.trigger:
		}
		if f.poll() {
			changed()
		}
	}
}

// Refresh makes Run poll now.
func (f *FileFacts) Refresh() { f.trigger.Fire() }

// poll reads the file and reports whether anything has changed.
func (f *FileFacts) poll() bool {
	data, err := readFile(f.path, maxFactsFile)
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.err
	if err == nil {
		if before == nil && f.data != nil && bytes.Equal(data, f.data) {
			return false
		}
		var set facts.Set
		if set, err = facts.Parse(f.path, data); err == nil {
			f.data, f.set, f.err = data, set, nil
			return true
		}
	}
	f.err = err
	return before == nil || before.Error() != err.Error()
}

// readFile reads a file of at most limit bytes; the error has the same text each time.
func readFile(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, fileError(path, err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("facts file %q is larger than %d bytes", path, limit)
	case data == nil:
		data = []byte{}
	}
	return data, nil
}

func fileError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("facts file %q: %w", path, err)
}
