package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// mountingFleet is a fleet whose layout mounts the repository of team cart.
func mountingFleet(url string) map[string]string {
	const chart = "chart: {repoURL: https://git.example.com/x, path: web, version: main}"
	return map[string]string{
		"fleet/layout.yaml": "groups:\n  workloads: {catalog: [catalogs/workloads.yaml]}\n  teams: {root: addons, catalog: [catalogs/teams.yaml]}\n" +
			"mounts:\n  apps/cart: {url: \"" + url + "\", team: cart, credentials: of-cart}\n",
		"versions/applicationSets.yaml":           "releases: {}\n",
		"versions/fleetSecrets.yaml":              "releases: [{type: default, chartRepo: r, ecrChartName: c, version: '1'}]\n",
		"catalogs/teams.yaml":                     "team: {" + chart + "}\nteam-project: {" + chart + "}\n",
		"catalogs/workloads.yaml":                 "cart-web: {team: cart, namespace: cart, " + chart + "}\n",
		"fleet/teams/cart.yaml":                   "name: cart\ntenant: shop\nowners: [o]\nclusters: {}\nnamespaces: [{name: cart, preset: small}]\nrepositories: [https://git.example.com/*]\n",
		"fleet/fleet-members/hub-1/hub-1.yaml":    "{clusterName: hub-1, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		"fleet/fleet-members/hub-1/shop-1.yaml":   "{clusterName: shop-1, tenant: shop, environment: prod, secretManagerSecretName: s}\n",
		"workloads/defaults/workloads/x/keep.txt": "",
	}
}

// U2: the service reads a mount with credentials of its own. A server that refuses it leaves the
// mount on its last known good commit, which /readyz and a metric say, and the mount's next commit
// is served when it can be read again.
func TestMountWithCredentialsOfItsOwn(t *testing.T) {
	cart, repo := sourcetest.NewRepo(t), sourcetest.NewRepo(t)
	values := func(text string) map[string]string {
		return map[string]string{"defaults/application-sets/workloads.yaml": "cart-web: {enabled: true}\n", "defaults/workloads/cart-web/values.yaml": text}
	}
	one := cart.Commit(values("replicas: 1\n"))
	cartServer := cart.Server("cart", "password-of-cart", nil)
	repo.Commit(mountingFleet(cartServer.URL))
	server := repo.Server("fleet", "password-of-fleet", nil)
	dir := t.TempDir()
	sourcetest.Write(t, dir, map[string]string{"fleet/username": "fleet", "fleet/password": "password-of-fleet", "cart/username": "cart", "cart/password": "password-of-cart"})
	_, address := process(t, []string{"PATH=" + os.Getenv("PATH")}, `^generator-plugin: serving git ".*" at (http://127\.0\.0\.1:\d+), revision `,
		"--source", server.URL, "--hub", "hub-1", "--token-file", file(t, token+"\n"), "--listen", "127.0.0.1:0", "--interval", "50ms", "--drain-delay", "0s",
		"--git-credentials", filepath.Join(dir, "fleet"), "--mount-credentials", "of-cart="+filepath.Join(dir, "cart"))
	is := func(state string) {
		t.Helper()
		until(t, address, state, func() bool { return strings.Contains(probe(t, address, "/readyz"), state) })
	}
	served := func(revision string) string { return `"team":"cart","revision":"` + revision + `"` }
	is(served(one) + "}")
	sourcetest.Write(t, dir, map[string]string{"cart/password": "changed"})
	is(served(one) + `,"reason":"authentication"`)
	assert.Contains(t, probe(t, address, "/metrics"), `argosy_mount_stale_since_timestamp_seconds{mount="apps/cart",reason="authentication"} 1.`, "no metric says that the mount is stale")
	two := cart.Commit(values("replicas: 2\n"))
	sourcetest.Write(t, dir, map[string]string{"cart/password": "password-of-cart"})
	is(served(two) + "}")
}
