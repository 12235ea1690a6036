package guard

import (
	"context"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/succession"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// without is a hub with ten members of which some have switched dns off.
func without(t *testing.T, members ...int) *fleetstate.State {
	t.Helper()
	files := map[string]string{"fleet/layout.yaml": "guard: {window: 0s}\n"}
	for _, i := range members {
		files["addons/tenants/t/clusters/"+cluster(i)+"/application-sets/addons.yaml"] = "dns: {enabled: false}\n"
	}
	return hubOf(t, 10, facts.Set{}, nil, files)
}

// clock is the time of guards, in seconds after now.
type clock int

func (c *clock) now() time.Time { return now.Add(time.Duration(*c) * time.Second) }

// shared is a guard that shares a store with others.
func shared(t *testing.T, o Options, at *clock) *Guard {
	t.Helper()
	g := open(t, o)
	g.o.Now, g.baselines.now = at.now, at.now
	g.baselines.sync(t)
	return g
}

// TestEarlierStateIsNoBaseline: a question about a state that is not served any more, as of a
// comparison or of a request that began before, does not become what the next state is compared
// with: what the served one has removed does not count again. (G10)
func TestEarlierStateIsNoBaseline(t *testing.T) {
	for name, forgets := range map[string]func(*testing.T, *Guard, *clock){
		"after many states": func(*testing.T, *Guard, *clock) {},
		"after a replica's judgement": func(t *testing.T, g *Guard, at *clock) {
			*at++
			replica := shared(t, g.o, at)
			replica.Serving(without(t))
			replica.baselines.sync(t)
			*at++
			replica.Serving(without(t, 0))
			replica.baselines.sync(t)
			g.baselines.sync(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, _ := storetest.New()
			at := new(clock)
			g := shared(t, Options{Store: store}, at)
			var before *fleetstate.State
			for range succession.MaxKnown {
				before = without(t)
				g.Serving(before)
			}
			served := without(t, 0)
			g.Serving(served)
			if _, err := g.Response(context.Background(), served, dns("a")); err != nil {
				t.Fatal(err)
			}
			forgets(t, g, at)
			g.Fingerprint(before, dns("b"))
			if holds := g.Holds(served, without(t, 0, 1)); len(holds) > 0 {
				t.Errorf("one member more loses something, and the tenant is held: %s", holds[0].Message)
			}
		})
	}
}

// TestResponseIsJudgedAnewAfterAReplicas: a replica that lags does not give its response again once
// another one has given a newer response to the same query: the requester would lose what that one
// has added. (rule 9)
func TestResponseIsJudgedAnewAfterAReplicas(t *testing.T) {
	store, _ := storetest.New()
	at := new(clock)
	lags, newer := shared(t, Options{Store: store}, at), shared(t, Options{Store: store}, at)
	old, next := hubOf(t, 10, facts.Set{}, nil, nil), hubOf(t, 13, facts.Set{}, nil, nil)
	give := func(g *Guard, st *fleetstate.State) error {
		*at++
		_, err := g.Response(context.Background(), st, dns("a"))
		g.baselines.sync(t)
		return err
	}
	for range 2 {
		require.NoError(t, give(lags, old))
	}
	newer.baselines.sync(t)
	require.NoError(t, give(newer, next))
	lags.baselines.sync(t)
	if err := give(lags, old); err == nil {
		t.Error("3 of 13 members lose dns, and nobody minds")
	}
}

// TestLateResponseChangesNoRefusal: a response to a state that is not served any more neither ends
// the refusal of the newer one's response, nor lists one that has ended. (rule 6)
func TestLateResponseChangesNoRefusal(t *testing.T) {
	g := open(t, Options{})
	known := controlledBy("a", "dns-", 10, true)
	good, bad := hubOf(t, 10, known, nil, nil), hubOf(t, 10, known, map[int]bool{1: true, 2: true}, nil)
	ask := func(st *fleetstate.State) { _, _ = g.Response(context.Background(), st, dns("a")) }
	refused := func() (n int) {
		for _, r := range g.Refusals() {
			if r.ApplicationSet == "a" {
				n++
			}
		}
		return n
	}
	g.Serving(good)
	ask(good)
	g.Serving(bad)
	ask(bad)
	g.verdicts = verdicts{} // so that the late one is judged
	if ask(good); refused() != 1 {
		t.Error("a late response ends the refusal")
	}
	fixed := hubOf(t, 10, known, nil, nil)
	g.Serving(fixed)
	ask(fixed)
	if ask(bad); refused() != 0 {
		t.Errorf("a late response is listed: %+v", g.Refusals())
	}
}
