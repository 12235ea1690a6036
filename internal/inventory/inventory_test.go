package inventory_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// The inventory has exactly the Applications that all views answer with together, for every engine
// that asks.
func TestInventoryEqualsAllResponses(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{
		fleettest.Member("argo"): fleettest.Spoke("argo", "use_remote_argo: true\nenable_remote_addons: true\n"),
		fleettest.Member("flux"): fleettest.Spoke("flux", "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"),
		fleettest.Member("gone"): fleettest.Spoke("gone", "lifecycle: retired\n"),
		"addons/tenants/retail/environments/dev/application-sets/addons.yaml": "dns: {enabled: false}\n",
		"fleet/fleet-members/hub2/b.yaml":                                     fleettest.Spoke("b", ""),
	})
	st := querytest.NoProblems(t, querytest.Build(t, files))
	got, want := map[string][]string{}, map[string][]string{}
	for _, inv := range inventory.Of(st) {
		for _, a := range inventoried(inv) {
			got[inv.Hub] = append(got[inv.Hub], strings.Join([]string{a.Owner, string(a.View), a.Cluster, a.Name}, " "))
		}
		for _, owner := range owners(st, inv.Hub) {
			for _, name := range answered(t, st, inv.Hub, owner) {
				want[inv.Hub] = append(want[inv.Hub], owner+" "+name)
			}
		}
		slices.Sort(got[inv.Hub])
		slices.Sort(want[inv.Hub])
	}
	assert.Equal(t, want, got, "answers (-) and inventory (+)")
}

// inventoried are a hub's Applications.
func inventoried(inv inventory.Inventory) (out []inventory.Application) {
	for _, name := range inv.Names() {
		out = append(out, inv.Applications(name)...)
	}
	return out
}

func owners(st *fleetstate.State, hub string) []string {
	out := []string{fleet.OwnerHub}
	for _, m := range st.Fleet.Members(hub) {
		if m.Remote {
			out = append(out, m.Name)
		}
	}
	return out
}

// answered are the view, cluster and Application of each set that an engine gets. A member's own
// engine bootstraps no members and agents; flux renders no releases.
func answered(t *testing.T, st *fleetstate.State, hub, owner string) []string {
	t.Helper()
	requests := []query.Query{}
	if owner == fleet.OwnerHub {
		requests = append(requests, query.Query{View: query.Members}, query.Query{View: query.Agents})
	}
	for _, g := range st.Fleet.Layout.GroupNames() {
		requests = append(requests, query.Query{View: query.Components, Group: g})
		if m := st.Fleet.Member(hub, owner); m == nil || m.Engine != fleet.EngineFlux {
			requests = append(requests, query.Query{View: query.Releases, Group: g})
		}
	}
	var out []string
	for _, r := range requests {
		r.Hub, r.Owner = hub, owner
		text, err := response.Bytes(st, r)
		require.NoError(t, err)
		var answer struct {
			Output struct{ Parameters []paramset.Common }
		}
		require.NoError(t, json.Unmarshal(text, &answer))
		for _, s := range answer.Output.Parameters {
			out = append(out, strings.Join([]string{string(r.View), s.Name, s.ApplicationName}, " "))
		}
	}
	return out
}

// Settings and values know their places.
func TestInventoryKnowsPlaces(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small()))
	places := map[string]string{}
	for _, a := range inventoried(inventory.Of(st)[0]) {
		for _, s := range a.Settings {
			places[a.Name+" "+s.Name] = s.Pos.String()
		}
		if a.Name == "dns-two" {
			places["values"] = a.Values.Get("from").Pos().String()
		}
	}
	for name, want := range map[string]string{
		"dns-two release":                                  "fleet/fleet-members/hub/two.yaml:1:78",
		"dns-one release":                                  "",
		"dns-one chart.version":                            "addons/defaults/application-sets/addons.yaml:1:83",
		"dns-one namespace":                                "",
		"fleet-secret-one version":                         "versions/fleetSecrets.yaml:1:79",
		"application-sets-addons-canary chartRepoRevision": "versions/applicationSets.yaml:4:41",
		"application-sets-addons-canary chartRepoPath":     "versions/applicationSets.yaml:2:70",
		"values": "addons/defaults/addons/dns/values.yaml:1:7",
	} {
		if got, ok := places[name]; !ok || got != want {
			t.Errorf("%s: at %q, want %q", name, got, want)
		}
	}
}

// A member that cannot be computed is in no inventory; one that nothing is known of has its
// registration alone.
func TestInventoryLeavesOutWhatCannotBeComputed(t *testing.T) {
	broken := inventory.Of(querytest.Build(t, fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "tenannt: x\n")})))[0]
	if slices.Contains(broken.Names(), "one") || len(broken.Applications("one")) > 0 || len(broken.Applications("two")) == 0 {
		t.Errorf("broken: %v: %v, %v", broken.Names(), broken.Applications("one"), broken.Applications("two"))
	}
	st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small()), facts.NewSet(true))
	require.NoError(t, err)
	for _, a := range inventoried(inventory.Of(st)[0]) {
		if a.View != query.Members {
			t.Errorf("%s of an unregistered cluster", a.Name)
		}
	}
}

// TestInventoryLeavesOutRemovals: an inventory is what is to be, not how it comes to be.
func TestInventoryLeavesOutRemovals(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{
		fleettest.Member("two"): "clusterName: two\ntenant: retail\nenvironment: dev\nlifecycle: retired\ndeletion: cascade\nlabels: {addonsRelease: canary}\n",
		fleettest.OneCatalog:    "dns: {enabled: false}\n", "fleet/fleet-members/hub/hub.yaml": "",
	})
	with := inventory.Of(querytest.BuildWith(t, files, fleettest.Application("dns", "one", "default"), fleettest.Application("dns", "two", "canary"), fleettest.Registration("two")))
	without := inventory.Of(querytest.Build(t, files))
	short := func(inventories []inventory.Inventory) (out []string) {
		for _, a := range inventoried(inventories[0]) {
			out = append(out, fmt.Sprint(a.View, a.Name, a.Clusters, a.Settings))
		}
		return out
	}
	assert.Equal(t, fmt.Sprint(short(without)), fmt.Sprint(short(with)), "an inventory is what is to be, not how it comes to be")
}
