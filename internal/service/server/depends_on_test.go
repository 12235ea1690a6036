package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// ordered is a fleet in which web of member a waits for dns, with further files.
func ordered(more map[string]string) map[string]string {
	return repository(with(map[string]string{
		"addons/tenants/retail/clusters/a/application-sets/addons.yaml": "web: {enabled: true, dependsOn: [addons/dns], chart: {repoURL: r, path: p, version: v1}}\n",
	}, more))
}

const (
	valuesOfDNS = "addons/tenants/retail/clusters/a/addons/dns/values.yaml"
	valuesOfWeb = "addons/tenants/retail/clusters/a/addons/web/values.yaml"
	catalogOfA  = "addons/tenants/retail/clusters/a/application-sets/addons.yaml"
)

// bothChanged changes web and what it waits for.
var bothChanged = map[string]string{valuesOfDNS: "replicas: 2\n", valuesOfWeb: "replicas: 2\n"}

// orderly is a hub that runs what it is answered, and reports the health that a test decides.
type orderly struct {
	*service
	facts *changingFacts
	sets  *asking
	apps  map[string]facts.Application
}

func newOrderly(t *testing.T, change ...func(*server.Options)) *orderly {
	t.Helper()
	h := &orderly{
		facts: &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications().WithHealth()},
		sets: &asking{refreshed: make(chan string, 1000), sets: []facts.ApplicationSet{
			{Name: ofDNS, Requests: []json.RawMessage{[]byte(askDNS)}}, {Name: ofWeb, Requests: []json.RawMessage{[]byte(askWeb)}},
		}},
		apps: map[string]facts.Application{},
	}
	h.service = start(t, append([]func(*server.Options){func(o *server.Options) { o.Facts, o.ApplicationSets = h.facts, h.sets }}, change...)...)
	return h
}

// apply makes the Applications of one ApplicationSet as it is answered; they are not healthy yet.
func (h *orderly) apply(name, parameters string) {
	h.Helper()
	r := h.askAs(name, parameters)
	if r.code != http.StatusOK {
		return // Argo CD leaves everything as it is
	}
	is := map[string]bool{}
	for _, s := range querytest.Sets(h, []byte(r.body)) {
		app := s.Text("applicationName")
		is[app] = true
		if old, there := h.apps[app]; !there || old.Digest != s.Text("digest") {
			h.apps[app] = facts.Application{
				Name: app, Cluster: s.Text("name"), Group: s.Text("group"), Component: s.Text("component"), Release: s.Text("release"),
				Controller: name, Digest: s.Text("digest"), Cascade: s.Text("deletion") == "cascade",
			}
		}
	}
	for app, a := range h.apps {
		if a.Controller == name && !is[app] {
			delete(h.apps, app)
		}
	}
	h.report()
}

// deploy makes dns and then web, which waits for it.
func (h *orderly) deploy() {
	h.Helper()
	h.say(ordered(nil))
	h.apply(ofDNS, askDNS)
	h.health(true, "dns-a")
	h.apply(ofWeb, askWeb)
}

// report tells the service what there is.
func (h *orderly) report() {
	h.Helper()
	var all []facts.Application
	for _, a := range h.apps {
		all = append(all, a)
	}
	set := facts.NewSet(false).WithApplications(all...).WithHealth()
	h.facts.tell(set)
	h.service.settled(set)
}

// health sets that of Applications.
func (h *orderly) health(is bool, names ...string) {
	h.Helper()
	for _, name := range names {
		a := h.apps[name]
		a.Healthy = is
		h.apps[name] = a
	}
	h.report()
}

// settled waits until the service serves these facts.
func (s *service) settled(set facts.Set) {
	s.Helper()
	s.until("took in the facts", func(refresh.Status) bool {
		st := s.Refresher().State()
		return st != nil && st.Facts().Equal(set)
	})
}

// web is member a's set of web, nil for none.
func (h *orderly) web() querytest.Set {
	h.Helper()
	r := h.askAs(ofWeb, askWeb)
	if r.code != http.StatusOK {
		h.Fatalf("%d %s", r.code, r.body)
	}
	for _, s := range querytest.Sets(h, []byte(r.body)) {
		if s.Text("name") == "a" {
			return s
		}
	}
	return nil
}

// waits checks what waits in the responses of the state that is served. A state may follow that
// says the same, of which nothing was asked yet: then both are asked again.
func (h *orderly) waits(want string) {
	h.Helper()
	for range 100 {
		st := h.Refresher().State()
		h.askAs(ofDNS, askDNS)
		h.askAs(ofWeb, askWeb)
		var got []string
		for _, w := range (hold.Query{Reason: hold.Dependency}).Of(h.Holds(st)) {
			got = append(got, w.Subject()+" of "+w.Cluster+" "+w.Detail)
		}
		if h.Refresher().State() != st {
			continue
		}
		assert.Equal(h, want, strings.Join(got, "\n"), "waits: %q; want", got)
		return
	}
	h.Error("the state never settles")
}

