package response_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// TestTenantsCatalogMakesNoClass: all of the group provisioning lands on the hub, so a tenant's
// catalog neither adds a component for nodes to a class nor changes a class that a level of the
// platform alone names, whatever entry a query has. The member keeps what it had. (W1, C1)
func TestTenantsCatalogMakesNoClass(t *testing.T) {
	const layout = "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  addons: {root: addons}\n  fleet: {root: addons}\n"
	const theirs = "provisioning/tenants/retail/defaults/application-sets/provisioning.yaml"
	const chart = "namespace: clusters, chart: {repoURL: https://git.example/argosy, path: charts/cluster-crossplane, version: main}"
	const evil = "namespace: kube-system, chart: {repoURL: https://evil.example, name: evil, path: null, version: 1.0.0}"
	nodes := fleettest.Tree{
		"fleet/layout.yaml": layout + "  provisioning: {root: provisioning, catalog: provisioning.yaml}\n",
		"provisioning.yaml": "components:\n  eks: {enabled: true, " + chart + "}\n",
	}
	level := fleettest.Tree{
		"fleet/layout.yaml": layout + "  provisioning: {root: provisioning}\n",
		"provisioning/defaults/application-sets/provisioning.yaml": "eks: {enabled: true, " + chart + "}\n",
	}
	for name, c := range map[string]struct {
		files        fleettest.Tree
		entry, query string
	}{
		"nodes of a class":           {nodes, "eks-nodes: {enabled: true, " + evil + "}\n", `{"view":"components","group":"provisioning"}`},
		"a class of a level":         {level, "eks: {" + evil + "}\n", `{"view":"components","group":"provisioning"}`},
		"a class in a query's entry": {level, "eks: {" + evil + "}\n", `{"view":"components","group":"provisioning","component":"eks","base":{"chart":{"repoURL":"r","path":"p","version":"v"},"namespace":"clusters"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			files := fleettest.Small().With(c.files).With(fleettest.Tree{
				fleettest.Member("one"): fleettest.Spoke("one", "provision: {class: eks, version: '1.33'}\n"),
			})
			before := querytest.NoProblems(t, querytest.Build(t, files))
			hostile := fleettest.Snapshot("2", files.With(fleettest.Tree{theirs: c.entry}))
			st := querytest.Next(t, before, hostile, facts.NewSet(false))
			if got := querytest.Problems(st.Problems); !strings.HasPrefix(got, "forbidden-value "+theirs+":1:1: ") || strings.Contains(got, "\n") {
				t.Errorf("problems: %s", got)
			}
			charts := func(st *fleetstate.State) string {
				out := map[string]any{}
				for name, set := range querytest.Ask(t, st, c.query) {
					out[name] = set["chart"]
				}
				return fmt.Sprint(out)
			}
			if got, want := charts(st), charts(before); got != want || !strings.HasPrefix(want, "map[eks-one:") {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
}

// TestOwnEngineKeepsItsCluster: what makes the cluster of a retired member stays while its file
// gives a group to its own engine, also where the hub has nothing else of it any more. (C3)
func TestOwnEngineKeepsItsCluster(t *testing.T) {
	const chart = "namespace: clusters, chart: {repoURL: r, path: p, version: v}"
	of := func(component string) facts.Application {
		return facts.Application{Name: component + "-one", Cluster: "one", Group: "provisioning", Component: component, Release: "default"}
	}
	known := facts.NewSet(true, facts.Cluster{Name: "hub"}).WithApplications(of("eks"), of("eks-nodes"))
	for keys, want := range map[string]string{"": "cascade", argoOne: "orphan"} {
		st := querytest.NoProblems(t, state(t, fleettest.Small().With(fleettest.Tree{
			"fleet/layout.yaml":        "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  provisioning: {root: provisioning, catalog: provisioning.yaml}\n",
			"provisioning.yaml":        "components:\n  eks: {enabled: true, " + chart + "}\n  eks-nodes: {enabled: true, dependsOn: [eks], " + chart + "}\n",
			"fleet/approvals/one.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: RemovalApproval\nexpires: 2099-01-01\nremovals: [{hub: hub, clusters: [one], components: [provisioning/eks], reason: r}]\n",
			fleettest.Member("one"):    fleettest.Spoke("one", keys+"provision: {class: eks, version: '1.33'}\nlifecycle: retired\ndeletion: cascade\ninfrastructure: delete\n"),
		}), known))
		sets := querytest.Ask(t, st, `{"view":"components","group":"provisioning"}`)
		for _, name := range []string{"eks-one", "eks-nodes-one"} {
			assert.Equal(t, want, sets[name].Text("deletion"), "%q: %s", keys, name)
		}
	}
}

// TestMemberFileBeatsItsClass: whatever the layout says of catalogs' values, the member file says
// what its cluster is. (C2)
func TestMemberFileBeatsItsClass(t *testing.T) {
	for _, order := range []string{"first", "last"} {
		files := fleettest.Small().With(fleettest.Tree{
			"fleet/layout.yaml":     "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ncatalogValues: " + order + "\ngroups:\n  provisioning: {root: provisioning, catalog: provisioning.yaml}\n",
			"provisioning.yaml":     "components:\n  eks: {enabled: true, namespace: clusters, chart: {repoURL: r, path: p, version: v}, values: {part: controlPlane, version: '1.34', region: eu-central-1}}\n",
			fleettest.Member("one"): fleettest.Spoke("one", "provision: {class: eks, version: '1.31', region: us-east-1}\n"),
		})
		st := querytest.NoProblems(t, querytest.Build(t, files))
		values := querytest.Ask(t, st, `{"view":"components","group":"provisioning"}`)["eks-one"].Text("helmValues")
		for _, want := range []string{"part: controlPlane\n", "version: \"1.31\"\n", "region: us-east-1\n"} {
			if !strings.Contains(values, want) {
				t.Errorf("catalogValues: %s: no %q in\n%s", order, want, values)
			}
		}
	}
}
