package rings

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// TestPanicEndsOneLookAlone: what panics while the service looks at rings stops neither the service
// nor the responses. Once it does not panic any more, the rings go on. (G2)
func TestPanicEndsOneLookAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		store, _ := storetest.New()
		h := newHub(t, store)
		var panics atomic.Bool
		panics.Store(true)
		h.o.Queries = func() map[string][]query.Query {
			if panics.Load() {
				panic("no such thing")
			}
			return map[string][]query.Query{"all": {ofAll}}
		}
		st, err := fleetstate.Build(nil, snapshot.FromMap(fleettest.TwoHubs().With(map[string]string{"fleet/rollouts/all.yaml": policyOfAll})), facts.NewSet(false).WithApplications().WithHealth())
		if err != nil {
			t.Fatal(err)
		}
		h.st = st
		h.Serving(st)
		done := make(chan struct{})
		go func() {
			h.Rings.Run(ctx)
			close(done)
		}()
		time.Sleep(2 * interval)
		panics.Store(false)
		time.Sleep(2 * interval)
		end()
		<-done
		if _, err := h.Respond(st, ofAll); err != nil {
			t.Error(err)
		}
	})
}