// TestNewComponentWaitsForItsDependency: a component appears on a cluster when what it depends on
// is healthy there at what the repository asks for, and not before. (P1)
func TestNewComponentWaitsForItsDependency(t *testing.T) {
	h := newOrderly(t)
	h.say(ordered(nil))
	if h.web() != nil {
		t.Fatal("web is there before dns")
	}
	h.waits("addons/web of a waits for addons/dns: it has no Application yet")
	const listed = `"waiting":[{"hub":"hub-1","cluster":"a","group":"addons","component":"web","for":"addons/dns","reason":"it has no Application yet","new":true}]`
	assert.Contains(t, h.get("/api/v1/fleet").body, listed, "the fleet does not list it")
	h.apply(ofDNS, askDNS)
	if h.web() != nil {
		t.Fatal("web is there before dns is healthy")
	}
	h.waits("addons/web of a waits for addons/dns: its Application is not healthy")
	h.health(true, "dns-b")
	if h.web() != nil {
		t.Fatal("web of a is there because dns of b is healthy")
	}
	for len(h.sets.refreshed) > 0 {
		<-h.sets.refreshed
	}
	h.health(true, "dns-a")
	for name := ""; name != ofWeb; {
		name = <-h.sets.refreshed // Argo CD is made to ask again
	}
	if h.web() == nil {
		t.Fatal("web never comes")
	}
	h.waits("")
}

// TestChangedComponentStaysUntilItsDependencyIsHealthy: a component whose dependency changes in the
// same commit stays byte for byte as it was until the dependency is healthy at its new digest; an
// old health does not count. (P1)
func TestChangedComponentStaysUntilItsDependencyIsHealthy(t *testing.T) {
	h := newOrderly(t)
	h.deploy()
	h.health(true, "web-a")
	was := h.askAs(ofWeb, askWeb)

	both := ordered(bothChanged)
	h.say(both)
	if r := h.askAs(ofWeb, askWeb); r.body != was.body {
		t.Errorf("web changes before dns:\n%s\n%s", was.body, r.body)
	}
	h.waits("addons/web of a waits for addons/dns: its Application is not the newest")
	h.apply(ofDNS, askDNS)
	h.apply(ofWeb, askWeb)
	if r := h.askAs(ofWeb, askWeb); r.body != was.body {
		t.Errorf("web changes while dns is not healthy:\n%s", r.body)
	}
	h.say(with(both, map[string]string{valuesOfWeb: "replicas: 3\n"}))
	h.health(true, "dns-a")
	if got := h.web(); got == nil || got.Text("helmValues") != "replicas: 3\n" {
		t.Errorf("web after dns: %v", got)
	}
	h.apply(ofWeb, askWeb)

	// What is as it is to be does not wait, however unhealthy its dependency is.
	now := h.askAs(ofWeb, askWeb)
	h.health(false, "dns-a")
	if r := h.askAs(ofWeb, askWeb); r.body != now.body {
		t.Errorf("web changes because dns is ill:\n%s", r.body)
	}
}

// TestWaitSurvivesARestart: what stays as it was stays byte for byte with a service that starts
// while it waits, and with a replica that has never given it. (P1, G4)
func TestWaitSurvivesARestart(t *testing.T) {
	shared, _ := newSharedStore(t)
	h := newOrderly(t, in(shared))
	h.deploy()
	both := ordered(bothChanged)
	h.say(both)
	was := h.askAs(ofWeb, askWeb)
	h.waits("addons/web of a waits for addons/dns: its Application is not the newest")
	require.NoError(t, h.Stop(t.Context()))
	next := newOrderly(t, in(shared))
	next.apps = h.apps
	next.say(both)
	next.report()
	if r := next.answered(ofWeb, askWeb); r.code != http.StatusOK || r.body != was.body {
		t.Errorf("after the restart: %d %s\nbefore: %s", r.code, r.body, was.body)
	}
	next.apply(ofDNS, askDNS)
	next.health(true, "dns-a")
	if got := next.web(); got == nil || got.Text("helmValues") != "replicas: 2\n" {
		t.Errorf("web after dns: %v", got)
	}
}

// TestChangeBeforeTheFirstQueryWaits: a commit that comes before anybody has asked a service since
// it started waits all the same: what stays is what the state before asks for. (P1)
func TestChangeBeforeTheFirstQueryWaits(t *testing.T) {
	h := newOrderly(t)
	h.deploy()
	next := newOrderly(t)
	next.apps = h.apps
	next.say(ordered(nil))
	next.report()
	next.say(ordered(bothChanged))
	if got := next.web(); got == nil || got.Text("helmValues") != h.web().Text("helmValues") {
		t.Errorf("web before dns: %v", got)
	}
	next.waits("addons/web of a waits for addons/dns: its Application is not the newest")
}

