package refresh_test

import (
	"sync/atomic"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
)

// panicking are facts that panic as long as they are to.
type panicking struct {
	*known
	panics atomic.Bool
}

func (p *panicking) Current() (facts.Set, bool) {
	if p.panics.Load() {
		panic("no such thing")
	}
	return p.known.Current()
}

// TestPanicEndsOneReconciliationAlone: what panics while a commit is decided upon, or while others
// hear of a new state, does not stop the service. The next commit is served. (rule 5)
func TestPanicEndsOneReconciliationAlone(t *testing.T) {
	first, second, third := fleet(nil), fleet(map[string]string{"README.yaml": "commit: 2\n"}), fleet(map[string]string{"README.yaml": "commit: 3\n"})
	known := &panicking{known: newKnown(true, cluster("a"), cluster("b"))}
	h := startWith(t, known, nil, func(o *refresh.Options) {
		o.Observe = func(o refresh.Outcome) {
			if o.Swapped && o.State.Revision == first.Revision {
				panic("no such thing")
			}
		}
	})
	h.say(first, nil)
	h.serving(first)
	known.panics.Store(true)
	h.say(second, nil)
	if r := h.refused(refresh.Commit); r.Reason != "internal" || r.Revision != second.Revision {
		t.Errorf("%+v", r)
	}
	known.panics.Store(false)
	h.say(third, nil)
	h.serving(third)
}
