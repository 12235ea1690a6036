package rings

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// TestIdleRingOfALargeFleet: a ring without anything passes also where a response with all of its
// group would be beyond the limit. (H10)
func TestIdleRingOfALargeFleet(t *testing.T) {
	const clusters, components = 1001, 50
	var catalog strings.Builder
	for i := range components {
		fmt.Fprintf(&catalog, "c%02d: {enabled: true, namespace: x, chart: {repoURL: https://example.org/charts, name: x, version: 1.0.0}}\n", i)
	}
	tree := map[string]string{
		fleettest.SystemCatalog:   catalog.String(),
		"fleet/rollouts/all.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nscope: {components: [addons/c00]}\nrings:\n- {name: canary, selector: {matchLabels: {environment: dev}}}\n- {name: prod, selector: {matchLabels: {environment: prod}}}\n",
		"addons/tenants/retail/environments/dev/application-sets/addons.yaml": "c00: {enabled: false}\n",
	}
	for i := range clusters {
		name := fmt.Sprintf("p%04d", i)
		tree["fleet/fleet-members/hub-1/"+name+".yaml"] = "clusterName: " + name + "\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: s\n"
	}
	var st *fleetstate.State
	q := query.Query{View: query.Components, Hub: "hub-1", Group: "addons", Component: "c00"}
	r := New(Options{
		Hub: "hub-1", Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler),
		Queries: func() map[string][]query.Query { return map[string][]query.Query{"c00": {q}} },
		State:   func() *fleetstate.State { return st },
	})
	for _, commit := range []string{"1", "2", "2"} {
		tree["README.yaml"] = "commit: " + commit + "\n"
		var err error
		if st, err = fleetstate.Build(st, snapshot.FromMap(fleettest.TwoHubs().With(tree)), facts.NewSet(false).WithApplications().WithHealth()); err != nil {
			t.Fatal(err)
		}
		r.Serving(st)
		r.Look(t.Context())
	}
	if ring := r.Report().Rollouts[0].Rings[0]; !ring.IsNewest || !ring.Passed {
		t.Errorf("the first ring has nothing to wait for: %+v", ring)
	}
}

// TestRingThatOnlyItsRevisionHasAnythingFor: what the ring's revision has is waited for, also where
// the newest has no entry of it for the ring's members; what no catalog has any more is not. (G7)
func TestRingThatOnlyItsRevisionHasAnythingFor(t *testing.T) {
	const entry = "own: {enabled: true, namespace: x, chart: {repoURL: https://example.org/charts, name: x, version: 1.0.0}}\n"
	of := func(cluster string) string {
		return "addons/tenants/retail/clusters/" + cluster + "/application-sets/addons.yaml"
	}
	member := func(environment string) string {
		return "tenant: retail\nenvironment: " + environment + "\nsecretManagerSecretName: s\n"
	}
	base := fleettest.Tree{
		"fleet/rollouts/all.yaml":          "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nscope: {components: [addons/own]}\nrings:\n- {name: first, selector: {matchLabels: {environment: dev}}}\n- {name: last, selector: {matchLabels: {environment: prod}}}\n",
		"fleet/fleet-members/hub-1/d.yaml": "clusterName: d\n" + member("dev"), "fleet/fleet-members/hub-1/p.yaml": "clusterName: p\n" + member("prod"),
	}
	for name, c := range map[string]struct {
		newest fleettest.Tree
		isIdle bool
	}{
		"another member has it": {fleettest.Tree{of("d"): entry}, false},
		"no catalog has it":     {nil, true},
	} {
		var st *fleetstate.State
		r := New(Options{Hub: "hub-1", Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler), State: func() *fleetstate.State { return st }})
		for _, files := range []fleettest.Tree{{of("d"): entry, of("p"): entry}, c.newest} {
			var err error
			if st, err = fleetstate.Build(st, snapshot.FromMap(fleettest.TwoHubs().With(base).With(files)), facts.NewSet(false).WithApplications().WithHealth()); err != nil {
				t.Fatal(err)
			}
			r.Serving(st)
			r.Look(t.Context())
		}
		v := r.viewOf(st)
		if len(v.held) != 1 || v.rings[0].places[1] == 0 {
			t.Fatalf("%s: the last ring has the newest", name)
		}
		if got := r.isIdle(v, 0, 1); got != c.isIdle {
			t.Errorf("%s: the ring is idle: %v", name, got)
		}
	}
}
