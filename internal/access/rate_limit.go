package access

import (
	"context"
	"time"
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
