package charts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// agentFleet is a fleet of a hub, an agent with Argo CD and one with Flux, each with two
// components.
var agentFleet = map[string]string{
	"versions/applicationSets.yaml":                "releases: {addons: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]}\n",
	"versions/fleetSecrets.yaml":                   "releases: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]\n",
	"fleet/fleet-members/hub-eu/hub-eu.yaml":       "{clusterName: hub-eu, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
	"fleet/fleet-members/hub-eu/argo.yaml":         "{clusterName: argo, tenant: retail, environment: prod, use_remote_argo: true, enable_remote_addons: true}\n",
	"fleet/fleet-members/hub-eu/flux.yaml":         "{clusterName: flux, tenant: retail, environment: prod, use_remote_argo: true, remote_engine: flux, enable_remote_addons: true}\n",
	"addons/defaults/application-sets/addons.yaml": "dns: {enabled: true, chart: {repoURL: \"https://c.example\", name: dns, version: 1.0.0}}\nweb: {enabled: true, chart: {repoURL: \"https://c.example\", name: web, version: 1.0.0}}\n",
}

// An agent with an error is not answered at all: neither its set without the component that cannot
// be computed, nor the other agents without it (G1). The error names the file, and where it is
// known the line.
func TestAgentWithAnErrorIsRefusedWhole(t *testing.T) {
	for name, c := range map[string]struct{ path, text, want string }{
		"a component": {
			"addons/tenants/retail/clusters/flux/addons/web/values.yaml.gotmpl", "a: 1\nb: {{ .labels.region }}\n",
			"addons/tenants/retail/clusters/flux/addons/web/values.yaml.gotmpl:2",
		},
		"its labels": {
			"fleet/fleet-members/hub-eu/flux.yaml", "clusterName: flux\ntenant: retail\nenvironment: prod\nuse_remote_argo: true\nremote_engine: flux\nlabels:\n  remote_engine: argocd\n",
			`fleet/fleet-members/hub-eu/flux.yaml:7:18: label "remote_engine": "argocd"; expected "flux", as the flag says`,
		},
		"its engine": {
			"fleet/fleet-members/hub-eu/argo.yaml", "clusterName: argo\ntenant: retail\nenvironment: prod\nuse_remote_argo: true\nremote_engine: argo\n",
			`fleet/fleet-members/hub-eu/argo.yaml:5:16: key "remote_engine": "argo"; expected argocd or flux`,
		},
		"its credentials": {
			"addons/tenants/retail/clusters/argo/fleet/fleet-secret/values.yaml", "gitCredentials: {fleet: {type: http\n",
			"addons/tenants/retail/clusters/argo/fleet/fleet-secret/values.yaml:1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(path, text string) {
				full := filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for path, text := range agentFleet {
				write(path, text)
			}
			good := serveFolder(t, dir)
			answer, err := listParameters(t, good.Addr(), token, "view=agents")
			if err != nil || len(answer.Output.Parameters) != 2 {
				t.Fatalf("without the fault: %v, %v", answer, err)
			}
			for _, set := range answer.Output.Parameters {
				if components, _ := set["components"].([]any); set["engine"] == "flux" && len(components) != 2 {
					t.Errorf("%v has %d components", set["name"], len(components))
				}
			}
			write(c.path, c.text)
			answer, err = listParameters(t, serveFolder(t, dir).Addr(), token, "view=agents") // another service: it has nothing good to go on with
			if err == nil || !strings.Contains(err.Error(), "status code 503") || !strings.Contains(err.Error(), c.want) || answer != nil {
				t.Errorf("%v, %v; want 503 and %s", answer, err, c.want)
			}
		})
	}
}
