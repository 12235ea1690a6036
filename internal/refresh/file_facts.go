package refresh

import (
	"context"
	"time"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

const (
	factsInterval = 5 * time.Second
	maxFactsFile  = 16 << 20
)

// FileFacts are the facts of a file, which is polled. An invalid file leaves the last good facts in
// place.
type FileFacts struct {
	file    *disk.File[facts.Set]
	trigger run.Trigger
}

// NewFileFacts reads a facts file; it has to be valid now.
func NewFileFacts(path string) (*FileFacts, error) {
	f, err := disk.Open(disk.Options[facts.Set]{
		Sources: []disk.Source{{Kind: "facts file", Path: path, Limit: maxFactsFile}},
		Parse:   func(contents [][]byte) (facts.Set, error) { return facts.Parse(path, contents[0]) },
	})
	if err != nil {
		return nil, err
	}
	return &FileFacts{f, run.NewTrigger()}, nil
}

// Current returns the facts of the last valid file.
func (f *FileFacts) Current() (facts.Set, bool) {
	set, _ := f.file.Last()
	return set, true
}

// Err is why the file is invalid now.
func (f *FileFacts) Err() error {
	_, err := f.file.Last()
	return err
}

// Run reads the file every few seconds.
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
		if f.file.Reload() {
			changed()
		}
	}
}

// Refresh makes Run poll now.
func (f *FileFacts) Refresh() { f.trigger.Fire() }
