package source

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// refreshPause is the least time between polls that Refresh triggers.
const refreshPause = time.Second

// Watcher implements the parts of Watch that all sources share.
type Watcher struct {
	interval time.Duration
	jitter   bool // spread the polls of several replicas over the interval
	now      run.Trigger
	polled   *atomic.Int64 // when Poll last ended without an error, and the result is handed over
}

// NewWatcher makes a watcher that polls after each interval.
func NewWatcher(interval time.Duration, jitter bool) Watcher {
	return Watcher{interval: interval, jitter: jitter, now: run.NewTrigger(), polled: new(atomic.Int64)}
}

// Refresh triggers a poll of Watch now.
func (w Watcher) Refresh() { w.now.Fire() }

// Polled returns when Watch last polled without an error, zero if it never did.
func (w Watcher) Polled() time.Time {
	if ns := w.polled.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// Poll calls poll at each interval and trigger, and update whenever the result differs from the
// last one. Triggers in quick succession make one poll per refreshPause.
func (w Watcher) Poll(ctx context.Context, poll func(context.Context) (*snapshot.Snapshot, error), update func(*snapshot.Snapshot, error)) {
	var revision, text string
	for first := true; ; first = false {
		began := time.Now()
		s, err := poll(ctx)
		if ctx.Err() != nil {
			return
		}
		ended := time.Now()
		r, t := "", ""
		if s != nil {
			r = s.Revision
		}
		if err != nil {
			t = err.Error()
		}
		if first || r != revision || t != text {
			update(s, err)
			revision, text = r, t
		}
		if err == nil { // not before the revision is known
			w.polled.Store(ended.UnixNano())
		}
		if !w.Wait(ctx, w.pause()) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(refreshPause, w.interval) - time.Since(began)):
		}
	}
}

func (w Watcher) pause() time.Duration {
	if !w.jitter {
		return w.interval
	}
	return w.interval - time.Duration(rand.Int64N(int64(w.interval/10)+1))
}

// Wait returns after the time or at a trigger; false when the context has ended.
func (w Watcher) Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-w.now:
	}
	return ctx.Err() == nil
}
