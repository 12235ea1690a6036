package response_test

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
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

// TestTenantsFolderIsNoLevelOfThePlatform is rule W1: no label and no annotation of a member file
// makes its tenant's folder a level of the platform.
func TestTenantsFolderIsNoLevelOfThePlatform(t *testing.T) {
	const twoLabels, annotation = `{{ .root }}/{{ index .labels "cloud" | default "any" }}/{{ index .labels "region" | default "any" }}`, `{{ .root }}/{{ index .annotations "region" | default "any" }}`
	for name, c := range map[string]struct{ dir, member, folder string }{
		"labels":              {"dir: '" + twoLabels + "'", "labels: {cloud: tenants, region: red}\n", "addons/tenants/red"},
		"an annotation":       {"dir: '" + annotation + "'", "annotations: {region: tenants/red/x}\n", "addons/tenants/red/x"},
		"another tenant's":    {"dir: '" + annotation + "'", "annotations: {region: tenants/blue/defaults}\n", "addons/tenants/blue/defaults"},
		"named as platform's": {"owner: platform, dir: '" + twoLabels + "'", "labels: {cloud: tenants, region: red}\n", "addons/tenants/red"},
	} {
		t.Run(name, func(t *testing.T) {
			st := querytest.Build(t, twoTenants().With(fleettest.Tree{
				"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\nlevels:\n" +
					"  - {name: system, dir: '{{ .root }}/defaults'}\n  - {name: region, " + c.dir + "}\n" +
					"  - {name: tenant, dir: '{{ .root }}/tenants/{{ .tenant }}/defaults'}\n",
				fleettest.Member("red-0"):                    "clusterName: red-0\ntenant: red\nenvironment: dev\nsecretManagerSecretName: hub/red-0\n" + c.member,
				c.folder + "/fleet/fleet-secret/values.yaml": "externalSecret: {secretName: blue-0, creationPolicy: Merge}\n",
			}))
			got := querytest.Problems(st.Problems)
			if !strings.Contains(got, string(problem.ForbiddenFolder)+" fleet/fleet-members/hub/red-0.yaml") || strings.Contains(got, "blue-0") {
				t.Errorf("red registers as it likes: %q", got)
			}
		})
	}
}

// TestLevelsWithAnOwnerStay is rule W1: a level that says whose files it has may be in a tenant's
// folder, the platform's by the tenant's name alone.
func TestLevelsWithAnOwnerStay(t *testing.T) {
	for name, c := range map[string]struct{ level, folder, want string }{
		"of the platform": {"owner: platform, dir: '{{ .root }}/tenants/{{ .tenant }}/platform'", "addons/tenants/red/platform", ""},
		"of the tenant":   {`owner: tenant, dir: '{{ .root }}/tenants/{{ index .labels "region" | default "none" }}/x'`, "addons/tenants/red/x", string(problem.ForbiddenValue)},
	} {
		t.Run(name, func(t *testing.T) {
			st := querytest.Build(t, twoTenants().With(fleettest.Tree{
				"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\nlevels:\n" +
					"  - {name: system, dir: '{{ .root }}/defaults'}\n  - {name: own, " + c.level + "}\n" +
					"  - {name: tenant, dir: '{{ .root }}/tenants/{{ .tenant }}/defaults'}\n",
				fleettest.Member("red-0"):                    "clusterName: red-0\ntenant: red\nenvironment: dev\nsecretManagerSecretName: hub/red-0\nlabels: {region: red}\n",
				c.folder + "/fleet/fleet-secret/values.yaml": "externalSecret: {secretName: blue-0, creationPolicy: Merge}\n",
			}))
			got := querytest.Problems(st.Problems)
			if strings.Contains(got, string(problem.ForbiddenFolder)) || (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestLevelsBesideTenantsStay: where the tenants' folders lie directly below the root, a level of
// the platform beside them is in none of them, whatever its folder is called.
func TestLevelsBesideTenantsStay(t *testing.T) {
	for _, dir := range []string{"{{ .root }}/env-{{ .environment }}", "{{ .root }}/{{ .environment }}"} {
		st := querytest.Build(t, twoTenants().With(fleettest.Tree{
			"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\nlevels:\n" +
				"  - {name: system, dir: '{{ .root }}/defaults'}\n  - {name: environment, dir: '" + dir + "'}\n  - {name: tenant, dir: '{{ .root }}/{{ .tenant }}'}\n",
		}))
		if got := querytest.Problems(st.Problems); strings.Contains(got, string(problem.ForbiddenFolder)) {
			t.Errorf("%s: %s", dir, got)
		}
	}
}

// TestLabelIsNoTenantWhateverItsSpelling is rule W1: a label that is the whole name of a folder
// beside the tenants' makes none of theirs a level of the platform.
func TestLabelIsNoTenantWhateverItsSpelling(t *testing.T) {
	for _, label := range []string{`{{ .labels.region }}`, `{{ index .labels "region" | default "any" }}`} {
		member := func(name, tenant, region string) string {
			return "clusterName: " + name + "\ntenant: " + tenant + "\nenvironment: dev\nsecretManagerSecretName: hub/" + name + "\nlabels: {region: " + region + "}\n"
		}
		st := querytest.Build(t, twoTenants().With(fleettest.Tree{
			"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\nlevels:\n" +
				"  - {name: system, dir: '{{ .root }}/defaults'}\n  - {name: region, dir: '{{ .root }}/tenants/" + label + "/defaults'}\n" +
				"  - {name: tenant, dir: '{{ .root }}/tenants/{{ .tenant }}/defaults'}\n",
			fleettest.Member("red-0"): member("red-0", "red", "blue"), fleettest.Member("blue-0"): member("blue-0", "blue", "eu"),
			fleettest.Member("red-1"): "", fleettest.Member("red-2"): "", fleettest.Member("blue-1"): "", fleettest.Member("blue-2"): "",
		}))
		assert.Contains(t, querytest.Problems(st.Problems), string(problem.ForbiddenFolder)+" fleet/fleet-members/hub/red-0.yaml", "%s: blue's folder is the platform's for red-0", label)
	}
}
