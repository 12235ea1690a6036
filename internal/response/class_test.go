package response_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/querytest"
)

// TestTenantsCatalogMakesNoClass: all of the group provisioning lands on the hub, so a tenant's
// catalog neither adds a component for nodes to a class nor changes a class that a level of the
// platform alone names, whatever entry a query has. The member keeps what it had. (W1, C1)
func TestTenantsCatalogMakesNoClass(t *testing.T) {
	const layout = "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  addons: {root: addons}\n  fleet: {root: addons}\n"
	const theirs = "provisioning/tenants/retail/defaults/application-sets/provisioning.yaml"
	const chart = "namespace: clusters, chart: {repoURL: https://git.example/argosy, path: charts/cluster-api, version: main}"
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
