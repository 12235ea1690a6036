package response_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	ofGrants = `{"view":"grants"}`
	ofHub    = `{"view":"components","group":"addons"}`
	ofOne    = `{"view":"components","group":"addons","owner":"one"}`
	argoOne  = "use_remote_argo: true\nenable_remote_addons: true\n"
	hubsOne  = "use_remote_argo: true\n"
)

func agentOne(keys string) fleettest.Tree {
	return fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", keys), fleettest.Member("two"): ""})
}

func state(t testing.TB, files fleettest.Tree, known facts.Set) *fleetstate.State {
	t.Helper()
	st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), known)
	require.NoError(t, err)
	return st
}

// TestHubGrantsAGroupWithoutApplications: a group is granted when the hub has no Application of it
// any more, and is the hub's when the grant's Application has gone. Until then it is nobody's to
// begin with. Where nothing is known, Git alone decides. (M3)
func TestHubGrantsAGroupWithoutApplications(t *testing.T) {
	mine, hubs := agentOne(argoOne), agentOne(hubsOne)
	dns := fleettest.Controlled(fleettest.Application("dns", "one", "default"), "addons-default-dns")
	other := func(change func(*facts.Application)) facts.Application { a := dns; change(&a); return a }
	known := func(apps ...facts.Application) facts.Set { return facts.NewSet(false).WithApplications(apps...) }
	for _, c := range []struct {
		name          string
		files         fleettest.Tree
		known         facts.Set
		grants, byHub string
	}{
		{"nothing is known", mine, facts.NewSet(false), "grant-addons-one", "dns-hub"},
		{"nothing is there", mine, known(), "grant-addons-one", "dns-hub"},
		{"the hub has it", mine, known(dns), "", "dns-hub"},
		{"the hub has it, and nobody controls it", mine, known(other(func(a *facts.Application) { a.Controller = "" })), "", "dns-hub"},
		{"what is switched off is there", mine, known(other(func(a *facts.Application) { a.Name, a.Component = "old-one", "old" })), "", "dns-hub"},
		{"another group's", mine, known(other(func(a *facts.Application) { a.Group = "resources" })), "grant-addons-one", "dns-hub"},
		{"another cluster's", mine, known(other(func(a *facts.Application) { a.Name, a.Cluster = "dns-hub", "hub" })), "grant-addons-one", "dns-hub"},
		{"it is granted", mine, known(fleettest.GrantOfOne), "grant-addons-one", "dns-hub"},
		{"it is granted, and something of the hub's has come", mine, known(fleettest.GrantOfOne, dns), "grant-addons-one", "dns-hub"},
		{"the hub is to have it, and it is granted", hubs, known(fleettest.GrantOfOne), "", "dns-hub"},
		{"the hub has it although it is granted", hubs, known(fleettest.GrantOfOne, dns), "", "dns-hub"},
		{"the hub is to have it", hubs, known(), "", "dns-hub dns-one"},
		{"the hub is to have it, and another group is granted", hubs, known(facts.Application{Name: "grant-resources-one", Cluster: "one", Group: "resources", Grant: true}), "", "dns-hub dns-one"},
		{"no agent any more, and it is granted", agentOne(""), known(fleettest.GrantOfOne), "", "dns-hub"},
		{"no agent any more", agentOne(""), known(), "", "dns-hub dns-one"},
		{"retired", agentOne(argoOne + "lifecycle: retired\n"), known(fleettest.GrantOfOne), "grant-addons-one", "dns-hub"},
		{"retired, and not registered any more", agentOne(argoOne + "lifecycle: retired\n"), facts.NewSet(true, facts.Cluster{Name: "hub"}).WithApplications(fleettest.GrantOfOne), "", "dns-hub"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := state(t, c.files, c.known)
			assert.Equal(t, c.grants, querytest.Names(t, st, ofGrants), "grants")
			assert.Equal(t, c.byHub, querytest.Names(t, st, ofHub), "the hub's components")
			for name, s := range querytest.Ask(t, st, ofGrants) {
				if s.Text("group") != "addons" || s.Text("engine") != "argocd" || s.Text("deletion") != fleet.Cascade || s.Text("name") != "one" {
					t.Errorf("%s: %v", name, s)
				}
			}
		})
	}
	lost := facts.NewSet(true, facts.Cluster{Name: "hub"}).WithApplications(fleettest.GrantOfOne)
	if _, err := response.Bytes(state(t, mine, lost), querytest.Query(t, ofGrants)); err == nil || !strings.Contains(err.Error(), "no cluster Secret") {
		t.Errorf("a member whose Secret has gone loses its grant: %v", err)
	}
}

