package charts_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pluginclient "github.com/argoproj/argo-cd/v2/applicationset/services/plugin"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"go.uber.org/goleak"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// serveFolder runs the service on a folder, and fails when the service leaves a goroutine behind.
func serveFolder(t *testing.T, dir string) *server.Server {
	t.Helper()
	before := goleak.IgnoreCurrent()
	src, err := location.Open(git.Options{Location: dir})
	require.NoError(t, err)
	tokenFile := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte(token+"\n"), 0o600))
	o := server.Defaults()
	o.Source, o.Hub, o.Listen, o.TokenFile, o.Logger = src, "hub-eu", "127.0.0.1:0", tokenFile, slog.New(slog.DiscardHandler)
	s, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, s.Start(context.Background()))
	t.Cleanup(func() {
		assert.NoError(t, s.Stop(context.Background()))
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t, before)
	})
	deadline := time.After(time.Minute)
	for {
		changed := s.Refresher().Changed()
		if st := s.Refresher().Status(); st.Ready() || len(st.Refused) > 0 {
			return s
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatal("the folder is never read")
		}
	}
}

// listParameters queries as the ApplicationSet controller does.
func listParameters(t *testing.T, url, token, parameters string) (*pluginclient.ServiceResponse, error) {
	t.Helper()
	client, err := pluginclient.NewPluginService(t.Context(), "try", url, token, 30)
	require.NoError(t, err)
	input := v1alpha1.PluginParameters{}
	for _, pair := range strings.Fields(parameters) {
		key, value, _ := strings.Cut(pair, "=")
		input[key] = apiextensions.JSON{Raw: []byte(`"` + value + `"`)}
	}
	return client.List(t.Context(), input)
}

// Argo CD's client takes every view's answer, with a base URL that ends in a slash or not.
func TestArgoCDReadsTheResponses(t *testing.T) {
	s := serveFolder(t, "../..")
	for _, parameters := range []string{"view=members", "view=agents", "view=releases group=addons", "view=components group=addons"} {
		for _, url := range []string{s.Addr(), s.Addr() + "/"} {
			answer, err := listParameters(t, url, token, parameters)
			if err != nil || len(answer.Output.Parameters) == 0 {
				t.Errorf("%s: %v", parameters, err)
				continue
			}
			for _, set := range answer.Output.Parameters {
				if set["applicationName"] == "" || set["name"] == "" {
					t.Errorf("%s: %v", parameters, set)
				}
			}
		}
	}
}

// Whatever is wrong is an error to Argo CD, with our text; never an empty list, which deletes
// Applications (G1, G5).
func TestArgoCDNeverReadsAFailureAsAnEmptyList(t *testing.T) {
	good := serveFolder(t, "../..")
	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, "x.yaml"), []byte("a: 1\n"), 0o600))
	notReady := serveFolder(t, broken)
	gone := serveFolder(t, "../..")
	require.NoError(t, gone.Stop(t.Context()))
	for _, c := range []struct{ what, url, token, parameters, want string }{
		{"not ready", notReady.Addr(), token, "view=members", "status code 503: not ready: "},
		{"stopped", gone.Addr(), token, "view=members", "refused"},
		{"no token", good.Addr(), "", "view=members", "status code 401: no bearer token"},
		{"wrong token", good.Addr(), "wrong", "view=members", "status code 401: the bearer token is wrong"},
		{"unresolved token", good.Addr(), "$argosy:token", "view=members", `status code 403: the bearer token is refused: it begins with "$"`},
		{"unknown view", good.Addr(), token, "view=member", `status code 400: view "member" is not known`},
		{"unknown hub", good.Addr(), token, "view=members hub=hub-e", `status code 400: hub "hub-e" has no member files`},
		{"another path", good.Addr() + "/healthz", token, "view=members", "status code 404: no such page"},
		{"path of the webhook", good.Addr() + "/api/v1/webhook", token, "view=members", "status code 404: no such page"},
		{"doubled slashes", good.Addr() + "//", token, "view=member", "status code 400: view"},
	} {
		answer, err := listParameters(t, c.url, c.token, c.parameters)
		if err == nil || !strings.Contains(err.Error(), c.want) || answer != nil {
			t.Errorf("%s: %v, %v", c.what, answer, err)
		}
	}
}

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
				require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
				require.NoError(t, os.WriteFile(full, []byte(text), 0o600))
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
