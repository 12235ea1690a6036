package charts_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// agentsFlags are the keys of a member file that decide how it gets its credentials.
type agentsFlags struct {
	Engine                     string
	Pulls, Pushed, GitHub      bool
	ResourcesOfItsOwnByTheHubs bool // resources_repo_url, of a group that the hub keeps
}

// credentialObjects are what both charts make of the two answers about a member: on the hub, and on
// the member; a chart's object differs from another only by kind, name and what makes or uses it.
func credentialObjects(t *testing.T, f agentsFlags) []string {
	t.Helper()
	member := fmt.Sprintf("clusterName: x\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: fleet/x\nuse_remote_argo: true\nremote_engine: %s\nuse_external_secrets: %t\npush_argo_secrets: %t\ngithubSecret: %t\ngithubSecretName: git/app\n", f.Engine, f.Pulls, f.Pushed, f.GitHub)
	if f.ResourcesOfItsOwnByTheHubs {
		member += "resources_repo_url: https://git.example/own\n"
	}
	files := map[string]*snapshot.File{}
	for path, text := range map[string]string{
		"fleet/layout.yaml":                              "apiVersion: argosy.dev/v1alpha1\nkind: Layout\n",
		"versions/fleetSecrets.yaml":                     "releases: [{type: default, chartRepo: r, ecrChartName: fleet-secret, version: 1.0.0}]\n",
		"fleet/fleet-members/hub/hub.yaml":               "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, fleet_repo_url: https://git.example/fleet}\n",
		"fleet/fleet-members/hub/x.yaml":                 member,
		"addons/defaults/fleet/fleet-secret/values.yaml": "secretStore: {aws: {region: eu-west-1}}\ngitCredentials: {fleet: {type: http, kind: repository, url: 'https://git.example/fleet', secretName: git/fleet}}\n",
	} {
		files[path] = snapshot.NewFile(path, []byte(text), snapshot.MaxFileSize)
	}
	state, err := fleetstate.Build(nil, snapshot.New("rev", files), facts.NewSet(false))
	require.NoError(t, err)
	for _, p := range state.Problems {
		t.Fatal(p.Error())
	}
	values := func(view, key string) string {
		body, err := answer(state, fmt.Appendf(nil, `{"input":{"parameters":{"view":%q,"hub":"hub"}}}`, view))
		require.NoError(t, err)
		var got struct {
			Output struct{ Parameters []map[string]any }
		}
		require.NoError(t, json.Unmarshal(body, &got))
		return got.Output.Parameters[0][key].(string)
	}
	var out []string
	add := func(where string, objects []runtime.Object) {
		for _, o := range objects {
			kind := strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1alpha1."), "*v1.")
			switch name := o.(client.Object).GetName(); kind {
			case "ExternalSecret", "PushSecret", "Password", "SecretStore":
				out = append(out, where+" "+kind+" "+name)
			}
		}
	}
	namespace := map[string]string{"argocd": "argocd", "flux": "flux-system"}[f.Engine]
	add("hub", rendering{}.objects(t, fleetSecret, values("members", "helmValues")))
	add("member", rendering{Namespace: namespace}.objects(t, fleetSecret, values("agents", "credentialValues")))
	if f.Engine == "argocd" {
		var apis []string // as Argo CD sees them, with what the member has
		if f.Pulls {
			apis = []string{"external-secrets.io/v1", "generators.external-secrets.io/v1alpha1"}
		}
		add("member", rendering{Name: "generator-plugin", Namespace: namespace, APIVersions: apis}.objects(t, generatorPlugin, values("agents", "helmValues")))
	}
	slices.Sort(out)
	return out
}

// L3, M2: push_argo_secrets and githubSecret switch their own objects and nothing else, whatever
// else a member file says.
func TestFlagsSwitchTheirOwnObjects(t *testing.T) {
	pulledFleet, pulledApp := "member ExternalSecret x-git-fleet", "member ExternalSecret x-git-github"
	pulledToken := []string{"member ExternalSecret generator-plugin-token", "member Password generator-plugin-token"}
	reach := []string{"hub ExternalSecret x-kubeconfig", "hub SecretStore x.push"}
	pushedFleet := []string{"hub ExternalSecret x.push-git-fleet", "hub PushSecret x.push-git-fleet"}
	pushedApp := []string{"hub ExternalSecret x.push-git-github", "hub PushSecret x.push-git-github"}
	pushedToken := []string{"hub ExternalSecret x.push-token", "hub PushSecret x.push-token", "hub Password x.push-token"}
	for _, engine := range []string{"argocd", "flux"} {
		for _, bits := range []int{0, 1, 2, 3, 4, 5, 6, 7} {
			f := agentsFlags{Engine: engine, Pulls: bits&1 != 0, GitHub: bits&2 != 0, ResourcesOfItsOwnByTheHubs: bits&4 != 0}
			t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) {
				want := map[string]bool{}
				have := func(is bool, objects ...string) {
					for _, o := range objects {
						if is {
							want[o] = true
						} else {
							delete(want, o)
						}
					}
				}
				have(true, "hub ExternalSecret x", "hub SecretStore x")
				have(f.GitHub && f.ResourcesOfItsOwnByTheHubs, "hub ExternalSecret x-git-github")
				have(f.Pulls, "member SecretStore x", pulledFleet)
				have(f.Pulls && f.GitHub, pulledApp)
				have(f.Pulls && engine == "argocd", pulledToken...)
				assert.Equal(t, slices.Sorted(maps.Keys(want)), credentialObjects(t, f), "not pushed")

				f.Pushed = true
				have(false, append(pulledToken, pulledFleet, pulledApp, "member SecretStore x")...)
				have(true, append(reach, pushedFleet...)...)
				have(f.GitHub, pushedApp...)
				have(engine == "argocd", pushedToken...)
				assert.Equal(t, slices.Sorted(maps.Keys(want)), credentialObjects(t, f), "pushed")
			})
		}
	}
}
