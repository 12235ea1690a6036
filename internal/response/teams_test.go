package response_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// teamFile is a team of the tenant retail, in the environment prod.
func teamFile(name, namespaces string) string {
	return "name: " + name + "\ntenant: retail\nowners: [" + name + "]\nclusters: {matchLabels: {environment: prod}}\nnamespaces: [" + namespaces + "]\nrepositories: [\"https://git.example/" + name + "\"]\n"
}

// app is the catalog entry of an application of a team.
func app(name, team, namespace string) string {
	return fmt.Sprintf("%s: {enabled: true, team: %s, namespace: %s, chart: {repoURL: 'https://git.example/%s', path: '{{ .environment }}', version: v1}}\n", name, team, namespace, team)
}

// withTeams is the small fleet with a third member, of another tenant, and the team cart.
func withTeams() fleettest.Tree {
	return fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml":        "groups: {teams: {catalog: teams.yaml}, workloads: {catalog: apps.yaml}}\n",
		"apps.yaml":                app("api", "cart", "cart") + app("safe", "vault", "vault"),
		"teams.yaml":               "components: {team: {chart: {repoURL: r, path: charts/team, version: v1}}, team-project: {chart: {repoURL: r, path: charts/team-project, version: v1}, namespace: argocd}}\n",
		"fleet/teams/cart.yaml":    teamFile("cart", "{name: cart, preset: small}"),
		fleettest.Member("bank"):   "{clusterName: bank, tenant: bank, environment: prod}\n",
		"fleet/teams/vault.yaml":   "name: vault\ntenant: bank\nowners: [vault]\nclusters: {}\nnamespaces: [{name: vault, preset: small}]\nrepositories: [\"https://git.example/vault\"]\n",
		"teams/defaults/README.md": "",
	})
}

// teamSets are the parameter sets of group teams, by Application.
func teamSets(t *testing.T, st *fleetstate.State) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, set := range querytest.List(t, st, querytest.Query(t, `{"view":"components","group":"teams"}`)) {
		chart, _ := set["chart"].(map[string]any)
		out[set.Text("applicationName")] = fmt.Sprint(chart["path"]) + "\n" + set.Text("helmValues") + set.Text("hold")
	}
	return out
}

func rebuild(t *testing.T, previous *fleetstate.State, revision string, files fleettest.Tree) *fleetstate.State {
	t.Helper()
	st, err := fleetstate.Build(previous, fleettest.Snapshot(revision, files), facts.Set{})
	require.NoError(t, err)
	return st
}

// TestTenantCannotWidenItsTeamsProject is T1 and W1: nothing at a tenant's level changes what lands
// on the hub, and what its levels say of the team itself is refused for that tenant's members
// alone.
func TestTenantCannotWidenItsTeamsProject(t *testing.T) {
	files := withTeams()
	before := rebuild(t, nil, "r1", files)
	want := teamSets(t, querytest.NoProblems(t, before))
	if !strings.Contains(want["team-cart-hub"], "charts/team-project") || !strings.Contains(want["team-cart-one"], "charts/team\n") || len(want) != 4 {
		t.Fatalf("sets: %v", want)
	}
	for i, hostile := range []fleettest.Tree{
		{"teams/tenants/retail/defaults/teams/team-cart/values.yaml": "team: {clusters: [bank], repositories: ['*'], owners: [evil]}\n"},
		{"teams/tenants/retail/defaults/teams/team-cart/values.yaml": "team: null\n"},
		{"teams/tenants/retail/defaults/teams/team-cart/values.yaml": "deniedKinds: {/ResourceQuota: false}\n"},
		{"teams/tenants/retail/defaults/application-sets/teams.yaml": "team-project: {chart: {repoURL: evil, path: x, version: v}, namespace: x, values: {deniedKinds: null}}\n"},
		{"teams/tenants/retail/defaults/application-sets/teams.yaml": "team-project: {enabled: true}\nteam: {values: {team: {owners: [evil]}}}\n"},
		{"teams/tenants/retail/defaults/application-sets/teams.yaml": "team-vault: {enabled: true, chart: {repoURL: evil, path: x, version: v}}\n"},
		{"teams/tenants/retail/clusters/hub/teams/team-cart/values.yaml": "team: {clusters: [bank]}\n"},
		{"teams/tenants/retail/defaults/teams/team-cart/values.yaml": "a: [\n"},
	} {
		got := teamSets(t, rebuild(t, before, fmt.Sprint("hostile ", i), files.With(hostile)))
		for _, application := range []string{"team-cart-hub", "team-vault-hub", "team-vault-bank"} {
			if got[application] != want[application] {
				t.Errorf("%v changes %s:\n%s", hostile, application, got[application])
			}
		}
		if strings.Contains(got["team-cart-one"], "evil") {
			t.Errorf("%v reaches the member: %s", hostile, got["team-cart-one"])
		}
	}
}

