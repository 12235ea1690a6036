package web

import (
	"context"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

const (
	// observeEvery is how often the statuses of changed components are checked.
	observeEvery = 2 * time.Second
	// recordQuiet is how long changes are collected before a write, and recordEvery how often the
	// records of other replicas are read.
	recordQuiet = 5 * time.Second
	recordEvery = time.Minute
)

// newRecord keeps the timeline in the store.
func (s *Site) newRecord() *store.Replicated[overview.Remembered] {
	o := store.Options[overview.Remembered]{
		Merge: s.history.Merge, Value: s.history.Remembered, Log: s.o.Logger, Loss: "the timeline starts again", Quiet: recordQuiet,
	}
	if s.o.Store != nil && s.o.Store.Shared() {
		o.Interval = recordEvery
	}
	return store.Replicate(s.o.Store, "timeline", 1, o)
}

// follow records what each new state changes, and when it runs, until the context ends.
func (s *Site) follow(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { s.saved.Run(ctx) })
	running.Go(func() { s.sessions.saved.Run(ctx) })
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	var seen uint64
	for {
		changed := s.o.Fleet.Changed()
		run.Caught(s.o.Logger, "writing the timeline", func() { seen = s.observe(seen) })
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// observe records the state that is served now and the statuses, unless their version is the last
// one seen. It returns their version.
func (s *Site) observe(seen uint64) uint64 {
	s.remember()
	if live := s.o.Live(); live.Version != seen {
		seen = live.Version
		s.save(s.history.Observe(live, s.o.Now()))
	}
	return seen
}

// remember records the state that is served now. The lock keeps the order of the states.
func (s *Site) remember() {
	s.remembering.Lock()
	defer s.remembering.Unlock()
	if st := s.o.Fleet.State(); st != nil {
		s.save(s.history.Record(s.index.Of(st), s.o.Now()))
	}
}

// save schedules a write of the timeline if there is news.
func (s *Site) save(news bool) {
	if news {
		s.saved.Changed()
	}
}
