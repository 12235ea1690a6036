package response

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func request(t testing.TB, parameters string) query.Query {
	t.Helper()
	r, err := query.Parse([]byte(parameters), "hub")
	require.NoError(t, err)
	return r
}

// What a State remembers is bounded, and counted once (H10).
func TestAnswersAreBounded(t *testing.T) {
	key := func(i byte) [sha256.Size]byte { return sha256.Sum256([]byte{i}) }
	a := newGeneration(nil)
	half := remembered[*Response]{value: &Response{total: total{size: maxResponseBytes / 2}}}
	for range 3 { // computed by several requests at once
		a.put(key(1), half)
	}
	if a.size != half.value.Len() || len(a.responses) != 1 {
		t.Errorf("one answer of %d bytes counts as %d of %d bytes", half.value.Len(), len(a.responses), a.size)
	}
	a.put(key(2), remembered[*Response]{value: &Response{total: total{size: maxResponseBytes + 1}}})
	if _, ok := a.get(key(2)); ok {
		t.Error("an answer larger than the limit is remembered")
	}
	if _, ok := a.get(key(1)); !ok {
		t.Error("an answer that cannot be remembered drove another one out")
	}
	a.put(key(3), half)
	a.put(key(4), half)
	if a.size > maxResponseBytes {
		t.Errorf("%d bytes are remembered, at most %d", a.size, maxResponseBytes)
	}
}

// An answer outlives a change of Applications that it does not depend on, and nothing else.
func TestAnswersOutliveOthersApplications(t *testing.T) {
	parameters := map[string]string{
		"dns":     `{"view":"components","group":"addons","component":"dns","release":"default"}`,
		"cert":    `{"view":"components","group":"addons","component":"cert","base":{}}`,
		"addons":  `{"view":"components","group":"addons"}`,
		"others":  `{"view":"components","group":"resources"}`,
		"release": `{"view":"releases","group":"addons"}`,
		"members": `{"view":"members"}`, "agents": `{"view":"agents"}`,
		"engine": `{"view":"components","group":"fleet","component":"argo-cd","base":{}}`,
	}
	files := fleettest.Snapshot("rev", fleettest.Small())
	known := facts.NewSet(false).WithApplications(fleettest.Application("dns", "one", "default"))
	for name, c := range map[string]struct {
		next facts.Set
		want []string
	}{
		"nothing":                  {known, []string{"addons", "agents", "cert", "dns", "engine", "members", "others", "release"}},
		"the finalizer":            {known.WithApplications(fleettest.WithFinalizer(fleettest.Application("dns", "one", "default"))), []string{"agents", "cert", "engine", "others"}},
		"the controller":           {known.WithApplications(fleettest.Controlled(fleettest.Application("dns", "one", "default"), "x")), []string{"agents", "cert", "engine", "others"}},
		"another component's":      {known.WithApplications(fleettest.Application("dns", "one", "default"), fleettest.Application("cert", "one", "")), []string{"agents", "dns", "engine", "others"}},
		"other labels":             {known.WithApplications(facts.Application{Name: "dns-one", Cluster: "one"}), []string{"agents", "cert", "engine", "others"}},
		"a registration":           {known.WithApplications(fleettest.Application("dns", "one", "default"), fleettest.Registration("two")), []string{"addons", "agents", "cert", "dns", "engine", "others", "release"}},
		"an agent":                 {known.WithApplications(fleettest.Application("dns", "one", "default"), facts.Application{Name: "agent-two", Cluster: "two"}), []string{"addons", "cert", "dns", "engine", "others", "release"}},
		"a grant":                  {known.WithApplications(fleettest.Application("dns", "one", "default"), fleettest.GrantOfOne), []string{"others"}},
		"a grant that has arrived": {known.WithGrants("one", facts.OwnershipGrant{Group: "addons", Held: true}), nil},
		"not known any more":       {facts.NewSet(false), nil},
		"a cluster's, and nothing": {known.WithClusters(facts.Cluster{Name: "one"}), nil},
	} {
		var cache Cache
		previous, err := fleetstate.Build(nil, files, known)
		require.NoError(t, err)
		for _, p := range parameters {
			if _, err := cache.Get(t.Context(), previous, request(t, p)); err != nil {
				t.Fatal(p, err)
			}
		}
		next, err := fleetstate.Build(previous, files, c.next)
		require.NoError(t, err)
		kept := map[string]bool{}
		for _, b := range cache.of(next).responses {
			for key, p := range parameters {
				if topicOf(request(t, p)) == b.topic {
					kept[key] = true
				}
			}
		}
		assert.Equal(t, c.want, slices.Sorted(maps.Keys(kept)), "%v", name)
		again, err := fleetstate.Build(previous, fleettest.Snapshot("rev", fleettest.Small()), c.next)
		if err != nil || len(cache.of(again).responses) > 0 {
			t.Error("another snapshot:", err)
		}
	}
}

