package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// cession is a member's grants that remember what was released last.
type cession struct {
	mu   sync.Mutex
	last []facts.OwnershipGrant
}

func (c *cession) Member() string { return "a" }
func (c *cession) Release(grants []facts.OwnershipGrant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = slices.Clone(grants)
}
func (c *cession) Report(map[string]facts.GroupReport) {}
func (c *cession) String() string                      { c.mu.Lock(); defer c.mu.Unlock(); return fmt.Sprint(c.last) }

// Two kinds of member a: its addons are its own, and are the hub's. With no removal allowed at all,
// what waits for a grant is refused nowhere (G3): it moves.
func agentA(keys string) map[string]string {
	return repository(map[string]string{
		fileA:               memberA + "use_remote_argo: true\n" + keys,
		"fleet/layout.yaml": "guard: {maxRemovals: 0}\n",
	})
}

const (
	remoteAddons = "enable_remote_addons: true\n"
	setOfDNS     = "addons-default-dns"
	dnsOfHub     = `{"view":"components","group":"addons","component":"dns","release":"default"}`
	dnsOfA       = `{"view":"components","group":"addons","component":"dns","release":"default","owner":"a"}`
	allGrants    = `{"view":"grants"}`
)

var (
	dnsOnA   = facts.Application{Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Release: "default", Controller: setOfDNS}
	dnsOnB   = facts.Application{Name: "dns-b", Cluster: "b", Group: "addons", Component: "dns", Release: "default", Controller: setOfDNS}
	grantToA = facts.Application{Name: "grant-addons-a", Cluster: "a", Group: "addons", Grant: true, Cascade: true, Controller: "grants"}
)

// clustersOf are those of an ApplicationSet's answer.
func (s *service) clustersOf(set, parameters string) string {
	s.Helper()
	r := s.askAs(set, parameters)
	if r.code != http.StatusOK {
		s.Fatalf("%s: %d %s", set, r.code, r.body)
	}
	var answer struct {
		Output struct{ Parameters []struct{ Name string } }
	}
	require.NoError(s, json.Unmarshal([]byte(r.body), &answer))
	out := ""
	for _, p := range answer.Output.Parameters {
		out += p.Name + " "
	}
	return out
}

// TestHubGrantsAGroupItNoLongerHas: the hub's service grants a group when its Applications have
// gone, and has it again when the grant has. The ApplicationSets that this is about are refreshed
// at once, and no wait is a removal. (M3)
func TestHubGrantsAGroupItNoLongerHas(t *testing.T) {
	known := &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications(dnsOnA, dnsOnB)}
	sets := &asking{refreshed: make(chan string, 1000), sets: []facts.ApplicationSet{
		{Name: setOfDNS, Requests: []json.RawMessage{[]byte(dnsOfHub)}}, {Name: "grants", Requests: []json.RawMessage{[]byte(allGrants)}},
	}}
	s := start(t, func(o *server.Options) { o.Facts, o.ApplicationSets = known, sets })
	is := func(what, components, grants string) {
		t.Helper()
		s.eventually(what, func() bool { return s.clustersOf("grants", allGrants) == grants })
		assert.Equal(t, components, s.clustersOf(setOfDNS, dnsOfHub), "%s: components of", what)
	}
	now := func(apps ...facts.Application) { known.tell(facts.NewSet(false).WithApplications(apps...)) }
	s.say(agentA(""))
	is("the hub's", "a b hub-1 ", "")
	s.say(agentA(remoteAddons))
	is("the hub is to let go", "b hub-1 ", "")
	now(dnsOnB)
	is("the hub has let go", "b hub-1 ", "a ")
	sets.toldOf(t, "grants")
	now(dnsOnB, grantToA)
	s.say(agentA(""))
	is("the hub is to have it", "b hub-1 ", "")
	now(dnsOnB)
	s.eventually("the hub has it", func() bool { return s.clustersOf(setOfDNS, dnsOfHub) == "a b hub-1 " })
	sets.toldOf(t, setOfDNS)
}

