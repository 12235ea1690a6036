package response_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// Two long names of which the ends that cut names have are the same by chance.
const (
	longOfPlatform = "a-component-of-the-platform-with-a-very-long-name-for-p104537"
	longOfTenant   = "a-component-of-the-platform-with-a-very-long-name-for-tt141669"
)

// takenNames are names of a tenant's own components that are taken, each with its cluster and
// group.
var takenNames = []struct{ cluster, component, group string }{
	{"0", "dns-blue", "addons"},
	{"0", "dns-blue", "teams"},
	{"cd-blue-0", "argo", "addons"},
	{"secret-blue-0", "fleet", "addons"},
	{"sets-x", "application", "addons"},
	{"0", longOfTenant, "addons"},
	{"0", "fleet-secret", "addons"},
	{"0", "agent", "addons"},
	{"0", "cluster-info", "teams"},
}

// namedByRed is a fleet whose cluster of red has a component of red's own.
func namedByRed(cluster, component, group string) fleettest.Tree {
	const chart = ": {enabled: true, chart: {repoURL: https://charts.example, name: own, version: 1.0.0}}\n"
	return twoTenants().With(fleettest.Tree{
		"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups: {addons: {root: addons}, fleet: {root: addons}, teams: {root: addons, catalog: teams.yaml}}\n",
		"teams.yaml": "components:\n  team: {enabled: false, namespace: default, chart: {repoURL: https://git.example/argosy, path: charts/team, version: main}}\n" +
			"  team-project: {enabled: false, namespace: argocd, chart: {repoURL: https://git.example/argosy, path: charts/team-project, version: main}}\n",
		"addons/defaults/application-sets/addons.yaml":                                    "dns" + chart + "argo-cd" + chart + longOfPlatform + chart,
		fleettest.Member(cluster):                                                         fmt.Sprintf("clusterName: %q\ntenant: red\nenvironment: dev\nsecretManagerSecretName: hub/x\n", cluster),
		"addons/tenants/red/clusters/" + cluster + "/application-sets/" + group + ".yaml": component + chart,
	})
}

// TestRefusedNameIsNotAnswered: a cluster that comes with a component of its tenant's own whose
// name is taken is in no response: neither is what it would be in the place of. (W1, N1)
func TestRefusedNameIsNotAnswered(t *testing.T) {
	if a, b := catalog.ApplicationName(longOfPlatform, "blue-0"), catalog.ApplicationName(longOfTenant, "0"); a != b {
		t.Fatalf("%s and %s differ", a, b)
	}
	for _, c := range takenNames {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			files := namedByRed(c.cluster, c.component, c.group)
			before := maps.Clone(files)
			delete(before, fleettest.Member(c.cluster))
			st := querytest.Next(t, querytest.NoProblems(t, querytest.Build(t, before)), fleettest.Snapshot("2", files), facts.NewSet(false))
			if got := querytest.Problems(st.Problems); !strings.HasPrefix(got, "duplicate-name addons/tenants/red/clusters/"+c.cluster+"/application-sets/"+c.group+".yaml:1:1: ") || strings.Contains(got, "\n") {
				t.Errorf("problems: %s", got)
			}
			for _, group := range []string{"addons", "teams"} {
				for name, set := range querytest.Ask(t, st, `{"view":"components","group":"`+group+`"}`) {
					if set["name"] == c.cluster {
						t.Errorf("%s is answered", name)
					}
				}
			}
		})
	}
}

// TestNameIsTakenByTheClusterThatHasIt: of the names that are taken by another cluster, each is
// free without that one, and taken when it comes, by steps as at once. (N1, G6)
func TestNameIsTakenByTheClusterThatHasIt(t *testing.T) {
	for _, c := range takenNames[:6] {
		if c.component == "application" { // a release has it
			continue
		}
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			files := namedByRed(c.cluster, c.component, c.group)
			without := maps.Clone(files)
			for _, victim := range []string{"blue-0", "blue-1", "blue-2"} {
				delete(without, fleettest.Member(victim))
			}
			free := querytest.NoProblems(t, querytest.Build(t, without))
			taken := querytest.Next(t, free, fleettest.Snapshot("2", files), facts.NewSet(false))
			got, want := querytest.Problems(taken.Problems), querytest.Problems(querytest.Build(t, files).Problems)
			if got != want || !strings.HasPrefix(got, "duplicate-name ") {
				t.Errorf("by steps: %s\nat once: %s", got, want)
			}
			querytest.NoProblems(t, querytest.Next(t, taken, fleettest.Snapshot("3", without), facts.NewSet(false)))
		})
	}
}

// A tenant's own component has no grant's name: not its own cluster's, nor another member's. (W1,
// N1, M3)
func TestTenantTakesNoGrantsName(t *testing.T) {
	for _, c := range []struct{ cluster, component string }{{"0", "grant-addons"}, {"addons-blue-0", "grant"}} {
		st := querytest.Build(t, namedByRed(c.cluster, c.component, "addons"))
		want := "duplicate-name addons/tenants/red/clusters/" + c.cluster + "/application-sets/addons.yaml:1:1: "
		if got := querytest.Problems(st.Problems); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%v: %q", c, got)
		}
	}
}
