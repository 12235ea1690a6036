package web

import (
	"context"
	"time"
)

// observeEvery is how often the statuses of changed components are looked at.
const observeEvery = 2 * time.Second

// follow remembers what each new state changes, and when it runs, until the context ends.
func (s *Site) follow(ctx context.Context) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	var seen uint64
	for {
		changed := s.o.Fleet.Changed()
		s.remember()
		if live := s.o.Live(); live.Version != seen {
			seen = live.Version
			s.history.Observe(live, s.o.Now())
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// remember takes in the state that is served now. The lock keeps the order of the states.
func (s *Site) remember() {
	s.remembering.Lock()
	defer s.remembering.Unlock()
	if st := s.o.Fleet.State(); st != nil {
		s.history.Record(s.index.Of(st), s.o.Now())
	}
}
