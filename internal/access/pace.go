package access

import (
	"container/list"
	"context"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Pace waits until the token's bearer may ask, at most so long (not at all if that is negative). Otherwise it says how
// long that would be, without waiting.
func (g *Grant) Pace(ctx context.Context, atMost time.Duration) (retry time.Duration, ok bool) {
	if g == nil || g.limiter == nil {
		return time.Second, false
	}
	r := g.limiter.Reserve()
	delay := r.Delay()
	switch {
	case delay == 0:
		return 0, true
	case delay > atMost:
		r.Cancel()
		return delay, false
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return 0, true
	case <-ctx.Done():
		r.Cancel()
		return delay, false
	}
}

// Defaults of Attempts.
const (
	DefaultFailureRate  = 10
	DefaultFailureBurst = 1000
	maxAddresses        = 4096
)

// Attempts counts failed attempts by the address that they come from. It remembers so many addresses and no more (rule
// 9): a new one takes the place of the one that has not been heard of for the longest time.
type Attempts struct {
	rate  rate.Limit
	burst int

	mu      sync.Mutex
	byPlace map[netip.Prefix]*list.Element
	recent  *list.List // of *place, the newest in front
}

type place struct {
	prefix  netip.Prefix
	limiter *rate.Limiter
}

// NewAttempts allows each address so many failures a second, and so many at once before that counts. Zero is the default.
func NewAttempts(perSecond float64, burst int) *Attempts {
	if perSecond == 0 {
		perSecond = DefaultFailureRate
	}
	if burst == 0 {
		burst = DefaultFailureBurst
	}
	return &Attempts{rate: rate.Limit(perSecond), burst: burst, byPlace: map[netip.Prefix]*list.Element{}, recent: list.New()}
}

// Failed counts a failed attempt from an address (host:port), and says how long until another is due a full answer if
// there have been too many. What is no address counts as one.
func (a *Attempts) Failed(remote string) (retry time.Duration, tooMany bool) {
	r := a.limiter(prefixOf(remote)).Reserve()
	if delay := r.Delay(); delay > 0 {
		r.Cancel()
		return delay, true
	}
	return 0, false
}

func (a *Attempts) limiter(p netip.Prefix) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.byPlace[p]; e != nil {
		a.recent.MoveToFront(e)
		return e.Value.(*place).limiter //nolint:errcheck // the list holds nothing else
	}
	if a.recent.Len() >= maxAddresses {
		oldest := a.recent.Back()
		delete(a.byPlace, oldest.Value.(*place).prefix) //nolint:errcheck // the list holds nothing else
		a.recent.Remove(oldest)
	}
	n := &place{p, rate.NewLimiter(a.rate, a.burst)}
	a.byPlace[p] = a.recent.PushFront(n)
	return n.limiter
}

// prefixOf is the address, of IPv6 the network of one site: whoever has one address there has 2^64 of them.
func prefixOf(remote string) netip.Prefix {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	addr := ap.Addr().Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
