package overview_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// everything is a scope without limits.
type everything struct{}

func (everything) Sees(string, string, string) bool { return true }
func (everything) SeesGroup(string) bool            { return true }
func (everything) SeesEverything() bool             { return true }

// fleet is a fleet with components that are switched off and not selected, an agent and a retired
// member.
func fleet() fleettest.Tree {
	return fleettest.Small().With(fleettest.Tree{
		fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\noff: {enabled: false, " + fleettest.DNSChart + "}\n" +
			"gold: {enabled: true, " + fleettest.DNSChart + ", selector: {matchLabels: {tier: gold}}}\n",
		fleettest.OneCatalog:         "dns: {chart: {version: 1.1.0}}\n",
		fleettest.Member("argo"):     fleettest.Spoke("argo", "use_remote_argo: true\nenable_remote_addons: true\nlabels: {tier: gold}\n"),
		fleettest.Member("gone"):     fleettest.Spoke("gone", "lifecycle: retired\n"),
		fleettest.Member("draining"): fleettest.Spoke("draining", "lifecycle: draining\n"),
	})
}

// Each cell equals what explain and the responses say.
func TestMatrixEqualsExplainAndResponses(t *testing.T) {
	t.Parallel()
	st := querytest.NoProblems(t, querytest.Build(t, fleet()))
	m := new(overview.Cache).Of(st).Matrix(everything{}, overview.Live{}, overview.Filter{}, "", 1)
	shown, answered := map[string]string{}, map[string]string{}
	for _, r := range m.Rows {
		for i, c := range r.Cells {
			of := m.Columns[i]
			e, err := explain.Component(st, explain.Target{Hub: r.Hub, Cluster: r.Name, Group: of.Group, Component: of.Name}, nil)
			if err != nil || e.State != c.State {
				t.Errorf("%s %s: %q, explained as %q, %v", r.Name, of.Name, c.State, e.State, err)
			}
			if c.Deployed() {
				shown[r.Name+" "+of.Name] = c.Version
			}
		}
	}
	inv := inventory.Of(st)[0]
	for _, name := range inv.Names() {
		for _, a := range inv.Applications(name) {
			if a.View == query.Components {
				answered[a.Cluster+" "+a.Component] = a.Chart.Version
			}
		}
	}
	assert.Equal(t, answered, shown, "responses (-) and matrix (+)")
	if shown["one dns"] != "1.1.0" || len(shown) != 6 {
		t.Errorf("%v", shown)
	}
}

// The index of the next state is the same as one from nothing.
func TestIndexFollowsTheState(t *testing.T) {
	t.Parallel()
	files := fleet()
	var cache overview.Cache
	var st *fleetstate.State
	for i, change := range []fleettest.Tree{
		{},
		{fleettest.OneCatalog: "dns: {chart: {version: 2.0.0}}\n"},
		{fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\n"},
		{fleettest.Member("two"): ""},
		{fleettest.Member("three"): fleettest.Spoke("three", "")},
		{fleettest.Member("three"): fleettest.Spoke("three", "broken: {")},
	} {
		files = files.With(change)
		st = querytest.Next(t, st, fleettest.Snapshot(string(rune('a'+i)), files), facts.NewSet(false))
		got := cache.Of(st).Matrix(everything{}, overview.Live{}, overview.Filter{}, "", 1)
		want := new(overview.Cache).Of(st).Matrix(everything{}, overview.Live{}, overview.Filter{}, "", 1)
		if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(overview.Selection{})); d != "" {
			t.Errorf("after change %d: from nothing (-) and from the last one (+): %s", i, d)
		}
	}
}

// Filters, searches and groups select what they say.
func TestFilters(t *testing.T) {
	t.Parallel()
	x := new(overview.Cache).Of(querytest.NoProblems(t, querytest.Build(t, fleet())))
	for want, f := range map[string]overview.Filter{
		"argo draining gone hub one two": {},
		"argo draining gone hub one":     {Environment: "prod"},
		"hub":                            {Tenant: "platform"},
		"argo":                           {Label: "tier=gold"},
		"one":                            {Search: "on", Environment: "prod", Tenant: "retail", Label: "tenant"},
		"two":                            {Label: "addonsRelease", Hub: "hub"},
		"":                               {Hub: "elsewhere"},
	} {
		var names []string
		m := x.Matrix(everything{}, overview.Live{}, f, "environment", 1)
		for _, r := range m.Rows {
			names = append(names, r.Name)
		}
		slices.Sort(names)
		if want == "one" { // "gone" has it in its name, too
			names = slices.DeleteFunc(names, func(n string) bool { return n == "gone" })
		}
		assert.Equal(t, want, join(names), "%+v", f)
	}
	v, err := x.Versions(everything{}, overview.Filter{Group: "addons", Component: "dns"})
	counts := map[string]int{}
	for _, version := range v.Versions {
		counts[version.Version] = version.Count
	}
	if err != nil || !maps.Equal(counts, map[string]int{"1.0.0": 4, "1.1.0": 1}) || len(v.Without) != 1 || v.Without[0].State != explain.Retired {
		t.Errorf("%+v, %v", v, err)
	}
}

