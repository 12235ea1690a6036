package source

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// However often Refresh is called while Watch looks, it looks once more afterwards: nothing that
// was pushed in between is missed, and many pushes cost one look.
func TestRefreshesWhileLookingAreOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := NewWatcher(time.Hour, false)
		looks, answer := 0, make(chan struct{})
		look := func(context.Context) (*snapshot.Snapshot, error) {
			looks++
			<-answer
			return nil, nil
		}
		go w.Poll(ctx, look, func(*snapshot.Snapshot, error) {})
		for _, c := range []struct{ refreshes, want int }{{0, 1}, {1, 2}, {100, 3}, {2, 4}} {
			for range c.refreshes {
				w.Refresh() // while it looks, which it does since the last answer
			}
			if c.refreshes > 0 {
				answer <- struct{}{}
				time.Sleep(refreshPause)
			}
			synctest.Wait()
			if looks != c.want {
				t.Fatalf("%d looks after %d refreshes while it looked, want %d", looks, c.refreshes, c.want)
			}
		}
		answer <- struct{}{} // nobody has asked for one more
		time.Sleep(time.Minute)
		if looks != 4 {
			t.Fatalf("%d looks", looks)
		}
	})
}

// A flood of refreshes, as of a forge that reports each of many pushes, polls the source in
// intervals: neither the service nor the server has to work without a pause. The first of them is
// polled for at once.
func TestFloodOfRefreshesPollsInIntervals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := NewWatcher(time.Hour, false)
		var polls, last atomic.Int64 // last is when the last one began
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.Poll(ctx, func(context.Context) (*snapshot.Snapshot, error) {
				last.Store(time.Now().UnixNano())
				polls.Add(1)
				time.Sleep(10 * time.Millisecond)
				return nil, nil
			}, func(*snapshot.Snapshot, error) {})
		}()
		time.Sleep(10 * time.Minute)
		began := time.Now().UnixNano()
		for range 60 * 200 {
			w.Refresh()
			time.Sleep(5 * time.Millisecond)
			if after := time.Duration(last.Load() - began); polls.Load() == 2 && after != 0 {
				t.Fatalf("the first refresh polls after %s", after)
			}
		}
		if n, most := polls.Load(), 2+int64(time.Minute/refreshPause); n < most-2 || n > most {
			t.Errorf("%d polls in a minute; expected at most %d", n, most)
		}
		cancel()
		<-ended
	})
}

// Until a new revision has been handed over, the source was last polled with the one before: else
// that one would pass for what the repository has now. (G9)
func TestPolledIsOfTheRevisionThatIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := NewWatcher(time.Minute, false)
		polls := 0
		poll := func(context.Context) (*snapshot.Snapshot, error) {
			polls++
			return snapshot.New([]string{"first", "first", "second"}[min(polls, 3)-1], nil), nil
		}
		var at []time.Time
		go w.Poll(ctx, poll, func(*snapshot.Snapshot, error) { at = append(at, w.Polled()) })
		began := time.Now()
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		if len(at) != 2 || !at[0].IsZero() || !at[1].Equal(began.Add(time.Minute)) {
			t.Errorf("at the updates it was polled at %v", at)
		}
		if last := w.Polled(); !last.Equal(began.Add(5 * time.Minute)) {
			t.Errorf("then, at %v", last)
		}
	})
}

// What a snapshot may have in memory follows the memory of the process (H10).
func TestSnapshotBytesFollowTheMemoryLimit(t *testing.T) { //nolint:paralleltest // the limit is the process's
	before := debug.SetMemoryLimit(400 << 20)
	defer debug.SetMemoryLimit(before)
	if got := (Limits{}).WithDefaults().Bytes; got < 50<<20 || got > 70<<20 {
		t.Errorf("%d bytes in 400 MiB", got)
	}
	if got := (Limits{Bytes: 123}).WithDefaults().Bytes; got != 123 {
		t.Errorf("%d bytes, and 123 are set", got)
	}
	debug.SetMemoryLimit(64 << 30)
	if got := (Limits{}).WithDefaults().Bytes; got != 512<<20 {
		t.Errorf("%d bytes in 64 GiB", got)
	}
}
