package rings

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
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
		h.o.Reconsider = func() {
			next, err := fleetstate.Build(h.st, snapshot.FromMap(fleettest.TwoHubs().With(map[string]string{"fleet/rollouts/all.yaml": policyOfAll})), facts.NewSet(false).WithApplications().WithHealth())
			require.NoError(t, err)
			h.st = next
			h.Serving(next)
		}
		h.o.Reconsider()
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
		if _, err := h.Respond(context.Background(), h.st, ofAll); err != nil {
			t.Error(err)
		}
	})
}

// TestLostPolicyStopsNoOther: a policy whose record is damaged has no responses in its scope until
// its rings are pinned. Those of another policy take a commit as ever, and answer. (G7)
func TestLostPolicyStopsNoOther(t *testing.T) {
	about := func(component string) query.Query {
		return query.Query{View: query.Components, Hub: "hub-1", Group: "addons", Component: component}
	}
	policy := func(component string) string {
		return "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nscope: {components: [addons/" + component + "]}\nrings:\n" +
			"  - {name: dev, selector: {matchLabels: {environment: dev}}}\n  - {name: prod, selector: {matchLabels: {environment: prod}}}\n"
	}
	tree := func(version string) map[string]string {
		chart := func(name string) string {
			return name + ": {enabled: true, namespace: dns, chart: {repoURL: https://example.org/charts, name: dns, version: " + version + "}}\n"
		}
		return fleettest.TwoHubs().With(map[string]string{
			fleettest.SystemCatalog:   chart("dns") + chart("web"),
			"fleet/rollouts/dns.yaml": policy("dns"),
			"fleet/rollouts/web.yaml": policy("web"),
		})
	}
	store, memory := storetest.New()
	memory.Set("rollout-dns-v1", []byte("{"))
	var st *fleetstate.State
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	r := New(Options{
		Hub: "hub-1", Responses: new(response.Cache), Store: store, Now: func() time.Time { now = now.Add(time.Second); return now },
		Queries: func() map[string][]query.Query {
			return map[string][]query.Query{"dns": {about("dns")}, "web": {about("web")}}
		},
		State: func() *fleetstate.State { return st },
	})
	serve := func(files map[string]string, known facts.Set) {
		t.Helper()
		for range 3 { // a ring that moves has the state published anew
			next, err := fleetstate.Build(st, snapshot.FromMap(files), known)
			require.NoError(t, err)
			st = next
			r.Serving(st)
			r.Look(t.Context())
		}
	}
	known := facts.NewSet(false).WithApplications(facts.Application{
		Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Digest: "another",
	}).WithHealth()
	serve(tree("1.0.0"), known)
	serve(tree("2.0.0"), known)
	if _, err := r.Respond(context.Background(), st, about("dns")); err == nil || !strings.Contains(err.Error(), `"dns"`) {
		t.Errorf("dns: %v", err)
	}
	out, err := r.Respond(context.Background(), st, about("web"))
	require.NoError(t, err)
	var apps []facts.Application
	out.ParameterSets(func(s response.ParameterSet) {
		i := s.Item()
		apps = append(apps, facts.Application{Name: i.Name, Cluster: i.Cluster, Group: i.Group, Component: i.Component, Digest: s.Digest(), Healthy: true})
	})
	serve(tree("2.0.0"), known.WithApplications(append(apps, facts.Application{
		Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Digest: "another",
	})...).WithHealth())
	web := r.Report().Rollouts[1]
	if web.Name != "web" || web.Rings[0].Revision != st.Revision || web.Rings[1].Revision != st.Revision {
		t.Errorf("%+v", web)
	}
}