// TestBrokenMemberStaysInItsTeamsProject is G2 for teams: a member whose file cannot be read keeps
// its place in the project of the team on the hub, over later commits and restarts, and so do its
// applications.
func TestBrokenMemberStaysInItsTeamsProject(t *testing.T) {
	files := withTeams()
	before := rebuild(t, nil, "r1", files)
	want := teamSets(t, before)
	require.Contains(t, want["team-cart-hub"], "  clusters:\n  - one\n", "the project")
	for _, text := range []string{"clusterName: [\n", "{clusterName: one, tenant: retail, environment: prod, enviroment: x}\n", "{clusterName: one, tenant: bank, environment: [prod]}\n"} {
		broken := files.With(fleettest.Tree{fleettest.Member("one"): text})
		st := rebuild(t, before, "broken", broken)
		later := rebuild(t, st, "later", broken.With(fleettest.Tree{"fleet/teams/vault.yaml": strings.Replace(files["fleet/teams/vault.yaml"], "[vault]", "[vault, auditors]", 1)}))
		restarted, err := fleetstate.Restore(nil, fleettest.Snapshot("broken", broken), facts.Set{}, st.LastKnownGood())
		require.NoError(t, err)
		for when, now := range map[string]*fleetstate.State{"at once": st, "at the next commit": later, "after a restart": restarted} {
			if got := teamSets(t, now); got["team-cart-hub"] != want["team-cart-hub"] || !strings.HasPrefix(got["team-cart-one"], want["team-cart-one"]) {
				t.Errorf("%q, %s:\n%s\n%s", text, when, got["team-cart-hub"], got["team-cart-one"])
			}
			if got := appSets(t, now, allApps); got["api-one"] == "" {
				t.Errorf("%q, %s: applications %v", text, when, got)
			}
		}
		if got := teamSets(t, rebuild(t, later, "fixed", files)); got["team-cart-hub"] != want["team-cart-hub"] {
			t.Errorf("fixed: %s", got["team-cart-hub"])
		}
	}
}

// TestNamespaceStaysWithTheTeamThatHasIt is T2: of two teams that claim a namespace on one cluster,
// the one that is served keeps it, whichever file comes first by name; others' clusters go on.
func TestNamespaceStaysWithTheTeamThatHasIt(t *testing.T) {
	files := withTeams()
	before := rebuild(t, nil, "r1", files)
	want := teamSets(t, before)
	for _, name := range []string{"aaa", "zzz"} {
		for _, namespaces := range []string{"{name: cart, preset: small}", "{prefix: c-}, {name: cart, preset: small}"} {
			more := fleettest.Tree{"fleet/teams/" + name + ".yaml": teamFile(name, namespaces), "fleet/teams/vault.yaml": strings.Replace(files["fleet/teams/vault.yaml"], "[vault]", "[vault, auditors]", 1)}
			st := rebuild(t, before, "r2 "+name+namespaces, files.With(more))
			got := teamSets(t, st)
			if _, there := got["team-"+name+"-one"]; there {
				t.Errorf("%s has taken the namespace", name)
			}
			if !strings.HasPrefix(got["team-cart-one"], want["team-cart-one"]) || !strings.HasPrefix(got["team-cart-hub"], want["team-cart-hub"]) {
				t.Errorf("%s changes what cart has: %s", name, got["team-cart-one"])
			}
			assert.Contains(t, got["team-vault-bank"], "auditors", "%s stops another tenant's team", name)
			if text := querytest.Problems(st.Problems); !strings.Contains(text, "fleet/teams/cart.yaml") || !strings.Contains(text, "fleet/teams/"+name+".yaml") {
				t.Errorf("problems name not both files: %s", text)
			}
		}
	}
}

