package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/disk"
)

// generations are the highest generations of followed records that this process has read or
// written. With a file, they survive a restart.
type generations struct {
	mu   sync.Mutex
	path string
	seen map[string]int
}

// Anchor keeps the generations of documents in a file. Whoever can write the objects should not be
// able to write the file. An error means that the file cannot be read: the store then knows only
// the generations that this process sees.
func (s *Store) Anchor(path string) error {
	g := &s.generations
	g.mu.Lock()
	defer g.mu.Unlock()
	g.path = path
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var seen map[string]int
	if err == nil {
		err = json.Unmarshal(data, &seen)
	}
	if err != nil {
		return fmt.Errorf("generations of records: %w", err)
	}
	maps.Copy(g.seen, seen)
	return nil
}

// follow starts to remember a record's generations.
func (s *Store) follow(name string) {
	g := &s.generations
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, is := g.seen[name]; !is {
		g.seen[name] = 0
	}
}

// check refuses a generation of a followed record that is older than the highest one, and remembers
// a newer one. It does nothing without keys: whoever can restore an older record could then write
// any.
func (s *Store) check(name string, generation int) error {
	g := &s.generations
	g.mu.Lock()
	defer g.mu.Unlock()
	highest, isFollowed := g.seen[name]
	switch {
	case !isFollowed || len(s.keys) == 0 || generation == highest:
		return nil
	case generation < highest:
		return &Damaged{name, fmt.Sprintf("it has generation %d, and there was generation %d: somebody has put an older record back, or deleted a newer one", generation, highest)}
	}
	g.seen[name] = generation
	if g.path != "" {
		if data, err := json.Marshal(g.seen); err == nil {
			_ = disk.Write(g.path, ".generations-", data) // an older file protects less, but refuses no good record
		}
	}
	return nil
}

func (g *generations) highest(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen[name]
}
