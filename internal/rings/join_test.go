package rings

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const policyOfTwo = "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nrings:\n" +
	"  - {name: canary, selector: {matchLabels: {environment: dev}}}\n  - {name: prod, selector: {matchLabels: {environment: prod}}}\n"

// responseAfter serves commits, of which the first ring takes the second, then Applications. It
// returns the response.
func responseAfter(t *testing.T, q query.Query, commits []*snapshot.Snapshot, apps ...facts.Application) string {
	t.Helper()
	var st *fleetstate.State
	r := New(Options{
		Hub: q.Hub, Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler),
		Queries: func() map[string][]query.Query { return map[string][]query.Query{"all": {q}} },
		State:   func() *fleetstate.State { return st },
	})
	serve := func(files *snapshot.Snapshot, apps ...facts.Application) {
		t.Helper()
		next, err := fleetstate.Build(st, files, facts.NewSet(false).WithApplications(apps...).WithHealth())
		require.NoError(t, err)
		st = next
		r.Serving(st)
		r.Look(t.Context())
	}
	for _, files := range commits {
		serve(files)
	}
	serve(commits[len(commits)-1], apps...)
	if now := rev(r, "canary"); now != commits[1].Revision {
		t.Fatalf("the first ring has %s, want the second commit", now)
	}
	if was := rev(r, "prod"); was != commits[0].Revision {
		t.Fatalf("the later ring has %s, want the first", was)
	}
	out, err := r.Respond(context.Background(), st, q)
	require.NoError(t, err)
	return string(out.Bytes())
}

// rev is the revision of a ring of the only policy.
func rev(r *Rings, ring string) string {
	for _, p := range r.policies {
		return p.log.Rings[ring].Train.Revision
	}
	return ""
}

