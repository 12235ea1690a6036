package refresh_test

import (
	"context"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
)

// watching is a judge that reads the status while a candidate is computed.
type watching struct {
	r    *refresh.Refresher
	seen chan refresh.Status
}

func (w *watching) Await(context.Context) bool { return true }

func (w *watching) Holds(_, _ *fleetstate.State) []fleetstate.Hold {
	w.seen <- w.r.Status()
	return nil
}

// TestStatusTellsThatACandidateIsComputed is rule 14: a computation that does not end is seen while
// it goes on, although nothing is refused.
func TestStatusTellsThatACandidateIsComputed(t *testing.T) {
	w := &watching{seen: make(chan refresh.Status)} // it waits until the test has read
	h := startWith(t, newKnown(true), nil, func(o *refresh.Options) { o.Judge = w })
	w.r = h.r
	h.until("an end of what the start computes", func(st refresh.Status) bool { return st.Computing.IsZero() })
	h.say(fleet(nil), nil)
	first := <-w.seen
	if first.Computing.IsZero() || first.Ready() {
		t.Errorf("the first: %+v", first)
	}
	// One more reconciliation may follow at once, as mounts are judged upon what is served.
	served := h.until("a state", func(st refresh.Status) bool { return st.Ready() && st.Computing.IsZero() })
	h.say(fleet(map[string]string{"versions/applicationSets.yaml": versions + "# changed\n"}), nil)
	next := <-w.seen
	if !next.Computing.After(first.Computing) || next.Revision != served.Revision || len(next.Refused) > 0 {
		t.Errorf("the next: %+v", next)
	}
	h.until("the next state", func(st refresh.Status) bool { return st.Revision != served.Revision && st.Computing.IsZero() })
}
