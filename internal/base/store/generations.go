package store

import (
	"fmt"
	"sync"
)

// generations are the highest generations of followed records that this process has read or
// written.
type generations struct {
	mu   sync.Mutex
	seen map[string]int
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
	return nil
}

func (g *generations) highest(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen[name]
}