func join(names []string) (out string) {
	for i, n := range names {
		if i > 0 {
			out += " "
		}
		out += n
	}
	return out
}

// TestFindNamesTheRepositoryOfAMount: a value of a mount is found at its place in the mount's
// repository (U1).
func TestFindNamesTheRepositoryOfAMount(t *testing.T) {
	t.Parallel()
	const url, chart = "https://git.example.com/shop/cart.git", "chart: {repoURL: https://git.example.com/platform/charts, path: web, version: main}"
	main := fleettest.Snapshot("1", fleettest.Tree{
		"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  addons: {root: addons, catalog: [catalogs/addons.yaml]}\n" +
			"  workloads: {root: workloads, catalog: [catalogs/workloads.yaml]}\n  teams: {root: addons, catalog: [catalogs/teams.yaml]}\nmounts: {apps/cart: {url: \"" + url + "\", team: cart}}\n",
		"fleet/teams/cart.yaml":         "name: cart\ntenant: shop\nowners: [o]\nclusters: {matchLabels: {cluster: shop-1}}\nnamespaces: [{name: cart, preset: small}]\nrepositories: [https://git.example.com/shop/*, https://git.example.com/platform/charts]\n",
		"versions/applicationSets.yaml": "releases: {workloads: [{type: default, chartRepoRevision: v1}]}\n",
		"versions/fleetSecrets.yaml":    "releases: [{type: default, chartRepo: r, ecrChartName: c, version: '1'}]\n",
		"catalogs/addons.yaml":          "dns: {enabled: true, " + chart + "}\n",
		"catalogs/teams.yaml":           "team: {" + chart + "}\nteam-project: {" + chart + "}\n",
		"catalogs/workloads.yaml":       "cart-web: {team: cart, namespace: cart, " + chart + "}\n",
		fleettest.Member("hub"):         "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		fleettest.Member("shop-1"):      "{clusterName: shop-1, tenant: shop, environment: prod, secretManagerSecretName: s}\n",
	})
	file := func(p, text string) *snapshot.File {
		return snapshot.NewFile("apps/cart/"+p, []byte(text), snapshot.MaxFileSize)
	}
	st := querytest.Next(t, nil, main.Join([]snapshot.Part{snapshot.NewPart("apps/cart", url, "c", []*snapshot.File{
		file("defaults/application-sets/workloads.yaml", "cart-web: {enabled: true}\n"), file("defaults/workloads/cart-web/values.yaml", "from: cart\n"),
	})}), facts.NewSet(false))
	found, err := new(overview.Cache).Of(st).Find(everything{}, overview.Filter{}, "from")
	if err != nil || len(found.Values) != 1 || found.Values[0].Position.Repository != url || found.Values[0].Position.File != "defaults/workloads/cart-web/values.yaml" {
		t.Errorf("%+v, %v", found.Values, err)
	}
}

// TestMatrixHasTheClassOfAnUnregisteredCluster: the hub makes a cluster before it is registered.
// The pages have its class, as explain has it. (C1)
func TestMatrixHasTheClassOfAnUnregisteredCluster(t *testing.T) {
	t.Parallel()
	st := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("rev", fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml":          "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  provisioning: {catalog: catalogs/provisioning.yaml}\n",
		"catalogs/provisioning.yaml": "eks: {enabled: true, chart: {repoURL: r, path: p, version: v}}\n",
		fleettest.Member("one"):      fleettest.Spoke("one", "provision: {class: eks, version: \"1.31\"}\n"),
	})), facts.NewSet(true, facts.Cluster{Name: "hub"})))
	p, err := new(overview.Cache).Of(st).Cluster(everything{}, overview.Live{}, "hub", "one")
	require.NoError(t, err)
	states := map[string]string{}
	for _, c := range p.Components {
		states[c.Name] = c.State
		e, err := explain.Component(st, explain.Target{Hub: "hub", Cluster: "one", Group: c.Group, Component: c.Name}, nil)
		if err != nil || e.State != c.State {
			t.Errorf("%s: %q, explained as %q, %v", c.Name, c.State, e.State, err)
		}
	}
	if states["eks"] != explain.Deployed || states["dns"] != explain.NotRegistered {
		t.Errorf("%v", states)
	}
}
