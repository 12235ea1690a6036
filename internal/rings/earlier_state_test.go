package rings

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// TestEarlierStateForgetsNoPolicy: a response to a state that is not served any more, as a request
// or a comparison that began before gets it, takes nothing away of what is known of policies that
// came later, nor of what a ring had. (G7)
func TestEarlierStateForgetsNoPolicy(t *testing.T) {
	ofAll := query.Query{View: query.Components, Hub: "hub-1", Group: "addons"}
	var st *fleetstate.State
	r := New(Options{
		Hub: "hub-1", Responses: new(response.Cache),
		Queries: func() map[string][]query.Query { return map[string][]query.Query{"all": {ofAll}} },
		State:   func() *fleetstate.State { return st },
	})
	var states []*fleetstate.State
	for _, files := range []map[string]string{
		nil,
		{"fleet/rollouts/all.yaml": policyOfAll},
		{"fleet/rollouts/other.yaml": policyOfAll},
	} {
		next, err := fleetstate.Build(st, snapshot.FromMap(fleettest.TwoHubs().With(files)), facts.NewSet(false).WithApplications().WithHealth())
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, next)
		st = next
		r.Serving(st)
		r.Look(t.Context())
	}
	before := r.Report()
	if len(before.Rollouts) != 1 || before.Rollouts[0].Name != "other" || before.Rollouts[0].Rings[0].Train == 0 {
		t.Fatalf("%+v", before)
	}
	for _, earlier := range states[:2] {
		again, err := fleetstate.Build(nil, earlier.Resolver().Snapshot, earlier.Facts()) // nothing remembers it
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.Respond(again, ofAll)
		if hasPolicies := len(again.Fleet.Rollouts) > 0; hasPolicies != (err != nil) {
			t.Errorf("%v, %v: what a ring that is gone has is not known", out, err)
		}
		r.Look(t.Context())
		if now := r.Report(); len(now.Rollouts) != 1 || now.Rollouts[0].Rings[0].Train != before.Rollouts[0].Rings[0].Train {
			t.Errorf("%+v\nbefore: %+v", now, before)
		}
	}
}