// A response is of the last known good snapshots and of the held tenants, too: one that is held, or
// that is held no more, changes its sets though nothing but another Application has changed. (G6)
func TestAnswersDependOnHeldTenants(t *testing.T) {
	first, second := fleettest.Snapshot("first", fleettest.Small()), fleettest.Snapshot("second", fleettest.Small().With(fleettest.Tree{fleettest.SystemCatalog: ""}))
	build := func(previous *fleetstate.State, files *snapshot.Snapshot, apps ...facts.Application) *fleetstate.State {
		st, err := fleetstate.Build(previous, files, facts.NewSet(false).WithApplications(apps...))
		require.NoError(t, err)
		return st
	}
	good := build(nil, first)
	hold := func(previous, st *fleetstate.State) *fleetstate.State {
		return st.Hold(previous, []fleetstate.Hold{{Hub: "hub", Tenant: "retail", Members: []string{"one", "two"}, Message: "too much"}})
	}
	held, free := hold(good, build(good, second)), build(good, second)
	others := fleettest.Application("another", "one", "default")
	for name, c := range map[string]struct{ before, after *fleetstate.State }{
		"held no more": {held, build(held, second, others)},
		"held":         {free, hold(good, build(good, second, others))},
	} {
		var cache Cache
		r := request(t, `{"view":"components","group":"addons","component":"dns","base":{}}`)
		if _, err := cache.Get(t.Context(), c.before, r); err != nil {
			t.Fatal(err)
		}
		is, err := cache.Get(t.Context(), c.after, r)
		require.NoError(t, err)
		if want, err := Bytes(c.after, r); err != nil || !bytes.Equal(is.Bytes(), want) {
			t.Errorf("%s: %s, %v; want %s", name, is.Bytes(), err, want)
		}
	}
}

// What makes a cluster is removed after all else on it: a response about it depends on every
// Application. (C3)
func TestResponsesAboutInfrastructureDependOnAllApplications(t *testing.T) {
	files := fleettest.Snapshot("rev", fleettest.Small())
	known := facts.NewSet(false).WithApplications(fleettest.Application("dns", "one", "default"))
	before, err := fleetstate.Build(nil, files, known)
	require.NoError(t, err)
	after, err := fleetstate.Build(before, files, facts.NewSet(false).WithApplications())
	require.NoError(t, err)
	unchanged := unchangedTopics(before, after)
	if unchanged(topic{view: query.Components, group: provision.Group, component: "cluster"}) {
		t.Error("the response about the cluster is taken for unchanged as the last Application goes")
	}
	if !unchanged(topic{view: query.Components, group: "addons", component: "cert"}) {
		t.Error("the response about another component is computed again")
	}
}

// A fingerprint outlives its answer, which may have been too much to be remembered: while a
// component is rolled out, each change of its Applications is compared for every ApplicationSet.
func TestFingerprintsOutliveAnswers(t *testing.T) {
	files := fleettest.Snapshot("rev", fleettest.Small())
	known := facts.NewSet(false).WithApplications(fleettest.Application("dns", "one", "default"))
	others := []query.Query{request(t, `{"view":"components","group":"resources"}`), request(t, `{"view":"components","group":"addons","component":"cert","base":{}}`)}
	own := request(t, `{"view":"components","group":"addons","component":"dns"}`)
	previous, err := fleetstate.Build(nil, files, known)
	require.NoError(t, err)
	var cache Cache
	before := map[string]string{}
	for _, r := range append(others, own) {
		before[r.Group+r.Component] = cache.Fingerprint(previous, r)
	}
	clear(cache.of(previous).responses)
	next, err := fleetstate.Build(previous, files, known.WithApplications(fleettest.WithFinalizer(fleettest.Application("dns", "one", "default"))))
	require.NoError(t, err)
	for _, st := range []*fleetstate.State{previous, next} {
		for _, r := range others {
			if got := cache.Fingerprint(st, r); got != before[r.Group+r.Component] || len(cache.of(st).responses) > 0 {
				t.Errorf("%s/%s: %s, computed anew: %d", r.Group, r.Component, got, len(cache.of(st).responses))
			}
		}
	}
	if cache.Fingerprint(next, own); len(cache.of(next).responses) != 1 {
		t.Error("G6: the answer that depends on the Application is not computed anew")
	}
}