// TestNamespaceOfAComponentIsNoTeams is T2 for the platform's namespaces.
func TestNamespaceOfAComponentIsNoTeams(t *testing.T) {
	files := withTeams().With(fleettest.Tree{
		"fleet/layout.yaml": "groups: {addons: {catalog: catalog.yaml}, teams: {catalog: teams.yaml}, workloads: {catalog: apps.yaml}}\n",
		"catalog.yaml":      "dns: {enabled: true, namespace: dns-system, " + fleettest.DNSChart + "}\n",
	})
	querytest.NoProblems(t, rebuild(t, nil, "r1", files))
	st := rebuild(t, nil, "r2", files.With(fleettest.Tree{"fleet/teams/cart.yaml": teamFile("cart", "{prefix: dns-}")}))
	assert.Contains(t, querytest.Problems(st.Problems), `has namespace "dns-system" on the same cluster`, "problems")
}

// TestBrokenTeamFileHurtsNoOtherTenant is G2 for teams: whatever is wrong with a team's file, its
// tenant's members keep the team, and another tenant's members take what a commit brings.
func TestBrokenTeamFileHurtsNoOtherTenant(t *testing.T) {
	files := withTeams()
	before := rebuild(t, nil, "r1", files)
	want := teamSets(t, before)
	for i, broken := range []string{
		"tenant: retail\na: [\n", "tenant: retail # ours\r\nname: cart\n", strings.Replace(files["fleet/teams/cart.yaml"], "owners", "onwers", 1),
		strings.Replace(files["fleet/teams/cart.yaml"], "name: cart\n", "name: card\n", 1), "tenant: retail\n- x\n",
	} {
		more := fleettest.Tree{"fleet/teams/cart.yaml": broken, "fleet/teams/vault.yaml": strings.Replace(files["fleet/teams/vault.yaml"], "[vault]", "[vault, auditors]", 1)}
		got := teamSets(t, rebuild(t, before, fmt.Sprint("broken ", i), files.With(more)))
		if !strings.HasPrefix(got["team-cart-one"], want["team-cart-one"]) || !strings.HasPrefix(got["team-cart-hub"], want["team-cart-hub"]) {
			t.Errorf("%q: cart has %v", broken, got)
		}
		assert.Contains(t, got["team-vault-bank"], "auditors", "%q stops another tenant's team", broken)
	}
	// A file that does not even say its tenant may be anybody's: all keep what they have (G1).
	got := teamSets(t, rebuild(t, before, "unread", files.With(fleettest.Tree{"fleet/teams/cart.yaml": "x: [\n"})))
	for application, set := range want {
		if !strings.HasPrefix(got[application], set) {
			t.Errorf("%s: %s", application, got[application])
		}
	}
}

