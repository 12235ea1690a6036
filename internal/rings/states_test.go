package rings

import (
	"context"
	"fmt"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
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
		require.NoError(t, err)
		states = append(states, next)
		st = next
		r.Serving(st)
		r.Look(t.Context())
	}
	published, err := fleetstate.Build(st, st.Resolver().Snapshot, st.Facts())
	require.NoError(t, err)
	st = published
	r.Serving(st)
	before := r.Report()
	if len(before.Rollouts) != 1 || before.Rollouts[0].Name != "other" || before.Rollouts[0].Rings[0].Train == 0 {
		t.Fatalf("%+v", before)
	}
	for _, earlier := range states[:2] {
		again, err := fleetstate.Build(nil, earlier.Resolver().Snapshot, earlier.Facts()) // nothing remembers it
		require.NoError(t, err)
		if _, err := r.Respond(context.Background(), again, ofAll); err != nil {
			t.Error(err)
		}
		r.Look(t.Context())
		if now := r.Report(); len(now.Rollouts) != 1 || now.Rollouts[0].Rings[0].Train != before.Rollouts[0].Rings[0].Train {
			t.Errorf("%+v\nbefore: %+v", now, before)
		}
	}
}

// TestPauseHoldsALookUnderWay: a commit that pauses a rollout is served while the service looks at
// the rings of the one before. No ring takes a revision after that. (G7)
func TestPauseHoldsALookUnderWay(t *testing.T) {
	const policy = "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\npaused: %t\nrings:\n" +
		"  - {name: canary, selector: {matchLabels: {environment: dev}}}\n  - {name: prod, selector: {matchLabels: {environment: prod}}}\n"
	for _, pauses := range []bool{false, true} {
		h := newHub(t, nil)
		files := func(replicas int, isPaused bool) *snapshot.Snapshot {
			return snapshot.FromMap(fleettest.TwoHubs().With(map[string]string{
				"fleet/rollouts/all.yaml": fmt.Sprintf(policy, isPaused), "addons/defaults/addons/dns/values.yaml": fmt.Sprintf("replicas: %d\n", replicas),
			}))
		}
		serve := func(files *snapshot.Snapshot) {
			var apps []facts.Application
			if h.st != nil {
				out, err := h.Respond(context.Background(), h.st, ofAll)
				require.NoError(t, err)
				out.ParameterSets(func(s response.ParameterSet) {
					i := s.Item()
					apps = append(apps, facts.Application{Name: i.Name, Cluster: i.Cluster, Group: i.Group, Component: i.Component, Digest: s.Digest(), Healthy: true})
				})
			}
			st, err := fleetstate.Build(h.st, files, facts.NewSet(false).WithApplications(apps...).WithHealth())
			require.NoError(t, err)
			h.st = st
			h.Serving(st)
		}
		first, second := files(1, false), files(2, false)
		serve(first)
		h.Look(t.Context())
		serve(second)
		h.Look(t.Context()) // the canary takes it
		serve(second)
		serve(second) // and runs it
		h.o.Silent = func(string) string {
			if h.o.Silent = func(string) string { return "" }; pauses {
				serve(files(2, true))
			}
			return ""
		}
		h.Look(t.Context())
		serve(h.st.Resolver().Snapshot)
		rings := h.Report().Rollouts[0].Rings
		if want := map[bool]string{true: first.Revision, false: second.Revision}[pauses]; rings[1].Revision != want {
			t.Errorf("paused: %t: ring %s has %s; expected %s", pauses, rings[1].Name, rings[1].Revision, want)
		}
	}
}
