package response_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// appSets are the parameter sets of applications, by name: the folder, the namespace, and the
// deletion.
func appSets(t *testing.T, st *fleetstate.State, parameters string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, set := range querytest.List(t, st, querytest.Query(t, parameters)) {
		chart, _ := set["chart"].(map[string]any)
		out[set.Text("applicationName")] = fmt.Sprint(chart["path"], " in ", set.Text("namespace"), " ", set.Text("deletion"))
	}
	return out
}

const allApps = `{"view":"components","group":"workloads"}`

// TestAppStaysWithItsTeam is T4: neither a query nor a level brings an application to a cluster
// that its team is not on, or to a namespace of another. What a tenant's levels say concerns that
// tenant's members alone.
func TestAppStaysWithItsTeam(t *testing.T) {
	files := withTeams()
	before := rebuild(t, nil, "r1", files)
	want := appSets(t, querytest.NoProblems(t, before), allApps)
	require.Equal(t, "map[api-one:prod in cart orphan safe-bank:prod in vault orphan]", fmt.Sprint(want), "sets")
	base := `{"view":"components","group":"workloads","component":"api","base":{"enabled":true,"namespace":"cart","chart":{"repoURL":"r","path":"p","version":"v1"}}}`
	if got := appSets(t, before, base); len(got) != 1 || got["api-one"] == "" {
		t.Errorf("a query's base puts the application on %v", got)
	}
	for i, hostile := range []fleettest.Tree{
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "safe: {enabled: true}\n"},
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "safe: {enabled: true, team: cart, namespace: cart, chart: {repoURL: 'https://git.example/cart', path: x, version: v}}\n"},
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "own: {enabled: true, namespace: cart, chart: {repoURL: 'https://git.example/cart', path: x, version: v}}\n"},
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "api: {namespace: vault}\n"},
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "api: {namespace: kube-system}\n"},
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "api: {namespace: '{{ \"argo\" }}cd'}\n"},
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "api: {team: vault}\n"},
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "api: {project: default}\n"},
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "api: {chart: {repoURL: 'https://evil.example/x'}}\n"},
		{"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "api: {chart: {repoURL: 'https://git.example/%2e%2e/x'}}\n"},
	} {
		st := rebuild(t, before, fmt.Sprint("hostile ", i), files.With(hostile))
		if got := appSets(t, st, allApps); !maps.Equal(got, want) {
			t.Errorf("%v: %v", hostile, got)
		}
		if text := releases(t, st); strings.Contains(text, "project: default") || strings.Count(text, "project: team-") != 2 {
			t.Errorf("%v: %s", hostile, text)
		}
	}
}

// TestAppStaysInItsRepositories is T4: a repository that is not the team's brings no Application;
// its members keep what they have, with Argo CD as with Flux.
func TestAppStaysInItsRepositories(t *testing.T) {
	files := withTeams()
	before := rebuild(t, nil, "r1", files)
	for i, repository := range []string{"https://evil.example/x", "https://git.example/%2e%2e/cart", "https://git.example/cart/../vault"} {
		st := rebuild(t, before, fmt.Sprint("hostile ", i), files.With(fleettest.Tree{
			"workloads/tenants/retail/defaults/application-sets/workloads.yaml": "api: {chart: {repoURL: '" + repository + "'}}\n",
		}))
		found := 0
		for _, set := range querytest.List(t, st, querytest.Query(t, allApps)) {
			if chart, _ := set["chart"].(map[string]any); set.Text("applicationName") == "api-one" && chart["repoURL"] == "https://git.example/cart" {
				found++
			}
		}
		assert.Equal(t, 1, found, "%s: the application is not served as it was", repository)
	}
}

// TestAppWithoutTeamStays is G1 for applications: an entry whose team there is not, by a typo or
// because its file has gone, removes nothing anywhere, and no Application gets another project.
func TestAppWithoutTeamStays(t *testing.T) {
	files := withTeams()
	before := rebuild(t, nil, "r1", files)
	want := appSets(t, before, allApps)
	for i, broken := range []fleettest.Tree{
		{"apps.yaml": app("api", "crat", "cart") + app("safe", "vault", "vault")},
		{"apps.yaml": "api: {enabled: true, namespace: cart, chart: {repoURL: 'https://git.example/cart', path: x, version: v1}}\n" + app("safe", "vault", "vault")},
		{"fleet/teams/cart.yaml": ""},
	} {
		st := rebuild(t, before, fmt.Sprint("broken ", i), files.With(broken))
		if got := appSets(t, st, allApps); !maps.Equal(got, want) {
			t.Errorf("%v: %v", broken, got)
		}
		if text := releases(t, st); strings.Contains(text, "tenant") && strings.Contains(text, "project: default") || !strings.Contains(text, "project: team-vault") {
			t.Errorf("%v: %s", broken, text)
		}
		if next := rebuild(t, st, fmt.Sprint("fixed ", i), files); len(next.Problems) > 0 || !maps.Equal(appSets(t, next, allApps), want) {
			t.Errorf("fixed: %v", next.Problems)
		}
	}
}

// releases is the releases view of the group workloads.
func releases(t *testing.T, st *fleetstate.State) string {
	t.Helper()
	body, err := response.Bytes(st, querytest.Query(t, `{"view":"releases","group":"workloads"}`))
	require.NoError(t, err)
	return string(body)
}

// TestTeamThatLeavesAClusterTakesNoWorkloads is D1: where a team's selector selects a cluster no
// more, its applications are left out and not removed with what runs.
func TestTeamThatLeavesAClusterTakesNoWorkloads(t *testing.T) {
	files := withTeams()
	before := rebuild(t, nil, "r1", files)
	running := facts.Set{}.WithApplications(facts.Application{Name: "api-one", Cluster: "one", Group: "workloads", Component: "api"})
	narrowed := files.With(fleettest.Tree{"fleet/teams/cart.yaml": strings.Replace(files["fleet/teams/cart.yaml"], "prod", "dev", 1)})
	st, err := fleetstate.Build(before, fleettest.Snapshot("r2", narrowed), running)
	require.NoError(t, err)
	if got := appSets(t, st, allApps); got["api-one"] != "" || got["api-two"] == "" {
		t.Errorf("sets: %v", got)
	}
}
