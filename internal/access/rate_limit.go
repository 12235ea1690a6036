package access

import (
	"context"
	"net/netip"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Pace waits until the bearer's rate allows a request, for atMost (not at all if that is negative).
// It returns at once when the wait would be longer, with the time after which to retry.
func (b *Bearer) Pace(ctx context.Context, atMost time.Duration) (retry time.Duration, ok bool) {
	if b == nil || b.limiter == nil {
		return time.Second, false
	}
	r := b.limiter.Reserve()
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

// Attempts counts failed attempts by the address that they come from. It remembers so many
// addresses and no more (rule 9): a new one takes the place of the one that was silent for the
// longest time.
type Attempts struct {
	rate     rate.Limit
	burst    int
	limiters *lru.Cache[netip.Prefix, *rate.Limiter]
}

// NewAttempts allows each address so many failures a second, and so many at once before that
// counts. Zero is the default.
func NewAttempts(perSecond float64, burst int) *Attempts {
	if perSecond == 0 {
		perSecond = DefaultFailureRate
	}
	if burst == 0 {
		burst = DefaultFailureBurst
	}
	limiters, err := lru.New[netip.Prefix, *rate.Limiter](maxAddresses)
	if err != nil {
		panic(err) //nolint:forbidigo // the size is above zero
	}
	return &Attempts{rate.Limit(perSecond), burst, limiters}
}

// Failed counts a failed attempt from an address (host:port). After too many it returns the time
// after which to retry. All malformed addresses count as one.
func (a *Attempts) Failed(remote string) (retry time.Duration, tooMany bool) {
	r := a.limiter(prefixOf(remote)).Reserve()
	if delay := r.Delay(); delay > 0 {
		r.Cancel()
		return delay, true
	}
	return 0, false
}

func (a *Attempts) limiter(p netip.Prefix) *rate.Limiter {
	if l, known := a.limiters.Get(p); known {
		return l
	}
	l := rate.NewLimiter(a.rate, a.burst)
	if other, known, _ := a.limiters.PeekOrAdd(p, l); known {
		return other
	}
	return l
}

// prefixOf is the address; of IPv6 it is the network of one site, where everybody has 2^64
// addresses.
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