// TestMemberRunsTheGroupsItHolds: with its grants watched, a member's engine has a group exactly
// while it holds the grant, whatever Git says; what asks for components may be there before.
// Retired, it goes on by itself, to remove what it has. (M3)
func TestMemberRunsTheGroupsItHolds(t *testing.T) {
	held, arrived := facts.OwnershipGrant{Group: "addons", UID: "1", Held: true}, facts.OwnershipGrant{Group: "addons", UID: "1"}
	leaving := facts.OwnershipGrant{Group: "addons", UID: "1", Held: true, IsDeleted: true}
	mine, hubs := agentOne(argoOne), agentOne(hubsOne)
	dns := fleettest.Application("dns", "one", "default")
	has := func(grants ...facts.OwnershipGrant) facts.Set {
		return facts.NewSet(false).WithApplications(dns).WithGrants("one", grants...)
	}
	const releases, release = `{"view":"releases","group":"addons","owner":"one"}`, "application-sets-addons-default"
	for _, c := range []struct {
		name                        string
		files                       fleettest.Tree
		known                       facts.Set
		components, releases, cedes string
	}{
		{"nobody looks for grants", mine, facts.NewSet(false), "dns-one", release, ""},
		{"nobody looks for grants, the hub's", hubs, facts.NewSet(false), "", "", ""},
		{"another member's are looked for", mine, facts.NewSet(false).WithGrants("two"), "dns-one", release, ""},
		{"none", mine, has(), "", release, ""},
		{"not held yet", mine, has(arrived), "", release, ""},
		{"held", mine, has(held), "dns-one", release, ""},
		{"another group's", mine, has(facts.OwnershipGrant{Group: "resources", Held: true}), "", release, ""},
		{"to go, and the engine has something", mine, has(leaving), "", release, ""},
		{"to go, and the engine has nothing", mine, facts.NewSet(false).WithApplications().WithGrants("one", leaving), "", release, "addons"},
		{"to go, and nothing is known of the engine", mine, facts.NewSet(false).WithGrants("one", leaving), "", release, ""},
		{"to go, and the engine has another group", mine, facts.NewSet(false).WithApplications(facts.Application{Name: "x-one", Cluster: "one", Group: "resources", Component: "x"}).WithGrants("one", leaving), "", release, "addons"},
		{"Git has given it to the hub, which has not asked for it yet", hubs, has(held), "dns-one", release, ""},
		{"Git has given it to the hub, which asks for it", hubs, has(leaving), "", "", ""},
		{"no agent any more, and held", agentOne(""), has(held), "dns-one", release, ""},
		{"retired", agentOne(argoOne + "lifecycle: retired\ndeletion: cascade\n"), has(leaving), "dns-one", release, ""},
		{"retired, and marked", agentOne(argoOne + "lifecycle: retired\ndeletion: cascade\n"), facts.NewSet(false).WithApplications(fleettest.WithFinalizer(dns)).WithGrants("one", leaving), "", release, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := state(t, c.files, c.known)
			assert.Equal(t, c.components, querytest.Names(t, st, ofOne), "components")
			assert.Equal(t, c.releases, querytest.Names(t, st, releases), "releases")
			var cedes []string
			for _, g := range lifecycle.ReleasableGrants(st, "hub", "one") {
				cedes = append(cedes, g.Group)
			}
			assert.Equal(t, c.cedes, strings.Join(cedes, " "), "releases")
		})
	}
}

