package rings

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/state/statetest"
)

// TestFailingStoreIsTriedAtIntervals: while the store takes no record, the rings are looked at once
// an interval, however fast it fails. (G9)
func TestFailingStoreIsTriedAtIntervals(t *testing.T) {
	const policy = "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nrings:\n  - {name: all, selector: {}}\n"
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		store, memory := statetest.New()
		tries := 0
		memory.Fails = func(string) error {
			if tries++; tries > 1000 {
				end()
			}
			return errors.New("connection refused")
		}
		var st *fleetstate.State
		r := New(Options{
			Hub: "hub-1", Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler), Store: store,
			State: func() *fleetstate.State { return st },
		})
		done := make(chan struct{})
		for _, files := range []map[string]string{nil, {"fleet/rollouts/all.yaml": policy}} {
			var err error
			st, err = fleetstate.Build(st, snapshot.FromMap(fleettest.TwoHubs().With(files)), facts.NewSet(false).WithApplications().WithHealth())
			if err != nil {
				t.Fatal(err)
			}
			r.Serving(st)
		}
		go func() {
			r.Run(ctx)
			close(done)
		}()
		time.Sleep(time.Minute)
		end()
		<-done
		if most := int(time.Minute/interval) + 1; tries < 2 || tries > most {
			t.Errorf("the store was written to %d times in a minute; expected 2 to %d", tries, most)
		}
	})
}
