package order_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/order"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	dnsValues = "addons/defaults/addons/dns/values.yaml"
	webValues = "addons/defaults/addons/web/values.yaml"
	webEntry  = "dependsOn: [dns], " + fleettest.DNSChart
)

// ordering is a fleet in which web waits for dns.
type ordering struct {
	*testing.T
	*order.Order
	responses *response.Cache
	// sets are the ApplicationSets that are known.
	sets  map[string][]query.Query
	files fleettest.Tree
	st    *fleetstate.State
}

func newOrdering(t *testing.T, web string) *ordering {
	t.Helper()
	o := &ordering{T: t, responses: new(response.Cache), sets: map[string][]query.Query{}}
	o.files = fleettest.Small().With(fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\nweb: " + web + "\n"})
	for _, component := range []string{"dns", "web"} {
		o.sets[component] = []query.Query{o.query(component, component)}
	}
	o.Order = order.New(order.Options{Desired: o.desired, Queries: func() map[string][]query.Query { return o.sets }})
	return o
}

func (o *ordering) desired(st *fleetstate.State, q query.Query) (*response.Response, error) {
	return o.responses.Get(context.Background(), st, q)
}

func (o *ordering) query(applicationSet, component string) query.Query {
	q := querytest.Query(o, `{"view":"components","group":"addons","component":"`+component+`"}`)
	q.ApplicationSet = applicationSet
	return q
}

// state follows the one before, with changed files and these Applications.
func (o *ordering) state(revision string, more fleettest.Tree, apps ...facts.Application) *fleetstate.State {
	o.Helper()
	o.files = o.files.With(more)
	o.st = querytest.NoProblems(o, querytest.Next(o, o.st, fleettest.Snapshot(revision, o.files), facts.NewSet(false).WithApplications(apps...).WithHealth()))
	return o.st
}

// compose returns the response of a state to a query, and its sets by Application.
func (o *ordering) compose(st *fleetstate.State, q query.Query) (*response.Response, map[string]response.ParameterSet) {
	o.Helper()
	out, err := o.desired(st, q)
	if err == nil {
		out, err = o.Compose(st, q, out)
	}
	require.NoError(o, err)
	all := map[string]response.ParameterSet{}
	out.ParameterSets(func(s response.ParameterSet) { all[s.Item().Name] = s })
	return out, all
}

// applied are the Applications that a state asks for by a query.
func (o *ordering) applied(st *fleetstate.State, q query.Query, isHealthy bool) (out []facts.Application) {
	o.Helper()
	r, err := o.desired(st, q)
	require.NoError(o, err)
	r.ParameterSets(func(s response.ParameterSet) {
		i := s.Item()
		out = append(out, facts.Application{Name: i.Name, Cluster: i.Cluster, Group: i.Group, Component: i.Component, Release: i.Release, Controller: q.ApplicationSet, Digest: s.Digest(), Healthy: isHealthy})
	})
	return out
}

// TestServedStateHasOneBefore: a state is served a moment before the order hears of it. What waits
// stays then as well, as the state before asks for it. (P1)
func TestServedStateHasOneBefore(t *testing.T) {
	o := newOrdering(t, "{enabled: true, "+webEntry+"}")
	dns, web := o.query("dns", "dns"), o.query("web", "web")
	first := o.state("first", nil)
	apps := append(o.applied(first, dns, true), o.applied(first, web, true)...)
	first = o.state("first", nil, apps...)
	_, was := o.compose(first, web)
	o.Order = order.New(order.Options{Desired: o.desired, Queries: func() map[string][]query.Query { return o.sets }}) // nobody has asked since the start
	o.Serving(first)
	second := o.state("second", fleettest.Tree{dnsValues: "new: true\n", webValues: "new: true\n"}, apps...)
	for _, isNoted := range []bool{false, true} {
		if isNoted {
			o.Serving(second)
		}
		if _, is := o.compose(second, web); is["web-one"].Digest() != was["web-one"].Digest() {
			t.Errorf("noted: %t: web goes ahead of dns", isNoted)
		}
	}
}

// TestLateResponseForgetsNothing: a response to a state that is not served any more takes nothing
// away of what the newer one has given. A component whose dependency fails before its Application
// is seen stays. (P1, P2)
func TestLateResponseForgetsNothing(t *testing.T) {
	o := newOrdering(t, "{"+webEntry+"}")
	const ofTwo = "addons/tenants/retail/clusters/two/application-sets/addons.yaml"
	dns, web := o.query("dns", "dns"), o.query("web", "web")
	healthy := o.applied(o.state("first", fleettest.Tree{ofTwo: "web: {enabled: true}\n"}), dns, true)
	first := o.state("first", nil, healthy...)
	o.Serving(first)
	late, _ := o.compose(first, web)
	second := o.state("second", fleettest.Tree{fleettest.OneCatalog: "web: {enabled: true}\n"}, healthy...)
	o.Serving(second)
	given, is := o.compose(second, web)
	if _, there := is["web-one"]; !there {
		t.Fatal("web waits for a healthy dns")
	}
	o.Given(second, web, given)
	o.Given(first, web, late) // it began before
	failing := o.state("second", nil, o.applied(second, dns, false)...)
	o.Serving(failing)
	_, is = o.compose(failing, web)
	if _, there := is["web-one"]; !there {
		t.Error("web is left out, which Argo CD has just made")
	}
}

// TestRenamedApplicationSetHoldsNobody: of an ApplicationSet that is gone, a query is remembered.
// What it asked for does not count where another one asks for the component now. (rule 6)
func TestRenamedApplicationSetHoldsNobody(t *testing.T) {
	o := newOrdering(t, "{enabled: true, "+webEntry+"}")
	based := func(applicationSet, version string) query.Query {
		q := o.query(applicationSet, "dns")
		q.Base = map[string]any{"namespace": "namespace-" + version, "enabled": true}
		return q
	}
	old, renamed, web := based("dns-old", "1"), based("dns", "2"), o.query("web", "web")
	first := o.state("first", nil)
	o.Serving(first)
	o.sets = map[string][]query.Query{"dns-old": {old}, "web": {web}}
	o.compose(first, old)
	o.sets = map[string][]query.Query{"dns": {renamed}, "web": {web}}
	second := o.state("first", nil, o.applied(first, renamed, true)...)
	o.Serving(second)
	o.compose(second, renamed)
	_, is := o.compose(second, web)
	if _, there := is["web-one"]; !there {
		t.Errorf("web waits: %v", o.Waits(second))
	}
}

// TestStrangersDoNotFillTheMemory: however many queries others than ApplicationSets have made, what
// an ApplicationSet gets is remembered: a component whose dependency fails before its Application
// is seen stays. (P1, H10)
func TestStrangersDoNotFillTheMemory(t *testing.T) {
	o := newOrdering(t, "{enabled: true, "+webEntry+"}")
	dns, web := o.query("dns", "dns"), o.query("web", "web")
	healthy := o.applied(o.state("first", nil), dns, true)
	first := o.state("first", nil, healthy...)
	o.Serving(first)
	flood := func(by string) {
		answer, err := o.responses.Get(context.Background(), first, dns)
		for i := range 5000 {
			if err == nil {
				_, err = o.Compose(first, o.query(fmt.Sprint(by, i), "other"), answer)
			}
		}
		require.NoError(t, err)
	}
	flood("stranger-")
	given, _ := o.compose(first, web)
	o.Given(first, web, given)
	flood("another-")
	failing := o.state("first", nil, o.applied(first, dns, false)...)
	o.Serving(failing)
	_, is := o.compose(failing, web)
	if _, there := is["web-one"]; !there {
		t.Error("web is left out, which Argo CD has just made")
	}
}
