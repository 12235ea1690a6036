package mount_test

import (
	"maps"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/mount"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	layout = `
groups:
  addons: {root: addons, catalog: [catalogs/addons.yaml]}
  workloads: {root: workloads, catalog: [catalogs/workloads.yaml]}
  teams: {root: addons, catalog: [catalogs/teams.yaml]}
mounts:
  apps/cart: {url: "https://git.example.com/shop/cart.git", team: cart, credentials: cart}
`
	chart    = "chart: {repoURL: https://git.example.com/platform/charts, path: web, version: main}"
	cartWeb  = "apps/cart/defaults/workloads/cart-web/values.yaml"
	cartApps = "apps/cart/defaults/application-sets/workloads.yaml"
)

// fleetFiles is a fleet with two tenants, two teams of one of them, and the members shop-1 and
// shop-2, of which team cart reaches the first.
func fleetFiles() fleettest.Tree {
	team := func(name, clusters string) string {
		return "name: " + name + "\ntenant: shop\nowners: [o]\nclusters: " + clusters + "\nnamespaces: [{name: " + name + ", preset: small}, {prefix: " + name + "-}]\n" +
			"repositories: [https://git.example.com/shop/*, https://git.example.com/platform/charts]\n"
	}
	files := fleettest.Tree{
		"fleet/layout.yaml":             layout,
		"fleet/teams/cart.yaml":         team("cart", "{matchLabels: {cluster: shop-1}}"),
		"fleet/teams/card.yaml":         team("card", "{}"),
		"versions/applicationSets.yaml": "releases: {workloads: [{type: default, chartRepoRevision: v1}]}\n",
		"versions/fleetSecrets.yaml":    "releases: [{type: default, chartRepo: r, ecrChartName: c, version: '1'}]\n",
		"catalogs/addons.yaml":          "dns: {enabled: true, " + chart + "}\n",
		"catalogs/teams.yaml":           "team: {" + chart + "}\nteam-project: {" + chart + "}\n",
		"catalogs/workloads.yaml": "cart-web: {team: cart, namespace: cart, " + chart + "}\ncart-web-x: {team: card, namespace: card, " + chart + "}\n" +
			"card-web: {project: team-card, namespace: card, enabled: true, selector: {matchLabels: {tenant: shop}}, " + chart + "}\nplatform: {team: card, namespace: card, " + chart + "}\n",
		"workloads/defaults/workloads/cart-web/values.yaml": "from: platform\nkeep: true\n",
		fleettest.Member("hub"):                             "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
	}
	for name, keys := range map[string]string{"shop-1": "shop", "shop-2": "shop", "bank-1": "bank"} {
		files[fleettest.Member(name)] = "{clusterName: " + name + ", tenant: " + keys + ", environment: prod, secretManagerSecretName: s}\n"
	}
	return files
}

func mountsOf(t *testing.T, main *snapshot.Snapshot) *mount.Table {
	t.Helper()
	mounts, err := fleetstate.MountsOf(nil, main)
	require.NoError(t, err)
	return mounts
}

// read joins a fleet with a commit of its mount, and returns the problems of that.
func read(t *testing.T, main *snapshot.Snapshot, commit *snapshot.Snapshot) (*snapshot.Snapshot, []problem.Problem) {
	t.Helper()
	mounts := mountsOf(t, main)
	part, problems := mounts.Scopes[0].Read(commit, snapshot.Part{})
	return main.Join([]snapshot.Part{part}), problems
}

func state(t *testing.T, s *snapshot.Snapshot) *fleetstate.State {
	t.Helper()
	st, err := fleetstate.Build(nil, s, facts.Set{})
	require.NoError(t, err)
	return st
}

func components(t *testing.T, st *fleetstate.State, group string) string {
	t.Helper()
	out, err := response.Bytes(st, query.Query{View: query.Components, Hub: "hub", Group: group})
	require.NoError(t, err)
	return string(out)
}

func with(files fleettest.Tree, more map[string]string) fleettest.Tree {
	out := maps.Clone(files)
	maps.Copy(out, more)
	return out
}
