package httpserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/argosy-hub/argosy/internal/service/access"
)

// Gate bounds the requests of each token, all concurrent requests, and the failed attempts.
type Gate struct {
	limits   Limits
	flag     string
	failures *rate.Limiter
	all      *semaphore.Weighted
	mu       sync.Mutex
	own      map[string]share // by token
}

// share bounds the requests of one token: all of them, and the requests in progress.
type share struct{ inside, working *semaphore.Weighted }

// NewGate makes a Gate. Errors name the flag that sets the limit of concurrent requests.
func NewGate(l Limits, flag string) *Gate {
	return &Gate{limits: l, flag: flag, failures: rate.NewLimiter(rate.Limit(l.FailureRate), l.FailureBurst), all: semaphore.NewWeighted(int64(l.MaxConcurrent)), own: map[string]share{}}
}

// Enter admits a request of a bearer until leave is called; the bearer is nil without a valid
// token. It waits briefly for the token's rate and for a free slot, because Argo CD waits for three
// minutes after a refusal.
func (g *Gate) Enter(ctx context.Context, b *access.Bearer) (leave func(), f *Failure) {
	own := g.of(b.Label())
	if !own.inside.TryAcquire(1) {
		return nil, g.crowded(b)
	}
	if f = g.begin(ctx, own, b); f != nil {
		own.inside.Release(1)
		return nil, f
	}
	return func() {
		g.all.Release(1)
		own.working.Release(1)
		own.inside.Release(1)
	}, nil
}

// begin waits until a request may be processed.
func (g *Gate) begin(ctx context.Context, own share, b *access.Bearer) *Failure {
	if b != nil {
		if retry, ok := b.Pace(ctx, g.limits.MaxWait); !ok {
			return Busy(retry, fmt.Sprintf("too many requests with token %q; the limit is %g a second (--token-rate)", b.Label(), b.Rate()))
		}
	}
	ctx, end := context.WithTimeout(ctx, g.limits.MaxWait)
	defer end()
	if !acquire(ctx, own.working) {
		return g.crowded(b)
	}
	if !acquire(ctx, g.all) {
		own.working.Release(1)
		return g.crowded(b)
	}
	return nil
}

// acquire takes a free slot even if no time is left to wait.
func acquire(ctx context.Context, s *semaphore.Weighted) bool {
	return s.TryAcquire(1) || s.Acquire(ctx, 1) == nil
}

// of returns the share of a token.
func (g *Gate) of(token string) share {
	g.mu.Lock()
	defer g.mu.Unlock()
	own, known := g.own[token]
	if !known {
		all := int64(g.limits.MaxConcurrent)
		half := max(1, all/2)
		own = share{semaphore.NewWeighted(all + half), semaphore.NewWeighted(half)}
		g.own[token] = own
	}
	return own
}

func (g *Gate) crowded(b *access.Bearer) *Failure {
	return Busy(5*time.Second, fmt.Sprintf("too many requests at once with token %q; the limit for all tokens is %d%s", b.Label(), g.limits.MaxConcurrent, g.flag))
}

// Failed counts a failed attempt, which is 429 beyond the limit. Requests with a valid token are
// not attempts, so an attacker cannot lock Argo CD out.
func (g *Gate) Failed(f *Failure) (_ *Failure, tooMany bool) {
	if g.failures.Allow() {
		return f, false
	}
	return Busy(time.Second, "too many failed attempts; the last one: "+f.Message), true
}