// TestBrokenTeamFileIsNoMissingTeam is G1 for teams where no earlier snapshot is known, as when the
// service starts without a stored state: no response looks as if the team, or an application of
// its, had gone. Responses to queries for other groups go on.
func TestBrokenTeamFileIsNoMissingTeam(t *testing.T) {
	files := withTeams().With(fleettest.Tree{
		"fleet/layout.yaml": "groups: {addons: {catalog: catalog.yaml}, teams: {catalog: teams.yaml}, workloads: {catalog: apps.yaml}}\n",
		"catalog.yaml":      "dns: {enabled: true, " + fleettest.DNSChart + "}\n",
	})
	cart, apps := files["fleet/teams/cart.yaml"], files["apps.yaml"]
	for name, broken := range map[string]fleettest.Tree{
		"no YAML":            {"fleet/teams/cart.yaml": "x: [\n"},
		"no YAML, a tenant":  {"fleet/teams/cart.yaml": "tenant: retail\na: [\n"},
		"unknown key":        {"fleet/teams/cart.yaml": strings.Replace(cart, "owners", "onwers", 1)},
		"another name":       {"fleet/teams/cart.yaml": strings.Replace(cart, "name: cart\n", "name: card\n", 1)},
		"claimed namespaces": {"fleet/teams/aaa.yaml": teamFile("aaa", "{name: cart, preset: small}")},
		"no such team":       {"apps.yaml": strings.Replace(apps, "team: cart", "team: card", 1)},
	} {
		st := rebuild(t, nil, name, files.With(broken))
		for _, q := range []string{`{"view":"components","group":"teams"}`, allApps} {
			if name == "no such team" && q != allApps {
				continue
			}
			if data, err := response.Bytes(st, querytest.Query(t, q)); !isUnavailable(err) {
				t.Errorf("%s: %s is answered, with %d sets, and %v; expected no response", name, q, len(data), err)
			}
		}
		if _, err := response.Bytes(st, querytest.Query(t, `{"view":"components","group":"addons"}`)); err != nil {
			t.Errorf("%s: no response of another group: %v", name, err)
		}
	}
}

// teamChanges are edits of all that the group teams depends on.
func teamChanges() []change {
	files := withTeams()
	cart := files["fleet/teams/cart.yaml"]
	return []change{
		{"fleet/teams/cart.yaml", []string{"", cart, strings.Replace(cart, "prod", "dev", 1), strings.Replace(cart, "{matchLabels: {environment: prod}}", "{}", 1), strings.Replace(cart, "retail", "bank", 1), "tenant: retail\n", "x: ["}},
		{"fleet/teams/vault.yaml", []string{"", files["fleet/teams/vault.yaml"], teamFile("vault", "{prefix: ca-}"), teamFile("vault", "{name: cart, preset: small}")}},
		{"fleet/teams/", []string{"", "", "", "broken"}},
		{"teams.yaml", []string{files["teams.yaml"], strings.ReplaceAll(files["teams.yaml"], "v1", "v2"), files["teams.yaml"] + "other: {}\n"}},
		{"teams/tenants/retail/defaults/application-sets/teams.yaml", []string{"", "team: {values: {presets: {small: {quota: {pods: 1}}}}}\n", "team-cart: {enabled: false}\n", "team: {values: {team: x}}\n"}},
		{"teams/defaults/application-sets/teams.yaml", []string{"", "team: {values: {keepNamespaces: false}}\nteam-project: {values: {ownerActions: [get]}}\n"}},
		{"teams/defaults/teams/team-cart/values.yaml", []string{"", "commonLabels: {a: b}\n"}},
		{"apps.yaml", []string{files["apps.yaml"], app("api", "cart", "vault"), app("api", "vault", "vault"), app("api", "nobody", "x"), "api: {}\n", "{}\n"}},
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml", []string{"", "api: {enabled: false}\n", "safe: {enabled: true}\n", "api: {namespace: vault}\n", "api: {team: vault, project: vault}\n"}},
		{"workloads/defaults/workloads/api/values.yaml", []string{"", "a: b\n"}},
		{fleettest.Member("one"), []string{"", fleettest.Spoke("one", ""), fleettest.Spoke("one", "labels: {environment: x}\n"), "a: ["}},
		{fleettest.Member("three"), []string{"", fleettest.Spoke("three", ""), "{clusterName: three, tenant: team-cart, environment: prod}\n"}},
		{fleettest.Member("hub"), []string{files[fleettest.Member("hub")], "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n"}},
	}
}

