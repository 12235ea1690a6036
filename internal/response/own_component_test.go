package response_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestTenantsOwnComponentsRefuseNobody: a tenant's own components are in the response of all
// members and in a release's values. Too many of them quarantine the tenant's members; they do not
// refuse the response, and a release's values have at most 500. (W2, H10)
func TestTenantsOwnComponentsRefuseNobody(t *testing.T) {
	catalogs := func(components int, clusters ...string) fleettest.Tree {
		var text strings.Builder
		for i := range components {
			fmt.Fprintf(&text, "own%d: {enabled: true, chart: {repoURL: https://charts.example, name: own, version: 1.0.0}}\n", i)
		}
		out := fleettest.Tree{}
		for _, name := range clusters {
			out["addons/tenants/red/clusters/"+name+"/application-sets/addons.yaml"] = text.String()
		}
		return out
	}
	before := querytest.NoProblems(t, querytest.Build(t, twoTenants()))
	for _, over := range []fleettest.Tree{catalogs(1001, "red-0"), catalogs(700, "red-0", "red-1")} {
		st := querytest.Next(t, before, fleettest.Snapshot("2", twoTenants().With(over)), facts.NewSet(false))
		assert.Equal(t, tenantSets(t, before, "blue"), tenantSets(t, st, "blue"), "another tenant's sets change")
		if got := querytest.Problems(st.Problems); !strings.Contains(got, "components of their own catalogs") || strings.Contains(got, "blue") {
			t.Errorf("%.1500s", got)
		}
	}

	st := querytest.NoProblems(t, querytest.Build(t, twoTenants().With(catalogs(600, "red-0"))))
	q, failure := query.Check(st, querytest.Query(t, `{"view":"components","group":"addons"}`))
	if failure != nil {
		t.Fatal(failure)
	}
	if own, others := paramset.OfCluster(st, q, st.Cluster("hub", "red-0")), paramset.OfCluster(st, q, st.Cluster("hub", "blue-0")); own.Own != 600 || others.Own != 0 {
		t.Errorf("%d and %d sets are of tenants' own components", own.Own, others.Own)
	}
	values := querytest.Column(t, st, querytest.Query(t, `{"view":"releases","group":"addons"}`), "helmValues")
	if got := strings.Count(values, "  own"); got != 500 || !strings.Contains(values, "  dns:") || !strings.Contains(values, "  web:") {
		t.Errorf("a release's values have %d components of the tenant's own", got)
	}
}

// TestTenantsComponentTakesNobodysName: where clusters' names nest, a tenant's own component may
// read as another member's Application. That tenant's member is quarantined, and nobody else
// notices: neither Argo CD, which gives a name to the first, nor Flux Operator. (W1, N1)
func TestTenantsComponentTakesNobodysName(t *testing.T) {
	const chart = ": {enabled: true, chart: {repoURL: https://charts.example, name: own, version: 1.0.0}}\n"
	const own = "addons/tenants/red/clusters/0/application-sets/addons.yaml"
	withRed := twoTenants().With(fleettest.Tree{
		fleettest.Member("0"): "clusterName: \"0\"\ntenant: red\nenvironment: dev\nsecretManagerSecretName: hub/0\n",
		"addons/tenants/blue/clusters/blue-0/application-sets/addons.yaml": "own" + chart,
	})
	q := querytest.Query(t, `{"view":"components","group":"addons"}`)
	// sets are those of all members but red's 0, by what Argo CD and Flux Operator get.
	sets := func(st *fleetstate.State) string {
		inputs, err := response.Inputs(st, q)
		require.NoError(t, err)
		var out strings.Builder
		var all struct{ Inputs []map[string]any }
		require.NoError(t, json.Unmarshal(inputs.Bytes(), &all))
		for _, s := range querytest.List(t, st, q) {
			all.Inputs = append(all.Inputs, s)
		}
		for _, s := range all.Inputs {
			if delete(s, "revision"); s["name"] != "0" {
				fmt.Fprintln(&out, s)
			}
		}
		return out.String()
	}
	running := facts.NewSet(false)
	before := querytest.Next(t, nil, fleettest.Snapshot("1", withRed), running)
	querytest.NoProblems(t, before)
	for component, forbidden := range map[string]bool{
		"dns-blue": true, "own-blue": true, "a-dns-blue": true, // as the platform's, as blue's own, as one that blue may get
		"fleet-secret-blue": true, "agent-blue": true, "application-sets-addons": true,
		"blue": false, "dns-bluer": false, "dns-red-0": false, "own": false,
	} {
		attack := withRed.With(fleettest.Tree{own: component + chart})
		after := querytest.Next(t, before, fleettest.Snapshot("2", attack), running)
		assert.Equal(t, sets(before), sets(after), "%s on 0 changes sets of others", component)
		names := querytest.Names(t, after, `{"view":"components","group":"addons"}`)
		problems := querytest.Problems(after.Cluster("hub", "0").Errors())
		if forbidden != strings.HasPrefix(problems, "duplicate-name") || !forbidden && !strings.Contains(" "+names+" ", " "+component+"-0 ") {
			t.Errorf("%s on 0: %s\n%s", component, problems, names)
		}
	}

	// A member that comes later quarantines what reads as its own, and frees it when it goes. What
	// is computed step by step is what is computed at once (G6).
	without := maps.Clone(withRed)
	delete(without, fleettest.Member("blue-0"))
	without[own] = "own-blue" + chart
	with := without.With(fleettest.Tree{fleettest.Member("blue-0"): withRed[fleettest.Member("blue-0")]})
	st := querytest.Next(t, nil, fleettest.Snapshot("1", without), running)
	for i, step := range []struct {
		files fleettest.Tree
		want  bool
	}{{without, false}, {with, true}, {without, false}} {
		st = querytest.Next(t, st, fleettest.Snapshot(strconv.Itoa(i+2), step.files), running)
		assert.Equal(t, step.want, len(st.Cluster("hub", "0").Errors()) > 0, "step %d: member 0 is quarantined", i)
	}
}

