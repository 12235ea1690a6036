package fleet

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/pathpattern"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestTenantInThePath: where the layout has the tenant in the path of member files, the folder says
// whose member it is.
func TestTenantInThePath(t *testing.T) {
	p, err := pathpattern.NewMembers("fleet/{{ .hub }}/{{ .tenant }}/{{ .cluster }}.yaml", "")
	require.NoError(t, err)
	if path, err := p.Path("h", "t", "c"); err != nil || path != "fleet/h/t/c.yaml" {
		t.Error(path, err)
	}
	if hub, cluster, ok := p.Match("fleet/h/t/c.yaml"); !ok || hub != "h" || cluster != "c" {
		t.Error(hub, cluster, ok)
	}
	if tenant, ok := p.Tenant("fleet/h/t/c.yaml"); !ok || tenant != "t" {
		t.Error(tenant, ok)
	}
	if _, ok := p.Tenant("fleet/h/c.yaml"); ok {
		t.Error("another path has a tenant")
	}
	for _, text := range []string{"{{ .hub }}/{{ .tenant }}{{ .cluster }}.yaml", "{{ .tenant }}/{{ .hub }}/{{ .tenant }}/{{ .cluster }}"} {
		if _, err := pathpattern.NewMembers(text, ""); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

func TestMemberFilesKeepTheTenancyRules(t *testing.T) {
	layout := func(more string) string { return "apiVersion: argosy.dev/v1alpha1\nkind: Layout\n" + more }
	const tenantsPath = "members: fleet/{{ .hub }}/{{ .tenant }}/{{ .cluster }}.yaml\n"
	const inTenants = tenantsPath + "hubs: {h: {tenant: p}, h-2: {tenant: p, addons_repo_basepath: addons/tenants/red}}\n"
	for _, c := range []struct{ name, layout, path, text, want string }{
		{"its own folder", inTenants, "fleet/h/red/c.yaml", "tenant: red", ""},
		{"another tenant", inTenants, "fleet/h/red/c.yaml", "tenant: blue", `fleet/h/red/c.yaml:3:9: key "tenant": "blue"; expected "red", as the folder is named`},
		{"a hub", inTenants, "fleet/h/red/c.yaml", "tenant: red\nfleet_member: hub-cluster", `fleet/h/red/c.yaml:4:15: key "fleet_member": a hub among the member files of tenants; expected a spoke; the platform declares a hub in fleet/layout.yaml, as hubs.h`},
		{"a hub where there is none", tenantsPath, "fleet/h/red/c.yaml", "tenant: red\nfleet_member: hub-cluster\naddons_repo_basepath: x", `a hub among the member files of tenants`},
		{"no hub", tenantsPath, "fleet/h/red/c.yaml", "tenant: red", `fleet/h/red/c.yaml: hub "h": the layout does not declare it`},
		{"another hub", inTenants, "fleet/h/red/c.yaml", "tenant: red", ""},
		{"a hub's root in a tenant's folder", "", "fleet/fleet-members/h/c.yaml", "tenant: p\nfleet_member: hub-cluster\naddons_repo_basepath: addons/tenants/blue", `addons_repo_basepath": lies in the folder of tenant "blue"`},
		{"another tenant, by the file alone", "", "fleet/fleet-members/h/c.yaml", "tenant: blue", ""},
		{"a tenant's folder as root", "", "fleet/fleet-members/h/c.yaml", "tenant: red\naddons_repo_basepath: addons/tenants/blue", `addons_repo_basepath": lies in the folder of tenant "blue"`},
		{"its own", "", "fleet/fleet-members/h/c.yaml", "tenant: red\naddons_repo_basepath: addons/tenants/red/evil/", `lies in the folder of tenant "red"`},
		{"of another group", "", "fleet/fleet-members/h/c.yaml", "tenant: red\nfleet_repo_basepath: resources/tenants/red", `lies in the folder of tenant "red"`},
		{"below a root of two folders", "groups: {addons: {root: platform/addons}}\n", "fleet/fleet-members/h/c.yaml", "tenant: red\naddons_repo_basepath: platform/addons/tenants/red", `lies in the folder of tenant "red"`},
		{"below a root that is no group's", "", "fleet/fleet-members/h/c.yaml", "tenant: red\nfleet_repo_basepath: x/tenants/red", `lies in the folder of tenant "red"`},
		{"below what tenants share", "", "fleet/fleet-members/h/c.yaml", "tenant: red\naddons_repo_basepath: addons/tenants/defaults/tenants/red", `lies in the folder of tenant "red"`},
		{"what tenants share", "", "fleet/fleet-members/h/c.yaml", "tenant: red\naddons_repo_basepath: addons/tenants/defaults", ""},
		{"another root", "", "fleet/fleet-members/h/c.yaml", "tenant: red\naddons_repo_basepath: addons-next", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Load(snapshot.FromMap(map[string]string{
				LayoutFile: layout(c.layout), c.path: "environment: prod\nclusterName: c\n" + c.text + "\n",
			}), hierarchy.NewCache(), nil)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				for _, p := range f.Member("h", "c").Problems {
					got += p.Error()
				}
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestSecretNamesAreTried: rules are checked when the layout is loaded.
func TestSecretNamesAreTried(t *testing.T) {
	for text, want := range map[string]string{
		`secretNames: {cluster: ["{{ .labels.x }}"]}`:    `fact "labels"`,
		`secretNames: {cluster: ["{{ .hub"]}`:            "unclosed action",
		`secretNames: {cluster: ["[a-z]"]}`:              "is not a pattern",
		`secretNames: {clusters: ["x"]}`:                 `did you mean "cluster"?`,
		`secretNames: {git: "x"}`:                        "expected a list",
		`secretNames: {git: ["github/{{ .tenant }}/*"]}`: "",
	} {
		_, got := parseLayout(t, "apiVersion: argosy.dev/v1alpha1\nkind: Layout\n"+text+"\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}
