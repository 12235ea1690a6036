package run

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Shared runs a computation once for all callers that ask for the same key at the same time. The
// zero value is ready.
type Shared[K comparable, V any] struct {
	// Begun counts computations, Joined callers that shared one that another caller had begun, and
	// Abandoned computations whose callers had all gone before the end.
	Begun, Joined, Abandoned atomic.Int64

	mu    sync.Mutex
	calls map[K]*sharedCall[V]
}

// sharedCall is a computation under way. Its result is there when done is closed.
type sharedCall[V any] struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	value   V
	err     error
	failed  *failedCall
}

// Do returns what compute returns. All callers get its error or its panic. A caller whose context
// ends gets the context's error at once. The computation's own context ends with the last caller.
func (s *Shared[K, V]) Do(ctx context.Context, key K, compute func(context.Context) (V, error)) (value V, err error) {
	s.mu.Lock()
	c, joins := s.calls[key]
	if joins {
		s.Joined.Add(1)
	} else {
		c = s.begin(ctx, key, compute)
	}
	c.waiting++
	s.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
		s.leave(key, c)
		return value, ctx.Err()
	}
	if c.failed != nil {
		panic(c.failed) //nolint:forbidigo // passed on
	}
	return c.value, c.err
}

// begin starts a computation in a goroutine of its own: its first caller may leave before the
// others. The caller holds the lock.
func (s *Shared[K, V]) begin(ctx context.Context, key K, compute func(context.Context) (V, error)) *sharedCall[V] {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &sharedCall[V]{cancel: cancel, done: make(chan struct{})}
	if s.calls == nil {
		s.calls = map[K]*sharedCall[V]{}
	}
	s.calls[key] = c
	s.Begun.Add(1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				c.failed = &failedCall{p, debug.Stack()}
			}
			s.mu.Lock()
			s.forget(key, c)
			s.mu.Unlock()
			cancel()
			close(c.done)
		}()
		c.value, c.err = compute(ctx)
	}()
	return c
}

// leave ends a computation with its last caller. The next caller begins another one.
func (s *Shared[K, V]) leave(key K, c *sharedCall[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.waiting--; c.waiting == 0 && s.forget(key, c) {
		c.cancel()
		s.Abandoned.Add(1)
	}
}

// forget removes a computation, and reports whether it was under way. The caller holds the lock.
func (s *Shared[K, V]) forget(key K, c *sharedCall[V]) bool {
	if s.calls[key] != c {
		return false
	}
	delete(s.calls, key)
	return true
}