// TestForgottenSetHoldsUpNobodyElse: where nobody knows the last parameter set of a component that
// waits, the order of that Application is given up: a tenant's entry must not refuse the response
// for the clusters of others. (P1, W1)
func TestForgottenSetHoldsUpNobodyElse(t *testing.T) {
	h := newOrderly(t)
	h.deploy()
	next := newOrderly(t)
	next.apps = h.apps
	next.say(ordered(bothChanged))
	next.report()
	if got := next.web(); got == nil || got.Text("helmValues") != "replicas: 2\n" {
		t.Errorf("web: %v", got)
	}
	next.waits("")
	if log := next.log.String(); !strings.Contains(log, "the order is given up") || !strings.Contains(log, "component=web") {
		t.Errorf("the log does not say so: %s", log)
	}
}

// TestDependencyThatDoesNotRunIsNotWaitedFor: what is switched off on a cluster holds nothing
// there, and where nobody knows health nothing waits. (P1)
func TestDependencyThatDoesNotRunIsNotWaitedFor(t *testing.T) {
	h := newOrderly(t)
	h.say(ordered(map[string]string{catalogOfA: ordered(nil)[catalogOfA] + "dns: {enabled: false}\n"}))
	if h.web() == nil {
		t.Error("web waits for a component that does not run")
	}
	s := start(t)
	s.say(ordered(nil))
	s.gives(ofWeb, askWeb, 1)
}

// TestRemovalInReverseOrder: of two components that are removed, the one that depends on the other
// goes first; the other one keeps its workloads until the first one's Application is gone. (P2)
func TestRemovalInReverseOrder(t *testing.T) {
	h := newOrderly(t)
	h.say(ordered(nil))
	h.apply(ofDNS, askDNS)
	h.health(true, "dns-a", "dns-b")
	h.apply(ofWeb, askWeb)
	h.health(true, "web-a")
	deletion := func() string {
		for _, s := range querytest.Sets(t, []byte(h.askAs(ofDNS, askDNS).body)) {
			if s.Text("name") == "a" {
				return s.Text("deletion")
			}
		}
		return "gone"
	}
	h.say(ordered(map[string]string{
		catalogOfA:          strings.Replace(ordered(nil)[catalogOfA], "enabled: true", "enabled: false", 1) + "dns: {enabled: false}\n",
		"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\nguard: {maxRemovals: 100%}\n",
	}))
	require.Equal(t, "orphan", deletion(), "dns before web")
	if got := h.web(); got.Text("deletion") != "cascade" {
		t.Fatalf("web: %v", got)
	}
	h.waits("addons/dns of a waits for addons/web: its Application is removed first")
	h.apply(ofWeb, askWeb) // gets the finalizer
	assert.Equal(t, "orphan", deletion(), "dns while web is being removed")
	h.apply(ofWeb, askWeb) // is left out
	assert.Equal(t, "cascade", deletion(), "dns after web")
}

// TestOrderedResponseIsThatOfItsBase: a query with another catalog entry gets another response,
// also in the same state and by the same name. Earlier queries do not count. (G6, P1)
func TestOrderedResponseIsThatOfItsBase(t *testing.T) {
	h := newOrderly(t)
	h.say(ordered(nil))
	h.apply(ofDNS, askDNS)
	h.health(true, "dns-a", "dns-b")
	ask := func(version string) reply {
		return h.askAs("shop", `{"view":"components","group":"addons","component":"shop","base":{"enabled":true,"dependsOn":["addons/dns"],`+
			`"chart":{"repoURL":"r","name":"n","version":"`+version+`"}}}`)
	}
	for range 100 {
		st := h.Refresher().State()
		first, second := ask("7.7.7"), ask("8.8.8")
		if h.Refresher().State() != st {
			continue
		}
		first.is(t, http.StatusOK, "the first", `"7.7.7"`)
		if second.code != http.StatusOK || !strings.Contains(second.body, `"8.8.8"`) || strings.Contains(second.body, `"7.7.7"`) {
			t.Errorf("the second: %d %s", second.code, second.body)
		}
		return
	}
	t.Error("the state never settles")
}

// TestDependencyOfATemplatedQueryIsFound: an ApplicationSet asks for dns by a query that Argo CD
// alone knows, beside one that is known. What has been asked counts. (P1)
func TestDependencyOfATemplatedQueryIsFound(t *testing.T) {
	h := newOrderly(t)
	h.sets.mu.Lock()
	h.sets.sets = []facts.ApplicationSet{
		{Name: ofDNS, Requests: []json.RawMessage{[]byte(`{"view":"members"}`)}, Templated: true}, {Name: ofWeb, Requests: []json.RawMessage{[]byte(askWeb)}},
	}
	h.sets.mu.Unlock()
	h.deploy()
	if h.web() == nil {
		t.Error("web waits for ever: ", h.Holds(h.Refresher().State()))
	}
}
