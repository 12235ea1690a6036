package access

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Slots bounds the requests that are worked on at once. One sender gets half of them, and as many
// of its requests wait as there are slots.
type Slots struct {
	total int64
	all   *semaphore.Weighted
	mu    sync.Mutex
	own   map[string]share // by sender, which are tokens: they are few
}

// share is what one sender may have: requests in all, and requests that are worked on.
type share struct{ inside, working *semaphore.Weighted }

// NewSlots makes a number of slots.
func NewSlots(total int) *Slots {
	return &Slots{total: int64(total), all: semaphore.NewWeighted(int64(total)), own: map[string]share{}}
}

// Enter admits a request of a sender to wait, until leave is called.
func (s *Slots) Enter(by string) (leave func(), ok bool) {
	inside := s.of(by).inside
	return func() { inside.Release(1) }, inside.TryAcquire(1)
}

// Take takes a slot for a sender, until release is called. It waits for at most a time, and not at
// all if that is negative.
func (s *Slots) Take(ctx context.Context, by string, atMost time.Duration) (release func(), ok bool) {
	ctx, end := context.WithTimeout(ctx, atMost)
	defer end()
	working := s.of(by).working
	if !acquire(ctx, working) {
		return nil, false
	}
	if !acquire(ctx, s.all) {
		working.Release(1)
		return nil, false
	}
	return func() { s.all.Release(1); working.Release(1) }, true
}

// acquire takes what is free also when no time is left to wait.
func acquire(ctx context.Context, s *semaphore.Weighted) bool {
	return s.TryAcquire(1) || s.Acquire(ctx, 1) == nil
}

// of is the share of a sender.
func (s *Slots) of(by string) share {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, known := s.own[by]
	if !known {
		half := max(1, s.total/2)
		own = share{semaphore.NewWeighted(s.total + half), semaphore.NewWeighted(half)}
		s.own[by] = own
	}
	return own
}
