package source

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/trigger"
)

// watcher is the part of Watch that Folder and Git share.
type watcher struct {
	interval time.Duration
	jitter   bool // spread the looks of several replicas over the interval
	now      trigger.Trigger
	looked   *atomic.Int64 // when Watch last looked without an error
}

func newWatcher(interval time.Duration, jitter bool) watcher {
	return watcher{interval: interval, jitter: jitter, now: trigger.New(), looked: new(atomic.Int64)}
}

// Refresh makes Watch look now.
func (w watcher) Refresh() { w.now.Fire() }

// Looked is when Watch last looked without an error, zero if it never did.
func (w watcher) Looked() time.Time {
	if ns := w.looked.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

func (w watcher) watch(ctx context.Context, look func(context.Context) (*snapshot.Snapshot, error), update func(*snapshot.Snapshot, error)) {
	var revision, text string
	for first := true; ; first = false {
		s, err := look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			w.looked.Store(time.Now().UnixNano())
		}
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
		if !w.wait(ctx, w.pause()) {
			return
		}
	}
}

func (w watcher) pause() time.Duration {
	if !w.jitter {
		return w.interval
	}
	return w.interval - time.Duration(rand.Int64N(int64(w.interval/10)+1))
}

// wait returns after the time or at a trigger; false when the context has ended.
func (w watcher) wait(ctx context.Context, d time.Duration) bool {
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