// TestFluxReleasesAGroupInTwoSteps: so has a member's Flux. It lets go of HelmReleases in two
// steps, and keeps the grant until they have gone; what is lost, and stays for ever (D1), holds up
// nothing. (M3)
func TestFluxReleasesAGroupInTwoSteps(t *testing.T) {
	held, leaving := facts.OwnershipGrant{Group: "addons", Held: true}, facts.OwnershipGrant{Group: "addons", Held: true, IsDeleted: true}
	mine, hubs := agentOne(fluxAgent), agentOne(strings.Replace(fluxAgent, "enable_remote_addons: true\n", "", 1))
	dns := fleettest.HelmRelease("dns", "one", "one")
	gone := dns
	gone.Name, gone.Component = "gone-one", "gone"
	off := fleettest.HelmRelease("old", "one", "one")
	identity := dns
	identity.Name = "dns-identity-one"
	companion := mine.With(fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart +
		", companions: {identity: {chart: {repoURL: https://charts.example, name: identity, version: 1.0.0}}}}\n"})
	silent := mine.With(fleettest.Tree{"addons/defaults/application-sets/addons.yaml": "dns: {" + fleettest.DNSChart + "}\n"})
	switchedOff := mine.With(fleettest.Tree{fleettest.OneCatalog: "old: {enabled: false, " + fleettest.DNSChart + "}\n"})
	for _, c := range []struct {
		name            string
		files           fleettest.Tree
		grant           *facts.OwnershipGrant
		there           []facts.Application
		artifact, cedes string
	}{
		{"held", mine, &held, nil, "dns-one", ""},
		{"held, and Git says the hub", hubs, &held, []facts.Application{dns}, "dns-one", ""},
		{"held, and no engine any more", agentOne(""), &held, []facts.Application{dns}, "dns-one", ""},
		{"held, and no engine any more, and nothing there yet", agentOne(""), &held, nil, "dns-one", ""},
		{"none yet", mine, nil, nil, "", ""},
		{"none any more", mine, nil, []facts.Application{dns}, "dns-one:orphan", ""},
		{"to go", mine, &leaving, []facts.Application{dns}, "dns-one:orphan", ""},
		{"to go, and Git says the hub", hubs, &leaving, []facts.Application{dns}, "dns-one:orphan", ""},
		{"to go, and suspended", mine, &leaving, []facts.Application{fleettest.Suspended(dns)}, "", ""},
		{"to go, and gone", mine, &leaving, nil, "", "addons"},
		{"to go, and what is left is in no catalog", mine, &leaving, []facts.Application{gone}, "", "addons"},
		{"to go, and nothing switches on what is left", silent, &leaving, []facts.Application{dns}, "", "addons"},
		{"to go, and a companion is left", companion, &leaving, []facts.Application{identity}, "", ""},
		{"to go, and a companion is left that the catalog has no more", mine, &leaving, []facts.Application{identity}, "", "addons"},
		{"to go, and what is left is being removed", switchedOff, &leaving, []facts.Application{fleettest.WithFinalizer(off)}, "", ""},
		{"to go, and what is left is another's", mine, &leaving, []facts.Application{fleettest.HelmRelease("dns", "one", "hub")}, "", "addons"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := facts.NewSet(false).WithHelmReleases(c.there...)
			if c.grant == nil {
				set = set.WithGrants("one")
			} else {
				set = set.WithGrants("one", *c.grant)
			}
			st := state(t, c.files, set)
			o, err := flux.OwnedBy(st, "hub", "one")
			require.NoError(t, err)
			var artifact []string
			for _, s := range o.Components {
				artifact = append(artifact, s.ApplicationName)
			}
			for _, s := range o.Removals {
				artifact = append(artifact, s.ApplicationName+":"+s.Deletion)
			}
			assert.Equal(t, c.artifact, strings.Join(artifact, " "), "artifact")
			var cedes []string
			for _, g := range lifecycle.ReleasableGrants(st, "hub", "one") {
				cedes = append(cedes, g.Group)
			}
			assert.Equal(t, c.cedes, strings.Join(cedes, " "), "releases")
		})
	}
}

// world is a hub and a member with an Argo CD each, and what they know of Git.
type world struct {
	t            testing.TB
	commits      [2]*snapshot.Snapshot // the member's, the hub's
	atHub, atOne int                   // the commit that each service has taken in
	hubs, ones   []facts.Application
	grant, going bool                  // the Application on the hub; it is being deleted
	arrived      *facts.OwnershipGrant // the ConfigMap on the member
	uid          int
	hubOff, mOff bool // a service that is down
	memory       [2]*fleetstate.State
}

func (w *world) hub() *fleetstate.State {
	apps := slices.Clone(w.hubs)
	if w.grant {
		apps = append(apps, fleettest.GrantOfOne)
	}
	return w.build(0, w.atHub, facts.NewSet(false).WithApplications(apps...))
}

func (w *world) one() *fleetstate.State {
	set := facts.NewSet(false).WithApplications(w.ones...)
	if w.arrived != nil {
		return w.build(1, w.atOne, set.WithGrants("one", *w.arrived))
	}
	return w.build(1, w.atOne, set.WithGrants("one"))
}