// TestIncrementalTeamsAreFreshOnes is G6 for team files: see TestIncrementalBuildIsAFreshOne.
func TestIncrementalTeamsAreFreshOnes(t *testing.T) {
	all := teamChanges()
	built, kept := 0, 0
	for seed := range cases.Times(4) {
		r := rand.New(rand.NewPCG(uint64(seed), 18))
		files := withTeams()
		var previous *fleetstate.State
		var history []string
		for range 25 {
			for range 1 + r.IntN(3) {
				c := all[r.IntN(len(all))]
				content := c.contents[r.IntN(len(c.contents))]
				files = files.With(fleettest.Tree{c.path: content})
				history = append(history, fmt.Sprintf("%s = %q", c.path, content))
			}
			current := fleettest.Snapshot(fmt.Sprint("r", len(history)), files)
			next, err := fleetstate.Build(previous, current, facts.Set{})
			if err != nil {
				if _, freshErr := fleetstate.Build(nil, current, facts.Set{}); fmt.Sprint(freshErr) != fmt.Sprint(err) {
					t.Fatalf("seed %d, %v: %v, and fresh %v", seed, history, err, freshErr)
				}
				continue
			}
			lkg := next.LastKnownGood()
			fresh, err := fleetstate.Restore(nil, fleettest.Snapshot(current.Revision, files), facts.Set{}, lkg)
			require.NoError(t, err)
			built++
			if len(lkg) > 0 {
				kept++
			}
			sameEverything(t, fmt.Sprintf("seed %d, %v", seed, history), everything(t, fresh), everything(t, next))
			previous = next
		}
	}
	if kept < built/10 || kept == built {
		t.Errorf("%d states, %d with last known good members: the changes do not test much", built, kept)
	}
}

// TestReleaseHandsOutTeams: no chart of a release has an entry of a team, so that the releases view
// hands it out whole, and queries that send it as base compute the same.
func TestReleaseHandsOutTeams(t *testing.T) {
	st := querytest.NoProblems(t, rebuild(t, nil, "r1", withTeams()))
	body, err := response.Bytes(st, querytest.Query(t, `{"view":"releases","group":"teams"}`))
	require.NoError(t, err)
	for _, want := range []string{`team-cart:\n    chart:\n      path: charts/team\n`, `team-vault:`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	base := `{"view":"components","group":"teams","component":"team-cart","base":{"enabled":true,"chart":{"repoURL":"r","path":"charts/team","version":"v1"}}}`
	withBase, err := response.Bytes(st, querytest.Query(t, base))
	require.NoError(t, err)
	without, err := response.Bytes(st, querytest.Query(t, `{"view":"components","group":"teams","component":"team-cart"}`))
	require.NoError(t, err)
	if !bytes.Equal(withBase, without) {
		t.Errorf("with base:\n%s\nwithout:\n%s", withBase, without)
	}
}

// TestTenantMakesNoApplicationSetOfATeamElsewhere is W1 and T2: a tenant's level that switches on a
// team that is not on its clusters changes nothing of a release.
func TestTenantMakesNoApplicationSetOfATeamElsewhere(t *testing.T) {
	files := withTeams().With(fleettest.Tree{"fleet/teams/cart.yaml": strings.Replace(teamFile("cart", "{name: cart, preset: small}"), "environment: prod", "environment: none", 1)})
	hostile := files.With(fleettest.Tree{"teams/tenants/bank/defaults/application-sets/teams.yaml": "team-cart: {enabled: true}\n"})
	var texts []string
	for _, tree := range []fleettest.Tree{files, hostile} {
		body, err := response.Bytes(rebuild(t, nil, "r", tree), querytest.Query(t, `{"view":"releases","group":"teams"}`))
		require.NoError(t, err)
		texts = append(texts, string(body))
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "team-vault") {
		t.Errorf("a tenant's level changes the release:\n%s\n%s", texts[0], texts[1])
	}
}