// TestMemberJoinsAFleetWithMounts: a member joins while a later ring has an earlier revision, in a
// fleet whose layout mounts a repository. The rings are answered. (G7)
func TestMemberJoinsAFleetWithMounts(t *testing.T) {
	const chart = "chart: {repoURL: https://git.example.com/x, path: web, version: main}"
	files := func(revision string, members map[string]string) *snapshot.Snapshot {
		tree := fleettest.Tree{
			"fleet/layout.yaml": "groups:\n  workloads: {catalog: [catalogs/workloads.yaml]}\n  teams: {root: addons, catalog: [catalogs/teams.yaml]}\n" +
				"mounts:\n  apps/cart: {url: \"https://git.example.com/cart\", team: cart}\n",
			"fleet/rollouts/all.yaml":       policyOfTwo,
			"versions/applicationSets.yaml": "releases: {}\n",
			"versions/fleetSecrets.yaml":    "releases: [{type: default, chartRepo: r, ecrChartName: c, version: '1'}]\n",
			"catalogs/teams.yaml":           "team: {" + chart + "}\nteam-project: {" + chart + "}\n",
			"catalogs/workloads.yaml":       "cart-web: {team: cart, namespace: cart, " + chart + "}\n",
			"fleet/teams/cart.yaml":         "name: cart\ntenant: shop\nowners: [o]\nclusters: {}\nnamespaces: [{name: cart, preset: small}]\nrepositories: [https://git.example.com/*]\n",
			fleettest.Member("hub"):         "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		}
		for name, environment := range members {
			tree[fleettest.Member(name)] = "{clusterName: " + name + ", tenant: shop, environment: " + environment + ", secretManagerSecretName: s}\n"
		}
		return fleettest.Snapshot(revision, tree).Join([]snapshot.Part{snapshot.NewPart("apps/cart", "https://git.example.com/cart", "c", []*snapshot.File{
			snapshot.NewFile("apps/cart/defaults/application-sets/workloads.yaml", []byte("cart-web: {enabled: true}\n"), snapshot.MaxFileSize),
			snapshot.NewFile("apps/cart/defaults/workloads/cart-web/values.yaml", []byte("replicas: 1\n"), snapshot.MaxFileSize),
		})})
	}
	first := files("1", map[string]string{"cart-1": "dev", "cart-2": "prod"})
	second := files("2", map[string]string{"cart-1": "dev", "cart-2": "prod", "cart-3": "prod"})
	mustHave(t, responseAfter(t, query.Query{View: query.Components, Hub: "hub", Group: "workloads"}, []*snapshot.Snapshot{first, second}), "cart-web-cart-2", "cart-web-cart-3")
}

// TestMemberJoinsWithItsRelease: one commit brings a member and the release that it is on. A later
// ring, whose revision lacks the release, refuses nobody once the member is registered; the member
// has what the commit says. (G7)
func TestMemberJoinsWithItsRelease(t *testing.T) {
	first := fleettest.TwoHubs().With(fleettest.Tree{"fleet/rollouts/all.yaml": policyOfTwo})
	second := first.With(fleettest.Tree{
		"versions/applicationSets.yaml":      first["versions/applicationSets.yaml"] + "  - type: canary\n",
		"fleet/fleet-members/hub-1/new.yaml": "clusterName: new\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: hub-1/new\nlabels: {addonsRelease: canary}\n",
	})
	mustHave(t, responseAfter(t, ofAll, []*snapshot.Snapshot{snapshot.FromMap(first), snapshot.FromMap(second)}, fleettest.Registration("new")), "dns-new", "dns-b")
}

// TestHubsOwnMemberIsRenamed: the hub's own member file gets another name. A later ring, whose
// revision has the former one, is answered. (G7)
func TestHubsOwnMemberIsRenamed(t *testing.T) {
	files := func(own string) *snapshot.Snapshot {
		tree := fleettest.TwoHubs().With(fleettest.Tree{"fleet/rollouts/all.yaml": policyOfTwo})
		delete(tree, "fleet/fleet-members/hub-1/hub-1.yaml")
		tree["fleet/fleet-members/hub-1/"+own+".yaml"] = fmt.Sprintf("clusterName: %s\ntenant: platform\nenvironment: prod\nfleet_member: hub-cluster\n", own)
		return snapshot.FromMap(tree)
	}
	mustHave(t, responseAfter(t, ofAll, []*snapshot.Snapshot{files("hub-1"), files("hub-main")}), "dns-b", "dns-hub-main")
}

// TestMemberThatWasBrokenFirstJoins: the commit that brings a member has a mistake in its file,
// which the next one corrects. No ring refuses anybody, and the member has what its ring has. (G7)
func TestMemberThatWasBrokenFirstJoins(t *testing.T) {
	const file, good = "fleet/fleet-members/hub-1/new.yaml", "clusterName: new\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: hub-1/new\n"
	first := fleettest.TwoHubs().With(fleettest.Tree{"fleet/rollouts/all.yaml": policyOfTwo, "addons/defaults/addons/dns/values.yaml": "replicas: 1\n"})
	broken := first.With(fleettest.Tree{file: "tenannt: x\n" + good})
	for fixed, own := range map[string]string{good: "replicas: 1", good + "labels: {addonsRelease: canary}\n": "replicas: 7"} {
		third := first.With(fleettest.Tree{
			file: fixed, "addons/defaults/addons/dns/values.yaml": "replicas: 7\n", "versions/applicationSets.yaml": first["versions/applicationSets.yaml"] + "  - type: canary\n",
		})
		text := responseAfter(t, ofAll, []*snapshot.Snapshot{snapshot.FromMap(first), snapshot.FromMap(broken), snapshot.FromMap(third)}, fleettest.Registration("new"))
		mustHave(t, text, "dns-b", "dns-new")
		_, of, _ := strings.Cut(text, `"applicationName":"dns-new"`)
		if of, _, _ = strings.Cut(of, `"digest"`); !strings.Contains(of, own) {
			t.Errorf("%s: dns-new does not have %s: %s", fixed, own, of)
		}
	}
}

func mustHave(t *testing.T, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		assert.Contains(t, text, `"applicationName":"`+name+`"`, "%s is missing in", name)
	}
}
