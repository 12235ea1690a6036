package refresh_test

import (
	"sync/atomic"
	"testing"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// TestStoreHoldsUpNobody: who follows the served states hears of a commit when it is served, and
// not when the store has taken it, which may be slow. (rule 2)
func TestStoreHoldsUpNobody(t *testing.T) {
	store, memory := storetest.New()
	var heard, isLate, isWritten atomic.Bool
	memory.Fails = func(string) error {
		isWritten.Store(true)
		if !heard.Load() {
			isLate.Store(true)
		}
		return nil
	}
	h := startWith(t, nil, store, func(o *refresh.Options) {
		o.Observe = func(o refresh.Outcome) { heard.Store(o.Swapped) }
	})
	s := fleet(nil)
	h.say(s, nil)
	h.serving(s)
	if err := h.r.Stop(); err != nil { // it has written all by then
		t.Fatal(err)
	}
	if !isWritten.Load() || isLate.Load() {
		t.Errorf("written: %t, before anybody has heard of the commit: %t", isWritten.Load(), isLate.Load())
	}
}
