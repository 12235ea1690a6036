package rings

import (
	"fmt"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

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
				out, err := h.Respond(h.st, ofAll)
				if err != nil {
					t.Fatal(err)
				}
				out.ParameterSets(func(s response.ParameterSet) {
					i := s.Item()
					apps = append(apps, facts.Application{Name: i.Name, Cluster: i.Cluster, Group: i.Group, Component: i.Component, Digest: s.Digest(), Healthy: true})
				})
			}
			st, err := fleetstate.Build(h.st, files, facts.NewSet(false).WithApplications(apps...).WithHealth())
			if err != nil {
				t.Fatal(err)
			}
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
