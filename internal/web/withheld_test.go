package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web"
)

// TestWhyHidesChangesOfTheFormerTenant: a cluster that has moved shows its new tenant nothing of
// what the former one changed.
func TestWhyHidesChangesOfTheFormerTenant(t *testing.T) {
	t.Parallel()
	const values, why = "addons/tenants/bank/clusters/secretive/addons/dns/values.yaml", "/api/v1/why?cluster=secretive&group=addons&component=dns"
	f := &fleet{}
	server := site(t, f)
	serve := func(revision string, more fleettest.Tree) {
		t.Helper()
		f.serve(t, strings.Repeat(revision, 40), wideFiles().With(more), facts.NewSet(false))
		get(t, server, secret, "/") // the timeline takes it in
	}
	serve("1", fleettest.Tree{values: "vault: {path: old}\n"})
	serve("2", fleettest.Tree{values: "vault: {path: new}\n"})
	if r := get(t, server, secret, why); !strings.Contains(r.body, `"vault.path": {`) {
		t.Fatalf("%d %s", r.code, r.body)
	}
	serve("3", fleettest.Tree{values: "vault: {path: new}\n", fleettest.Member("secretive"): "{clusterName: secretive, tenant: retail, environment: prod}\n"})
	if r := get(t, server, retail, why); r.code != 200 || strings.Contains(r.body, "vault") {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// TestErrorsNameNoOtherCluster: nor does the reason why a component cannot be computed.
func TestErrorsNameNoOtherCluster(t *testing.T) {
	t.Parallel()
	f := &fleet{}
	f.serve(t, "1", wideFiles().With(fleettest.Tree{
		fleettest.Member("dark-one"):                                  "{clusterName: dark-one, tenant: bank, environment: prod}\n",
		"addons/tenants/retail/defaults/application-sets/addons.yaml": "dns-dark: {enabled: true, chart: {repoURL: https://charts.example.com, name: dns, version: 1.0.0}}\n",
	}), facts.NewSet(false))
	server := site(t, f)
	const why = "/api/v1/why?cluster=one&group=addons&component=dns-dark"
	if r := get(t, server, secret, why); r.code != 503 || !strings.Contains(r.body, "dark-one") {
		t.Fatalf("%d %s", r.code, r.body)
	}
	if r := get(t, server, retail, why); r.code != 503 || strings.Contains(r.body, "dark-one") {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// TestScopeOfGroupsHidesRefusedRemovals: a token for groups sees no refused removal of another one.
func TestScopeOfGroupsHidesRefusedRemovals(t *testing.T) {
	t.Parallel()
	server := site(t, wide(t), func(o *web.Options) {
		o.Holds = func(st *fleetstate.State) []hold.Hold {
			return hold.Sorted(hold.OfRemovals(st, []guard.RefusedRemoval{{
				View: query.Components, Hub: "hub", Group: "monitoring", Component: "grafana",
				Message: "removal budget: 2 of 4 members would lose monitoring/grafana", Removals: []lifecycle.Removal{{Cluster: "one", Group: "monitoring", Component: "grafana"}},
			}}))
		}
	})
	if r := get(t, server, secret, "/held"); !strings.Contains(r.body, "grafana") {
		t.Fatal(r.body)
	}
	if r := get(t, server, addons, "/held"); strings.Contains(r.body, "grafana") {
		t.Error(r.body)
	}
}

// TestStaleMountsAreHeldBack: what of a mount's newest commit is not served is held back, and the
// pages do not call themselves current (U2).
func TestStaleMountsAreHeldBack(t *testing.T) {
	t.Parallel()
	f := &fleet{}
	f.serve(t, strings.Repeat("1", 40), fleettest.Small(), facts.Set{})
	f.status.Mounts = []refresh.Mount{{
		Path: "apps/cart", Repository: "https://git.example.com/shop/cart.git", Team: "cart", Revision: strings.Repeat("c", 40),
		Reason: "unreachable", Problem: "the server cannot be reached", Since: now.Add(-time.Hour),
	}}
	server := site(t, f)
	if r := get(t, server, secret, "/held"); strings.Contains(r.body, "Nothing is held") || !strings.Contains(r.body, "apps/cart") || !strings.Contains(r.body, "cannot be reached") {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r := get(t, server, secret, "/api/v1/freshness"); strings.Contains(r.body, `"state": "current"`) {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r := get(t, server, retail, "/held"); strings.Contains(r.body, "apps/cart") || strings.Contains(r.body, "git.example.com/shop") {
		t.Errorf("a team: %s", r.body)
	}
}

// TestSubjectsNameNoOtherCluster: a commit that concerns a tenant may name another one's cluster,
// at the beginning of its subject, too, and one that it removes.
func TestSubjectsNameNoOtherCluster(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		subject string
		more    fleettest.Tree
	}{
		{"Slower, as secretive has lost its vault", nil},
		{"Secretive has lost its vault", nil},
		{"Remove secretive: four takes over", fleettest.Tree{fleettest.Member("secretive"): ""}},
	} {
		f := &fleet{}
		f.serve(t, strings.Repeat("1", 40), wideFiles(), facts.NewSet(false))
		server := site(t, f)
		get(t, server, secret, "/") // the timeline begins
		next := fleettest.Snapshot(strings.Repeat("2", 40), wideFiles().With(c.more).With(fleettest.Tree{
			"addons/tenants/retail/clusters/four/addons/dns/values.yaml": "from: five\n",
		})).WithCommit(snapshot.Commit{Author: "ann", Subject: c.subject, At: now})
		require.NoError(t, f.tryServe(next, facts.NewSet(false)))
		for _, page := range []string{"/timeline", "/api/v1/timeline", "/why?cluster=four&group=addons&component=dns", "/api/v1/why?cluster=four&group=addons&component=dns"} {
			if r := get(t, server, secret, page); !strings.Contains(r.body, c.subject) {
				t.Errorf("%s, the platform: %d %s", page, r.code, r.body)
			}
			if r := get(t, server, retail, page); r.code != 200 || strings.Contains(strings.ToLower(r.body), "secretive") {
				t.Errorf("%s, a tenant: %d %s", page, r.code, r.body)
			}
		}
	}
}

// TestSubjectsMayHaveWordsWithNames: no name of a cluster that is a part of a word takes the
// subject away, nor a hub's.
func TestSubjectsMayHaveWordsWithNames(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"Charts come from GitHub now", "New charts on the hub", "Secretively"} {
		f := &fleet{}
		f.serve(t, strings.Repeat("1", 40), wideFiles(), facts.NewSet(false))
		server := site(t, f)
		get(t, server, secret, "/") // the timeline begins
		next := fleettest.Snapshot(strings.Repeat("2", 40), wideFiles().With(fleettest.Tree{
			fleettest.SystemCatalog: "dns: {enabled: true, chart: {repoURL: https://charts.example.com, name: dns, version: 2.0.0}, namespace: dns}\n",
		})).WithCommit(snapshot.Commit{Author: "ann", Subject: subject, At: now})
		require.NoError(t, f.tryServe(next, facts.NewSet(false)))
		if r := get(t, server, retail, "/api/v1/timeline"); !strings.Contains(r.body, subject) {
			t.Errorf("%s: %s", subject, r.body)
		}
	}
}
