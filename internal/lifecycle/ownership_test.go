package lifecycle_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// TestHubOnlyKeepsWhatItHasUntilAnEngineIsThere: the hub keeps the Applications that it has of a
// member's group until the engine that it installs there is healthy, and starts nothing. It waits
// for no engine that it does not install. (M1)
func TestHubOnlyKeepsWhatItHasUntilAnEngineIsThere(t *testing.T) {
	const chart = "chart: {repoURL: https://charts.example, name: x, version: 1.0.0}"
	engine := facts.Application{Name: "argo-cd-one", Cluster: "one", Group: "fleet", Component: "argo-cd", Release: "default"}
	healthy := engine
	healthy.Healthy = true
	dns, old := fleettest.Application("dns", "one", "default"), fleettest.Application("old", "one", "default")
	for name, c := range map[string]struct {
		member string
		apps   []facts.Application
		want   string
	}{
		"no engine":                             {"", []facts.Application{dns}, "dns-hub dns-one dns-two web-hub web-two"},
		"an engine that is not healthy":         {"", []facts.Application{dns, engine}, "dns-hub dns-one dns-two web-hub web-two"},
		"a healthy engine":                      {"", []facts.Application{dns, healthy}, "dns-hub dns-two web-hub web-two"},
		"only what is to go":                    {"", []facts.Application{old}, "dns-hub dns-two old-one web-hub web-two"},
		"an engine that is somebody else's":     {"annotations: {argosy.dev/engine: external}\n", []facts.Application{dns}, "dns-hub dns-two web-hub web-two"},
		"an engine that the member gets itself": {"enable_remote_fleet: true\n", []facts.Application{dns}, "dns-hub dns-two web-hub web-two"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fleettest.Small().With(fleettest.Tree{
				"fleet/layout.yaml":     "groups: {fleet: {catalog: fleet.yaml, root: addons}}\n",
				"fleet.yaml":            "argo-cd: {namespace: argocd, " + chart + "}\nexternal-secrets: {namespace: es, " + chart + "}\n",
				fleettest.Member("one"): fleettest.Spoke("one", "use_remote_argo: true\nenable_remote_addons: true\nsecretManagerSecretName: x\n"+c.member),
				fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\nweb: {enabled: true, " + fleettest.DNSChart + "}\nold: {enabled: false, " + fleettest.DNSChart + "}\n",
			})
			st := querytest.Next(t, nil, fleettest.Snapshot("rev", files), facts.NewSet(false).WithApplications(c.apps...).WithHealth())
			if got := querytest.Names(t, st, `{"view":"components","group":"addons"}`); got != c.want {
				t.Errorf("the hub has %q; expected %q", got, c.want)
			}
		})
	}
}