// TestAbandonedResponses: the end of the context ends a computation before its next part. Nothing
// of it is remembered, and the next one still shares the previous state's parts.
func TestAbandonedResponses(t *testing.T) {
	files := fleettest.Small()
	before, err := fleetstate.Build(nil, fleettest.Snapshot("first", files), facts.Set{})
	require.NoError(t, err)
	after, err := fleetstate.Build(before, fleettest.Snapshot("second", files), facts.Set{})
	require.NoError(t, err)
	var cache Cache
	q := request(t, `{"view":"components","group":"addons"}`)
	was, err := cache.Get(t.Context(), before, q)
	require.NoError(t, err)

	ended, end := context.WithCancel(t.Context())
	end()
	if got, failure := respond(ended, after, q, nil, nil); failure != errAbandoned || got.Sets() > 0 {
		t.Errorf("computed %v, %v", got, failure)
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := cache.Get(ended, after, q); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait() // until the computation has ended, too
		is, err := cache.Get(t.Context(), after, q)
		require.NoError(t, err)
		if is.Sets() == 0 || !slices.Equal(is.parts, was.parts) {
			t.Error("the parts of the previous state are computed again")
		}
	})
}

// countdown is a context that ends after a number of looks at it.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestAbandonedResponsesGoOn: a query that is given up again and again is computed in the end. Each
// attempt goes on where the last one ended, within the limit of what is remembered.
func TestAbandonedResponsesGoOn(t *testing.T) {
	files := fleettest.Small()
	for i := range 4 * partSize {
		name := fmt.Sprintf("m%03d", i)
		files[fleettest.Member(name)] = fleettest.Spoke(name, "")
	}
	st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), facts.Set{})
	require.NoError(t, err)
	q := request(t, `{"view":"components","group":"addons"}`)
	g, key := newGeneration(st), queryKey{1}
	var last []*part
	for attempt := range 4 {
		ctx := &countdown{Context: t.Context()}
		ctx.left.Store(int64(attempt) + 1) // the parts of before, and another one
		like, _ := g.previousOf(key)
		got, failure := respond(ctx, st, q, like, nil)
		if failure != errAbandoned || len(got.parts) != attempt+1 || !slices.Equal(got.parts[:attempt], last) {
			t.Fatalf("attempt %d: %d parts, %v", attempt, len(got.parts), failure)
		}
		last = got.parts
		g.keep(key, got)
	}
	want, err := Bytes(st, q)
	require.NoError(t, err)
	like, _ := g.previousOf(key)
	g.kept = maxResponseBytes
	if g.keep(queryKey{2}, like); len(g.previous) > 1 {
		t.Error("more is kept than the limit")
	}
	if got, failure := respond(t.Context(), st, q, like, nil); failure != nil || !bytes.Equal(got.Bytes(), want) {
		t.Error("the whole response differs", failure)
	}
}

// TestComputationsShareTheirMemory: many large responses at a time take no more than two limits,
// all of them come to an end, and one beyond the limit alone is refused. (H10)
func TestComputationsShareTheirMemory(t *testing.T) {
	c := newComputations(100)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			one := c.begin()
			defer one.end()
			for range 9 {
				if failure := one.take(11); failure != nil {
					t.Error(failure.Message)
				}
				c.mu.Lock()
				if c.bytes > 2*c.limit {
					t.Errorf("%d bytes at a time", c.bytes)
				}
				c.mu.Unlock()
			}
		})
	}
	wg.Wait()
	if c.bytes != 0 || c.first != nil {
		t.Errorf("%d bytes are left", c.bytes)
	}
	large := c.begin()
	defer large.end()
	if failure := large.take(101); failure == nil {
		t.Error("a response beyond the limit is computed")
	}
}
