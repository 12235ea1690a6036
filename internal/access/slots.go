package access

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
)

// Slots bounds the requests that are worked on at once, and shares them between their senders.
//
// A sender gets a slot if it then has no more than are left free: one that takes all it can get
// leaves half of them, two leave a third. The last quarter is for senders with priority alone. So
// a flood by few senders leaves slots for everybody, and one by all others leaves slots for those
// with priority.
type Slots[K comparable] struct {
	mu       sync.Mutex
	total    int
	taken    int
	senders  map[K]*sender
	released chan struct{} // closed when a slot is released
}

// sender is who has slots, or waits for them.
type sender struct{ slots, waiting int }

// NewSlots makes a number of slots.
func NewSlots[K comparable](total int) *Slots[K] {
	return &Slots[K]{total: total, senders: map[K]*sender{}, released: make(chan struct{})}
}

// Take takes a slot, which Release gives back. It waits for at most a time, and not at all if that
// is negative or as many of the sender's requests wait as there are slots.
func (s *Slots[K]) Take(ctx context.Context, by K, priority bool, atMost time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.senders[by]
	if own == nil {
		own = &sender{}
		s.senders[by] = own
	}
	defer s.forget(by, own)
	if !s.admits(own, priority) {
		if atMost < 0 || own.waiting >= s.total || !s.wait(ctx, own, priority, atMost) {
			return false
		}
	}
	own.slots++
	s.taken++
	return true
}

// Release gives a slot back.
func (s *Slots[K]) Release(by K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.senders[by]
	own.slots--
	s.taken--
	s.forget(by, own)
	close(s.released)
	s.released = make(chan struct{})
}

// admits reports whether a sender may take a slot now.
func (s *Slots[K]) admits(own *sender, priority bool) bool {
	free := s.total - s.taken
	if !priority {
		free -= s.total / 4
	}
	return own.slots < free
}

// wait waits until the sender may take a slot, with the lock held before and after.
func (s *Slots[K]) wait(ctx context.Context, own *sender, priority bool, atMost time.Duration) bool {
	own.waiting++
	defer func() { own.waiting-- }()
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	for !s.admits(own, priority) {
		released := s.released
		s.mu.Unlock()
		var ended bool
		select {
		case <-released:
		case <-timer.C:
			ended = true
		case <-ctx.Done():
			ended = true
		}
		s.mu.Lock()
		if ended {
			return false
		}
	}
	return true
}

// forget forgets a sender that has no slots and waits for none.
func (s *Slots[K]) forget(by K, own *sender) {
	if *own == (sender{}) {
		delete(s.senders, by)
	}
}

// HasPriority reports whether an engine of the platform may present the token: it may query the
// parameter sets of all tenants, also for the hub's own engine.
func (b *Bearer) HasPriority() bool {
	if b == nil || b.scope == nil {
		return b != nil
	}
	return b.scope.Tenants == nil && allows(b.scope.Owners, fleet.OwnerHub) && (b.Route(GetParams) == nil || b.Route(FluxInputs) == nil || b.Route(Registry) == nil)
}

// Site is the address that a request comes from; of IPv6 it is the network of one site.
func Site(remote string) netip.Prefix { return prefixOf(remote) }