// build goes on from the service's last state, as the service does.
func (w *world) build(who, commit int, known facts.Set) *fleetstate.State {
	w.t.Helper()
	st, err := fleetstate.Build(w.memory[who], w.commits[commit], known)
	require.NoError(w.t, err)
	w.memory[who] = st
	return st
}

// reconcile is an ApplicationSet that asks for components of addons and makes them, and deletes
// what is left out.
func (w *world) reconcile(st *fleetstate.State, parameters string, apps *[]facts.Application) {
	*apps = nil
	for name := range querytest.Ask(w.t, st, parameters) {
		if name == "dns-one" {
			*apps = []facts.Application{fleettest.Controlled(fleettest.Application("dns", "one", "default"), "addons")}
		}
	}
}

// steps are what may happen, in any order.
var steps = map[string]func(w *world){
	"the hub's service fetches":    func(w *world) { w.atHub = (w.atHub + 1) % 2 },
	"the member's service fetches": func(w *world) { w.atOne = (w.atOne + 1) % 2 },
	"the hub's service stops":      func(w *world) { w.hubOff, w.memory[0] = !w.hubOff, nil },
	"the member's service stops":   func(w *world) { w.mOff, w.memory[1] = !w.mOff, nil },
	"the hub's components": func(w *world) {
		if !w.hubOff {
			w.reconcile(w.hub(), ofHub, &w.hubs)
		}
	},
	"the member's components": func(w *world) {
		if !w.mOff {
			w.reconcile(w.one(), ofOne, &w.ones)
		}
	},
	"the hub's grants": func(w *world) {
		if w.hubOff {
			return
		}
		is := len(querytest.Ask(w.t, w.hub(), ofGrants)) > 0
		switch {
		case is && !w.grant:
			w.grant = true
		case !is && w.grant:
			w.going = true // its finalizer keeps it
		}
	},
	"the hub syncs the grant": func(w *world) {
		switch {
		case w.going && w.arrived == nil:
			w.grant, w.going = false, false
		case w.going:
			w.delete()
		case w.grant && w.arrived == nil:
			w.uid++
			w.arrived = &facts.OwnershipGrant{Group: "addons", UID: fmt.Sprint(w.uid)}
		}
	},
	"somebody deletes the ConfigMap": func(w *world) {
		if w.arrived != nil {
			w.delete()
		}
	},
	"the member's service holds": func(w *world) {
		if w.mOff || w.arrived == nil {
			return
		}
		if !w.arrived.Held && !w.arrived.IsDeleted {
			w.arrived.Held = true
		}
		if w.arrived.IsDeleted && slices.Contains(lifecycle.ReleasableGrants(w.one(), "hub", "one"), *w.arrived) {
			w.arrived = nil
		}
	},
}

// delete is what the API server does.
func (w *world) delete() {
	if w.arrived.IsDeleted = true; !w.arrived.Held {
		w.arrived = nil
	}
}

// TestNoTwoEnginesHaveAGroup: whatever happens in whatever order, the services knowing different
// commits or being down, no group is in both Argo CDs at any moment; and when nothing happens any
// more, it is where Git says. (M3)
func TestNoTwoEnginesHaveAGroup(t *testing.T) {
	commits := [2]*snapshot.Snapshot{
		fleettest.Snapshot("member", agentOne(argoOne)), fleettest.Snapshot("hub", agentOne(hubsOne)),
	}
	names := slices.Sorted(maps.Keys(steps))
	var toHub, toOne int
	runs := cases.Times(40)
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := &world{t: t, commits: commits}
		var done []string
		step := func(name string) {
			done = append(done, name)
			hubHad, oneHad := len(w.hubs) > 0, len(w.ones) > 0
			steps[name](w)
			if len(w.hubs) > 0 && len(w.ones) > 0 {
				t.Fatalf("seed %d: both have it after\n%s", seed, strings.Join(done[max(0, len(done)-25):], "\n"))
			}
			if len(w.hubs) > 0 && !hubHad {
				toHub++
			}
			if len(w.ones) > 0 && !oneHad {
				toOne++
			}
		}
		for range 150 {
			step(names[r.IntN(len(names))])
		}
		w.hubOff, w.mOff = false, false
		w.atHub, w.atOne = int(seed%2), int(seed%2)
		for range 12 { // in any order, each several times
			for _, i := range r.Perm(len(names)) {
				if name := names[i]; !strings.Contains(name, "fetches") && !strings.Contains(name, "stops") && !strings.Contains(name, "somebody") {
					step(name)
				}
			}
		}
		if len(w.ones) > 0 != (seed%2 == 0) || len(w.hubs) > 0 != (seed%2 == 1) {
			t.Errorf("seed %d: by Git it is %s's; the hub has %v and the member %v", seed, commits[seed%2].Revision, w.hubs, w.ones)
		}
	}
	if toHub < runs/2 || toOne < runs/2 {
		t.Errorf("the group came to the hub %d times and to the member %d times: nothing has been tried", toHub, toOne)
	}
}

