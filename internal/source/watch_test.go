package source

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/snapshot"
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
			}
			synctest.Wait()
			if looks != c.want {
				t.Fatalf("%d looks after %d refreshes while it looked, want %d", looks, c.refreshes, c.want)
			}
		}
		answer <- struct{}{} // nobody has asked for one more
		synctest.Wait()
		if looks != 4 {
			t.Fatalf("%d looks", looks)
		}
	})
}
