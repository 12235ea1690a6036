package mount_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var goodCommit = fleettest.Tree{
	"defaults/application-sets/workloads.yaml":                      "cart-web: {enabled: true, namespace: cart-eu, version: v2}\n",
	"defaults/workloads/cart-web/values.yaml":                       "from: defaults\nreplicas: 1\n",
	"tenants/shop/environments/prod/workloads/cart-web/values.yaml": "from: prod\n",
}

// sets are the components of a response, by Application.
func sets(t *testing.T, st *fleetstate.State, group string) map[string]string {
	t.Helper()
	var out struct {
		Output struct {
			Parameters []struct{ ApplicationName, Digest, Namespace, HelmValues string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(components(t, st, group)), &out))
	all := map[string]string{}
	for _, p := range out.Output.Parameters {
		all[p.ApplicationName] = strings.Join([]string{p.Namespace, p.HelmValues, p.Digest}, " ")
	}
	return all
}

// TestMountReachesItsTeamAlone is U3: a mount's levels are read by the members that its team
// reaches, after the same level of the fleet repository, and nothing else changes.
func TestMountReachesItsTeamAlone(t *testing.T) {
	main := fleettest.Snapshot("rev", fleetFiles())
	joined, problems := read(t, main, fleettest.Snapshot("1", goodCommit))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	before, st := sets(t, state(t, main), "workloads"), state(t, joined)
	after := sets(t, st, "workloads")
	if len(st.Problems) > 0 {
		t.Fatal(st.Problems)
	}
	if got := after["cart-web-shop-1"]; !strings.HasPrefix(got, "cart-eu from: prod\nkeep: true\nreplicas: 1\n") {
		t.Errorf("got %q", got)
	}
	delete(after, "cart-web-shop-1")
	if !maps.Equal(before, after) {
		t.Errorf("%v\n%v", before, after)
	}
	// Positions name the repository (U1).
	x, err := explain.Component(st, explain.Target{Hub: "hub", Cluster: "shop-1", Group: "workloads", Component: "cart-web"}, []string{"from"})
	if err != nil || len(x.Values) != 1 {
		t.Fatal(x, err)
	}
	if pos := x.Values[0].Position; pos.Repository != "https://git.example.com/shop/cart.git" || pos.File != "tenants/shop/environments/prod/workloads/cart-web/values.yaml" || pos.Line != 1 {
		t.Errorf("%+v", pos)
	}
	if again := state(t, joined); !maps.Equal(sets(t, again, "workloads"), sets(t, st, "workloads")) {
		t.Error("two states of one snapshot differ (G6)")
	}
}

// An agent's own Argo CD has no project that bounds a chart: its members read no mount. Flux is
// bound by the team's ServiceAccount, on a member and on a hub.
func TestEngineThatBoundsTheTeamReadsMounts(t *testing.T) {
	const agent = "{clusterName: shop-1, tenant: shop, environment: prod, use_remote_argo: true, enable_remote_workloads: true, secretManagerSecretName: s"
	for text, reads := range map[string]bool{
		agent + "}\n":                      false,
		agent + ", remote_engine: flux}\n": true,
		"hub":                              true,
	} {
		c := map[string]string{fleettest.Member("shop-1"): text}
		if text == "hub" {
			c = map[string]string{fleettest.Member("hub"): "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n"}
		}
		main := fleettest.Snapshot("rev", with(fleetFiles(), c))
		joined, _ := read(t, main, fleettest.Snapshot("1", goodCommit))
		g := state(t, joined).Cluster("hub", "shop-1").Groups["workloads"]
		if slices.ContainsFunc(g.Folders, func(f hierarchy.Folder) bool { return strings.HasPrefix(f.Path, "apps/") }) != reads {
			t.Errorf("%v: reads %v", c, g.Folders)
		}
	}
}

// A level of the fleet repository that leads into a mount would be read by members of all teams.
func TestNoLevelLeadsIntoMount(t *testing.T) {
	for _, root := range []string{"apps/cart", "apps/cart/x", "apps"} {
		files := with(fleetFiles(), map[string]string{fleettest.Member("bank-1"): "{clusterName: bank-1, tenant: bank, environment: prod, secretManagerSecretName: s, addons_repo_basepath: " + root + "}\n"})
		files["fleet/layout.yaml"] = strings.Replace(layout, "mounts:", "levels: [{name: system, dir: '{{ .root }}'}]\nmounts:", 1)
		st := state(t, fleettest.Snapshot("rev", files))
		if got := st.Problems; len(got) != 1 || got[0].Cluster != "bank-1" || !strings.Contains(got[0].Error(), `overlaps with mount "apps/cart"`) {
			t.Errorf("%s: %v", root, got)
		}
	}
}

// TestTeamFileMovesMount: a member begins and ceases to read a mount with its team, and a state
// that follows another is the same as one from nothing.
func TestTeamFileMovesMount(t *testing.T) {
	files := fleetFiles()
	main := fleettest.Snapshot("rev", files)
	joined, _ := read(t, main, fleettest.Snapshot("1", goodCommit))
	st := state(t, joined)
	for i, change := range []map[string]string{
		{"fleet/teams/cart.yaml": strings.Replace(files["fleet/teams/cart.yaml"], "shop-1", "shop-2", 1)},
		{"fleet/teams/cart.yaml": files["fleet/teams/cart.yaml"]},
		{"catalogs/workloads.yaml": strings.Replace(files["catalogs/workloads.yaml"], "team: cart", "team: card", 1)},
		{"catalogs/workloads.yaml": files["catalogs/workloads.yaml"]},
	} {
		files = with(files, change)
		main := fleettest.Snapshot("rev"+string(rune('a'+i)), files)
		mounts := mountsOf(t, main)
		part, _ := mounts.Scopes[0].Keep(joined.Parts()[0])
		next, err := fleetstate.Build(st, main.Join([]snapshot.Part{part}), facts.Set{})
		require.NoError(t, err)
		if got, want := sets(t, next, "workloads"), sets(t, state(t, main.Join([]snapshot.Part{part})), "workloads"); !maps.Equal(got, want) {
			t.Errorf("change %d: %v, want %v", i, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
		st = next
	}
	if _, ok := sets(t, st, "workloads")["cart-web-shop-1"]; !ok {
		t.Error("the mount is not read again")
	}
}

// TestUnchangedFilesOfMountAreNotCopied: a commit keeps the identity of what it does not change.
func TestUnchangedFilesOfMountAreNotCopied(t *testing.T) {
	main := fleettest.Snapshot("rev", fleetFiles())
	mounts := mountsOf(t, main)
	first, _ := mounts.Scopes[0].Read(fleettest.Snapshot("1", goodCommit), snapshot.Part{})
	next, _ := mounts.Scopes[0].Read(fleettest.Snapshot("2", with(goodCommit, map[string]string{"defaults/workloads/cart-web/values.yaml": "from: 2\n"})), first)
	a, b := main.Join([]snapshot.Part{first}), main.Join([]snapshot.Part{next})
	same := 0
	for i, f := range a.FilesUnder("") {
		if b.FilesUnder("")[i] == f {
			same++
		}
	}
	if same != a.Len()-1 || !slices.Equal(snapshot.Changed(a, b), []string{cartWeb}) {
		t.Errorf("%d of %d files are the same; %v", same, a.Len(), snapshot.Changed(a, b))
	}
	if a.Revision == b.Revision || a.Main() != main || main.File(cartApps) != nil || a.File(cartApps) == nil {
		t.Error("a joined snapshot is not what it says")
	}
}

// A mount of which nothing is known has its team's members wait, and nobody else (G1).
func TestUnknownMountConcernsItsMembersAlone(t *testing.T) {
	main := fleettest.Snapshot("rev", fleetFiles())
	unknown := main.Join([]snapshot.Part{{Path: "apps/cart", Repository: "r", Unknown: true}})
	st := state(t, unknown)
	if len(st.Problems) != 1 || st.Problems[0].Cluster != "shop-1" || !strings.Contains(st.Problems[0].Error(), `mount "apps/cart": https://git.example.com/shop/cart.git was not read`) {
		t.Fatal(st.Problems)
	}
	joined, _ := read(t, main, fleettest.Snapshot("1", fleettest.Tree{}))
	next, err := fleetstate.Build(st, joined, facts.Set{})
	if err != nil || len(next.Problems) > 0 {
		t.Error(err, next.Problems)
	}
}

// TestForeignValuesOfMountAreNotRead is U3 behind the bounds: where a file beyond them is joined
// all the same, as one that the store has of an earlier build may be, the component of another team
// does not read it.
func TestForeignValuesOfMountAreNotRead(t *testing.T) {
	main := fleettest.Snapshot("rev", fleetFiles())
	at := mountsOf(t, main).Scopes[0].Path
	foreign := snapshot.NewFile(at+"/defaults/workloads/card-web/values.yaml", []byte("from: elsewhere\n"), snapshot.MaxFileSize)
	st := state(t, main.Join([]snapshot.Part{snapshot.NewPart(at, "r", "1", []*snapshot.File{foreign})}))
	before, after := sets(t, state(t, main), "workloads"), sets(t, st, "workloads")
	if len(before) == 0 || !maps.Equal(before, after) {
		t.Errorf("%v\n%v", before, after)
	}
}
