package access

import (
	"context"
	"time"
)

// Rate returns how many requests a second the bearer may make.
func (b *Bearer) Rate() float64 { return float64(b.limiter.Limit()) }

// Pace waits until the bearer's rate allows a request, for at most atMost; a negative one does not
// wait. If the wait would be longer, it returns at once with the time after which to retry.
func (b *Bearer) Pace(ctx context.Context, atMost time.Duration) (retry time.Duration, ok bool) {
	if b == nil || b.limiter == nil {
		return time.Second, false
	}
	ctx, end := context.WithTimeout(ctx, atMost)
	defer end()
	if b.limiter.Allow() || b.limiter.Wait(ctx) == nil {
		return 0, true
	}
	r := b.limiter.Reserve()
	defer r.Cancel()
	return r.Delay(), false
}