// TestDependenciesOfAComponentAreBounded: an entry names at most 100 components that it waits for;
// one with more is an error of the members that read it. (H10)
func TestDependenciesOfAComponentAreBounded(t *testing.T) {
	for n, want := range map[int]string{
		100: "",
		101: `limit-exceeded addons/tenants/red/clusters/red-0/application-sets/addons.yaml:1:18: key "dependsOn": 101 elements; expected at most 100`,
	} {
		st := querytest.Build(t, twoTenants().With(fleettest.Tree{
			"addons/tenants/red/clusters/red-0/application-sets/addons.yaml": "web: {dependsOn: [" + strings.Repeat("dns, ", n) + "]}\n",
		}))
		assert.Equal(t, want, querytest.Problems(st.Problems), "%d", n)
	}
}

// TestTenantsLongComponentStopsNoRelease: charts/application-sets takes names of at most 53
// characters. A longer one of a tenant's own is not in the values that all tenants share, with
// which Argo CD would render nothing of the release. (W1)
func TestTenantsLongComponentStopsNoRelease(t *testing.T) {
	for length, want := range map[int]int{53: 1, 54: 0, 63: 0} {
		name := strings.Repeat("x", length)
		st := querytest.NoProblems(t, querytest.Build(t, twoTenants().With(fleettest.Tree{
			"addons/tenants/red/clusters/red-0/application-sets/addons.yaml": name + ": {enabled: true, releaseName: own, chart: {repoURL: https://charts.example, name: own, version: 1.0.0}}\n",
		})))
		values := querytest.Column(t, st, querytest.Query(t, `{"view":"releases","group":"addons"}`), "helmValues")
		if got := strings.Count(values, name+":"); got != want || !strings.Contains(values, "  dns:") {
			t.Errorf("a component of %d characters is %d times in a release's values", length, got)
		}
		removed := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("rev", twoTenants().With(fleettest.Tree{
			"addons/tenants/red/clusters/red-0/application-sets/addons.yaml": name + ": {enabled: false, releaseName: own, chart: {repoURL: https://charts.example, name: own, version: 1.0.0}}\n",
		})), facts.NewSet(false).WithApplications(facts.Application{
			Name: catalog.ApplicationName(name, "red-0"), Cluster: "red-0", Group: "addons", Component: name, Release: "default",
		})))
		values = querytest.Column(t, removed, querytest.Query(t, `{"view":"releases","group":"addons"}`), "helmValues")
		if got := strings.Count(values, name+":"); got != want {
			t.Errorf("a component of %d characters, which is removed, is %d times in a release's values", length, got)
		}
	}
}