// A departure because of a grant is a move, not a loss (D2): the removal budget counts none.
func TestWaitingForAGrantIsAMove(t *testing.T) {
	dns := fleettest.Application("dns", "one", "default")
	for name, c := range map[string]struct {
		files fleettest.Tree
		known facts.Set
		asks  string
		to    string
	}{
		"the hub waits":                     {agentOne(hubsOne), facts.NewSet(false).WithApplications(fleettest.GrantOfOne, dns), ofHub, ""},
		"the member waits":                  {agentOne(argoOne), facts.NewSet(false).WithApplications(dns).WithGrants("one"), ofOne, ""},
		"the member lets go":                {agentOne(hubsOne), facts.NewSet(false).WithApplications(dns).WithGrants("one"), ofOne, fmt.Sprint(lifecycle.Destination{Owner: "hub", Release: "default"})},
		"the grant goes":                    {agentOne(hubsOne), facts.NewSet(false).WithApplications(fleettest.GrantOfOne), ofGrants, ""},
		"the grant of no agent any more":    {agentOne(""), facts.NewSet(false).WithApplications(fleettest.GrantOfOne), ofGrants, ""},
		"the grant waits, anew, for others": {agentOne(argoOne), facts.NewSet(false).WithApplications(dns), ofGrants, ""},
	} {
		t.Run(name, func(t *testing.T) {
			st := state(t, c.files, c.known)
			d, err := lifecycle.RemovalsOf(st, querytest.Query(t, c.asks))
			require.NoError(t, err)
			component := "dns"
			if c.asks == ofGrants {
				component = ""
			}
			got := d.Of("one", component)
			if to := fmt.Sprint(got.To); got.Reason != lifecycle.Moved || got.Deletion != fleet.Orphan || c.to != "" && to != c.to || c.to == "" && got.To != (lifecycle.Destination{}) {
				t.Errorf("%+v", got)
			}
		})
	}
	gone, err := lifecycle.RemovalsOf(state(t, agentOne(argoOne).With(fleettest.Tree{fleettest.Member("one"): ""}), facts.NewSet(false).WithApplications(fleettest.GrantOfOne)), querytest.Query(t, ofGrants))
	require.NoError(t, err)
	if got := gone.Of("one", ""); got.Reason != lifecycle.Lost {
		t.Errorf("without a member file: %+v", got)
	}
}

// TestRetiredWhileItsGroupIsHandedBack: the engine that still holds the grant removes what runs,
// and the hub keeps the connection until the grant has been returned. (D3, M3, C3)
func TestRetiredWhileItsGroupIsHandedBack(t *testing.T) {
	files := agentOne(hubsOne + "lifecycle: retired\ndeletion: cascade\n")
	dns := fleettest.Application("dns", "one", "default")
	for _, leaving := range []bool{false, true} {
		grant := facts.OwnershipGrant{Group: "addons", UID: "1", Held: true, IsDeleted: leaving}
		st := state(t, files, facts.NewSet(false).WithApplications(dns).WithGrants("one", grant))
		if got := querytest.Ask(t, st, ofOne)["dns-one"].Text("deletion"); got != fleet.Cascade {
			t.Errorf("grant being deleted %t: dns-one is %q: its workloads stay for ever", leaving, got)
		}
	}
	hub := state(t, files, facts.NewSet(false).WithApplications(fleettest.Registration("one"), fleettest.GrantOfOne))
	if got := querytest.Ask(t, hub, `{"view":"members"}`)["fleet-secret-one"].Text("deletion"); got != fleet.Orphan {
		t.Errorf("the registration is %q while the grant is being returned", got)
	}
}