// toldOf waits until an ApplicationSet is refreshed, after all that have been before the
// last such wait.
func (a *asking) toldOf(t *testing.T, name string) {
	t.Helper()
	for deadline := time.After(patient); ; {
		select {
		case got := <-a.refreshed:
			if got == name {
				return
			}
		case <-deadline:
			t.Fatalf("%s is never refreshed", name)
		}
	}
}

// TestMemberServesAGroupWhileItHoldsTheGrant: a member's service answers a group while it holds the
// grant, whatever Git says, and releases it when it answers nothing of the group and the engine has
// nothing of it; a grant that goes takes nothing along but the answer. (M3)
func TestMemberServesAGroupWhileItHoldsTheGrant(t *testing.T) {
	const uid = "7"
	arrived, held := facts.OwnershipGrant{Group: "addons", UID: uid}, facts.OwnershipGrant{Group: "addons", UID: uid, Held: true}
	leaving := facts.OwnershipGrant{Group: "addons", UID: uid, Held: true, IsDeleted: true}
	known, ceded := &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications().WithGrants("a")}, &cession{}
	s := start(t, func(o *server.Options) { o.Facts, o.Grants = known, ceded })
	is := func(what, components string, released ...facts.OwnershipGrant) {
		t.Helper()
		s.eventually(what+": "+components, func() bool { return s.clustersOf(setOfDNS, dnsOfA) == components })
		s.eventually(what+": "+fmt.Sprint(released), func() bool { return ceded.String() == fmt.Sprint(released) })
	}
	now := func(g []facts.OwnershipGrant, apps ...facts.Application) {
		known.tell(facts.NewSet(false).WithApplications(apps...).WithGrants("a", g...))
	}
	s.say(agentA(remoteAddons))
	is("by Git it is the member's", "")
	now([]facts.OwnershipGrant{arrived})
	is("the grant has arrived", "")
	now([]facts.OwnershipGrant{held})
	is("it is held", "a ")
	now([]facts.OwnershipGrant{held}, dnsOnA)
	s.say(agentA(""))
	is("by Git it is the hub's, which has not asked for it", "a ")
	now([]facts.OwnershipGrant{leaving}, dnsOnA)
	is("the hub asks for it", "")
	now([]facts.OwnershipGrant{leaving})
	is("the engine has let go", "", leaving)
	now(nil)
	is("the grant has gone", "")
}

// TestFluxMemberServesAGroupWhileItHoldsTheGrant: so does the service of a member with Flux, with
// the two steps in which it lets go of HelmReleases. (M3)
func TestFluxMemberServesAGroupWhileItHoldsTheGrant(t *testing.T) {
	held, leaving := facts.OwnershipGrant{Group: "addons", UID: "7", Held: true}, facts.OwnershipGrant{Group: "addons", UID: "7", Held: true, IsDeleted: true}
	dns := facts.Application{Name: "dns-f", Cluster: "f", Group: "addons", Component: "dns", Owner: "hub-1/f"}
	known := &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithHelmReleases().WithGrants("f")}
	ceded := &cessionOf{member: "f"}
	s := start(t, func(o *server.Options) { o.Facts, o.Grants = known, ceded })
	is := func(what, component string, released ...facts.OwnershipGrant) {
		t.Helper()
		s.eventually(what+": "+component, func() bool { return s.ofF("dns") == component })
		s.eventually(what+": "+fmt.Sprint(released), func() bool { return ceded.String() == fmt.Sprint(released) })
	}
	now := func(g facts.OwnershipGrant, releases ...facts.Application) {
		known.tell(facts.NewSet(false).WithHelmReleases(releases...).WithGrants("f", g))
	}
	s.say(fluxFleet(nil))
	is("not granted yet", "left out")
	now(held)
	is("held", "prune: disabled")
	now(leaving, dns)
	is("the hub asks for it", "deletion: orphan, suspend: true")
	dns.Suspended = true
	now(leaving, dns)
	is("it is suspended", "left out")
	now(leaving)
	is("it has gone", "left out", leaving)
}

// cessionOf is another member's.
type cessionOf struct {
	cession
	member string
}

func (c *cessionOf) Member() string { return c.member }
