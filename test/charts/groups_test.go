package charts_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
)

// TestRootsOfGroupsOfYourOwn: the root of each group finds its catalog in the chart of a release,
// or does without. Helm refuses a values file that is not there, and Argo CD deploys nothing of the
// group.
func TestRootsOfGroupsOfYourOwn(t *testing.T) {
	for chart, values := range map[string]string{
		hubChart:                         newHub + "roots: {agents: [], groups: [addons, fleet, monitoring, provisioning, resources, teams, workloads, databases]}\n",
		repo + "/charts/agent-bootstrap": "{hub: hub-eu, owner: shop-1, groups: [addons, fleet, monitoring, resources, teams, workloads, databases]}\n",
	} {
		withoutCatalog := 0
		for _, set := range all[*v1alpha1.ApplicationSet](rendering{}.objects(t, chart, values)) {
			helm := set.Spec.Template.Spec.Source.Helm
			for _, file := range helm.ValueFiles {
				_, err := os.Stat(filepath.Join(applicationSets, file))
				if err != nil {
					withoutCatalog++
				}
				if (err != nil) != helm.IgnoreMissingValueFiles {
					t.Errorf("%s: ApplicationSet %s: %s is there: %t, and may be missing: %t", chart, set.Name, file, err == nil, helm.IgnoreMissingValueFiles)
				}
			}
		}
		if withoutCatalog != 1 {
			t.Errorf("%s: %d groups without a catalog", chart, withoutCatalog)
		}
	}
}
