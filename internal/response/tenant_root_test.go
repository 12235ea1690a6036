package response_test

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/querytest"
)

// TestTenantsFolderIsNobodysRoot is rule W1: no member file makes its tenant's folder the
// platform's.
func TestTenantsFolderIsNobodysRoot(t *testing.T) {
	for name, c := range map[string]struct{ root, hub, layout string }{
		"the hub's root": {"platform/tenants/red", "fleet_repo_basepath: platform\n", ""},
		"any root":       {"x/tenants/red", "", ""},
		"two folders":    {"platform/addons/tenants/red", "", "groups: {fleet: {root: platform/addons}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			st := querytest.Build(t, twoTenants().With(fleettest.Tree{
				"fleet/layout.yaml":                                 "apiVersion: argosy.dev/v1alpha1\nkind: Layout\n" + c.layout,
				fleettest.Member("hub"):                             "clusterName: hub\ntenant: platform\nenvironment: prod\nfleet_member: hub-cluster\n" + c.hub,
				fleettest.Member("red-0"):                           "clusterName: red-0\ntenant: red\nenvironment: dev\nsecretManagerSecretName: hub/red-0\nfleet_repo_basepath: " + c.root + "\n",
				c.root + "/defaults/fleet/fleet-secret/values.yaml": "externalSecret: {secretName: blue-0, creationPolicy: Merge}\n",
			}))
			got := querytest.Problems(st.Problems)
			if !strings.Contains(got, string(problem.ForbiddenFolder)+" fleet/fleet-members/hub/red-0.yaml:") || strings.Contains(got, "blue-") {
				t.Errorf("red registers as it likes: %q", got)
			}
		})
	}
}
