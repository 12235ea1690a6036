package rings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

const policyOfAll = "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nrings:\n  - {name: all, selector: {}}\n"

// breaking does something to a store.
type breaking func(*testing.T, *store.Store, *storetest.Memory)

// TestRingsAreLookedAtInIntervals: whatever is wrong with the store, the service does not look at
// rings, or publish its state, again and again without a pause. (G9)
func TestRingsAreLookedAtInIntervals(t *testing.T) {
	unknown := facts.NewSet(false).WithApplications(facts.Application{
		Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Digest: "another",
	}).WithHealth()
	nothing := facts.NewSet(false).WithApplications().WithHealth()
	writes := func(log func() rollout.Log) breaking {
		return func(t *testing.T, s *store.Store, _ *storetest.Memory) {
			t.Helper()
			require.NoError(t, newRecord(s, "all").Write(t.Context(), log()))
		}
	}
	takesNothing := func(_ *testing.T, _ *store.Store, m *storetest.Memory) {
		m.Fails = func(string) error { return errors.New("forbidden") }
	}
	damages := func(_ *testing.T, _ *store.Store, m *storetest.Memory) { m.Set("rollout-all-v1", []byte("{")) }
	for name, c := range map[string]struct {
		facts   facts.Set
		prepare []breaking
	}{
		"nothing is wrong":                       {nothing, nil},
		"it takes no record":                     {nothing, []breaking{takesNothing}},
		"there is no record":                     {unknown, nil},
		"a record is damaged":                    {unknown, []breaking{damages}},
		"a record is damaged, and it takes none": {unknown, []breaking{damages, takesNothing}},
		"it cannot be reached": {unknown, []breaking{func(_ *testing.T, _ *store.Store, m *storetest.Memory) {
			m.Away(errors.New("connection refused"))
		}}},
		"the files of a ring are gone": {unknown, []breaking{writes(func() rollout.Log {
			return rollout.Begin(&rollout.Policy{Rings: []rollout.Ring{{Name: "all"}}}, "gone", time.Now())
		})}},
		"a record has ended": {nothing, []breaking{writes(func() rollout.Log { return rollout.Log{Ended: true} })}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				kept, memory := storetest.New()
				var st *fleetstate.State
				var r *Rings
				var looks, published atomic.Int64
				r = New(Options{
					Hub: "hub-1", Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler), Store: kept,
					Queries: func() map[string][]query.Query {
						return map[string][]query.Query{"all": {{View: query.Components, Hub: "hub-1", Group: "addons"}}}
					},
					State: func() *fleetstate.State {
						if looks.Add(1) > 1000 {
							end()
						}
						return st
					},
					Reconsider: func() {
						published.Add(1)
						r.Serving(st)
					},
				})
				for _, files := range []map[string]string{nil, {"fleet/rollouts/all.yaml": policyOfAll}} {
					var err error
					st, err = fleetstate.Build(st, snapshot.FromMap(fleettest.TwoHubs().With(files)), c.facts)
					require.NoError(t, err)
					r.Serving(st)
				}
				for _, prepare := range c.prepare {
					prepare(t, kept, memory)
				}
				done := make(chan struct{})
				go func() {
					r.Run(ctx)
					close(done)
				}()
				time.Sleep(time.Minute)
				end()
				<-done
				if most := 2 * int64(time.Minute/interval); looks.Load() < 12 || looks.Load() > most || published.Load() > 3 {
					t.Errorf("in a minute, rings were looked at %d times, and states published %d times; expected at most %d and 3",
						looks.Load(), published.Load(), most)
				}
			})
		})
	}
}

// TestReplicasThatSeeOtherHealthWriteInIntervals: a replica whose facts stand still sees another
// health than the others. None of them writes, or publishes, again and again without a pause. (G9)
func TestReplicasThatSeeOtherHealthWriteInIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		kept, memory := storetest.New()
		var writes, published atomic.Int64
		memory.Fails = func(string) error {
			if writes.Add(1) > 1000 {
				end()
			}
			return nil
		}
		var done sync.WaitGroup
		for _, isHealthy := range []bool{true, false} {
			var st *fleetstate.State
			var r *Rings
			queries := map[string][]query.Query{"all": {{View: query.Components, Hub: "hub-1", Group: "addons"}}}
			r = New(Options{
				Hub: "hub-1", Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler), Store: kept,
				Queries: func() map[string][]query.Query { return queries },
				State:   func() *fleetstate.State { return st },
				Reconsider: func() {
					published.Add(1)
					r.Serving(st)
				},
			})
			for n := range 3 {
				files := map[string]string{"README.yaml": "commit: " + strconv.Itoa(n) + "\n"}
				if n > 0 {
					files["fleet/rollouts/all.yaml"] = policyOfAll
				}
				var err error
				st, err = fleetstate.Build(st, snapshot.FromMap(fleettest.TwoHubs().With(files)), facts.NewSet(false).WithApplications().WithHealth())
				require.NoError(t, err)
				r.Serving(st)
			}
			answered, _ := r.digests(st)
			var apps []facts.Application
			for name, digest := range answered {
				apps = append(apps, facts.Application{Name: name, Cluster: strings.TrimPrefix(name, "dns-"), Group: "addons", Component: "dns", Digest: digest, Healthy: isHealthy})
			}
			var err error
			if st, err = fleetstate.Build(st, st.Resolver().Snapshot, facts.NewSet(false).WithApplications(apps...).WithHealth()); err != nil {
				t.Fatal(err)
			}
			r.Serving(st)
			done.Go(func() { r.Run(ctx) })
		}
		time.Sleep(time.Minute)
		end()
		done.Wait()
		if most := 4 * int64(time.Minute/interval); writes.Load() > most || published.Load() > 4 {
			t.Errorf("in a minute, the store was written to %d times, and states published %d times; expected at most %d and 4", writes.Load(), published.Load(), most)
		}
	})
}

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
		r := New(Options{Hub: "hub-1", Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler), State: func() *fleetstate.State { return st }, Queries: func() map[string][]query.Query { return nil }})
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
