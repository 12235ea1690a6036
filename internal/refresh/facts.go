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
)

// FactsProvider is where facts of clusters come from.
type FactsProvider interface {
	// Current is what is known now, and whether it is complete; it is not before the provider's first look.
	Current() (facts.Set, bool)
	// Err is why Current is not the newest, nil when it is.
	Err() error
	// Run keeps Current up to date and calls changed after each change of Current or Err, until the context ends.
	Run(ctx context.Context, changed func())
	// Refresh makes Run look now. It does not wait.
	Refresh()
}

// StaticFacts are facts that never change. The zero value is no facts: every member counts as registered.
type StaticFacts struct{ Set facts.Set }

// Current is the set.
func (s StaticFacts) Current() (facts.Set, bool) { return s.Set, true }

// Err is nil.
func (StaticFacts) Err() error { return nil }

// Run waits for the context.
func (StaticFacts) Run(ctx context.Context, _ func()) { <-ctx.Done() }

// Refresh does nothing.
func (StaticFacts) Refresh() {}

const (
	factsInterval = 5 * time.Second
	maxFactsFile  = 16 << 20
)

// FileFacts are facts of a file, which is read again when it changes. A file that cannot be read or is wrong leaves
// the last good facts in place.
type FileFacts struct {
	path string
	poke chan struct{}

	mu   sync.Mutex
	data []byte
	set  facts.Set
	err  error
}

// NewFileFacts reads a facts file; it has to be good now.
func NewFileFacts(path string) (*FileFacts, error) {
	f := &FileFacts{path: path, poke: make(chan struct{}, 1)}
	f.look()
	if f.err != nil {
		return nil, f.err
	}
	return f, nil
}

// Current is what the file said when it was last good.
func (f *FileFacts) Current() (facts.Set, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set, true
}

// Err is what is wrong with the file now.
func (f *FileFacts) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Run reads the file every few seconds: it is small, and its times do not tell reliably (mounted ConfigMaps).
func (f *FileFacts) Run(ctx context.Context, changed func()) {
	ticker := time.NewTicker(factsInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.poke:
		}
		if f.look() {
			changed()
		}
	}
}

// Refresh makes Run read the file now.
func (f *FileFacts) Refresh() {
	select {
	case f.poke <- struct{}{}:
	default: // one is due already
	}
}

// look reads the file and reports whether anything is different from before.
func (f *FileFacts) look() bool {
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
