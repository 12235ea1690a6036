package response_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// credentialFlags are what decides how an agent gets its credentials.
type credentialFlags struct {
	engine                 string // "" for the centralized model
	pulls, pushed, appsOwn bool   // use_external_secrets, push_argo_secrets, githubSecret
}

func (f credentialFlags) member(name string) string {
	more := fmt.Sprintf("use_external_secrets: %t\npush_argo_secrets: %t\ngithubSecret: %t\ngithubSecretName: git/app\nsecretManagerSecretName: fleet/x\n", f.pulls, f.pushed, f.appsOwn)
	if f.engine != "" {
		more += "use_remote_argo: true\nremote_engine: " + f.engine + "\n"
	}
	return fleettest.Spoke(name, more)
}

// at is a value of values as text, "-" when it is not there.
func at(t *testing.T, values string, path ...string) string {
	t.Helper()
	var v any
	require.NoError(t, yaml.Unmarshal([]byte(values), &v))
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	if v == nil {
		return "-"
	}
	return fmt.Sprint(v)
}

// withCredentials is a fleet whose hierarchy declares credentials of the fleet's repository for
// everybody.
func withCredentials(more fleettest.Tree) fleettest.Tree {
	return fleettest.Small().With(fleettest.Tree{
		"addons/defaults/fleet/fleet-secret/values.yaml": "secretStore: {create: false, kind: ClusterSecretStore, name: fleet}\ngitCredentials: {fleet: {type: http, secretName: git/fleet}}\n",
	}).With(more)
}

// TestCredentialsByFlags: which combination of flags yields which credentials, on the hub and on
// the member (L3, M2). An agent gets each by exactly one way: pulled, pushed, or by hand.
func TestCredentialsByFlags(t *testing.T) {
	const none = "-"
	type outcome struct{ Push, Namespace, Token, FleetHere, FleetMade, App, AppHere, MemberFleet, MemberApp, ServiceToken, ServiceReads string }
	for flags, want := range map[credentialFlags]outcome{
		// The hub deploys everything: the App's credentials are its own, and push_argo_secrets has
		// nobody to push for.
		{"", false, false, false}: {none, none, none, none, "false", none, none, none, none, none, none},
		{"", false, false, true}:  {none, none, none, none, "false", "true", none, none, none, none, none},
		{"", false, true, true}:   {none, none, none, none, "false", "true", none, none, none, none, none},
		// Pulled: nothing of it on the hub.
		{"argocd", true, false, false}: {none, none, none, none, "false", none, none, "http", none, none, "x-git-fleet"},
		{"argocd", true, false, true}:  {none, none, none, none, "false", "false", none, "http", "true", none, "x-git-fleet"},
		{"flux", true, false, true}:    {none, none, none, none, "false", "false", none, "http", "true", none, "x-git-fleet"},
		// By hand.
		{"argocd", false, false, true}: {none, none, none, none, "false", "false", none, none, "false", none, none},
		{"flux", false, false, true}:   {none, none, none, none, "false", "false", none, none, "false", none, none},
		// Pushed: made on the hub, for the member alone. Flux makes the service's token itself.
		{"argocd", false, true, false}: {"true", "argocd", "true", "false", none, none, none, none, "false", "generator-plugin-token", "x-git-fleet"},
		{"argocd", false, true, true}:  {"true", "argocd", "true", "false", none, "true", "false", none, "false", "generator-plugin-token", "x-git-fleet"},
		{"flux", false, true, true}:    {"true", "flux-system", none, "false", none, "true", "false", none, "false", none, "x-git-fleet"},
		// Both: pushed. What the member's External Secrets does besides is its own matter.
		{"argocd", true, true, true}: {"true", "argocd", "true", "false", none, "true", "false", none, "false", "generator-plugin-token", "x-git-fleet"},
	} {
		t.Run(fmt.Sprintf("%+v", flags), func(t *testing.T) {
			st := querytest.NoProblems(t, querytest.Build(t, withCredentials(fleettest.Tree{fleettest.Member("x"): flags.member("x")})))
			hub := querytest.Ask(t, st, `{"view":"members"}`)["fleet-secret-x"].Text("helmValues")
			agent := querytest.Ask(t, st, `{"view":"agents"}`)["agent-x"]
			if (agent == nil) != (flags.engine == "") {
				t.Fatalf("agent: %v", agent)
			}
			got := outcome{
				Push: at(t, hub, "push", "enabled"), Namespace: at(t, hub, "push", "namespace"), Token: at(t, hub, "push", "token", "enabled"),
				FleetHere: at(t, hub, "gitCredentials", "fleet", "local"), FleetMade: at(t, hub, "gitCredentials", "fleet", "enabled"),
				App: at(t, hub, "githubSecret"), AppHere: at(t, hub, "github", "local"),
				MemberFleet: at(t, agent.Text("credentialValues"), "gitCredentials", "fleet", "type"), MemberApp: at(t, agent.Text("credentialValues"), "githubSecret"),
				ServiceToken: at(t, agent.Text("helmValues"), "token", "existingSecret"), ServiceReads: at(t, agent.Text("helmValues"), "source", "git", "credentialsSecret"),
			}
			if !flags.appsOwn && got.App == "false" {
				got.App = none // said or not, there is none
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, hub)
			}
		})
	}
}

// TestHubReadsForItsGroups: the hub takes a copy of an agent's own repository credentials where it
// reads such a repository itself: for a group that it keeps, or where the hierarchy says so.
func TestHubReadsForItsGroups(t *testing.T) {
	const hubs = "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, resources_repo_url: https://git.example/fleet}\n"
	for name, c := range map[string]struct {
		member, hierarchy string
		want              bool
	}{
		"nothing of its own":          {"enable_remote_addons: true\n", "", false},
		"the hub's repository":        {"resources_repo_url: https://git.example/fleet\n", "", false},
		"its own, a kept group":       {"resources_repo_url: https://git.example/own\n", "", true},
		"its own, its own group":      {"resources_repo_url: https://git.example/own\nenable_remote_resources: true\n", "", false},
		"its own, another group kept": {"resources_repo_url: https://git.example/own\nenable_remote_addons: true\n", "", true},
		"the hierarchy wants it":      {"", "github: {local: 'true'}\n", true},
		"the hierarchy does not":      {"resources_repo_url: https://git.example/own\n", "github: {local: false}\n", false},
	} {
		for _, push := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, pushed %t", name, push), func(t *testing.T) {
				files := fleettest.Tree{
					"fleet/fleet-members/hub/hub.yaml": hubs,
					fleettest.Member("x"):              credentialFlags{"argocd", !push, push, true}.member("x") + c.member,
				}
				if c.hierarchy != "" {
					files["addons/tenants/defaults/fleet/fleet-secret/values.yaml"] = c.hierarchy
				}
				st := querytest.NoProblems(t, querytest.Build(t, withCredentials(files)))
				values := querytest.Ask(t, st, `{"view":"members"}`)["fleet-secret-x"].Text("helmValues")
				here := at(t, values, "githubSecret") == "true" && at(t, values, "github", "local") != "false"
				if here != c.want {
					t.Errorf("on the hub: %t, want %t\n%s", here, c.want, values)
				}
				if pushed := at(t, values, "githubSecret") == "true" && at(t, values, "push", "enabled") == "true"; pushed != push {
					t.Errorf("pushed: %t, want %t\n%s", pushed, push, values)
				}
			})
		}
	}
}

// TestPushSettingsOfTheHierarchy: the hierarchy may say how credentials are pushed, and the member
// gets no less and no more than it needs; the settings themselves are the hub's.
func TestPushSettingsOfTheHierarchy(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, withCredentials(fleettest.Tree{
		fleettest.Member("x"): credentialFlags{"argocd", false, true, false}.member("x"),
		fleettest.Member("z"): credentialFlags{"argocd", false, true, false}.member("z"),
		"addons/tenants/defaults/fleet/fleet-secret/values.yaml.gotmpl": `{{ if eq .cluster "x" -}}
push: {namespace: argo, refreshInterval: 1m, token: {secretName: its-token, key: t}}
kubeconfig: {secretName: fleet/pusher}
{{- else -}}
push: {token: {enabled: 'false'}}
{{- end }}
`,
	})))
	members, agents := querytest.Ask(t, st, `{"view":"members"}`), querytest.Ask(t, st, `{"view":"agents"}`)
	x := members["fleet-secret-x"].Text("helmValues")
	for path, want := range map[string]string{
		"push.enabled": "true", "push.namespace": "argo", "push.refreshInterval": "1m", "push.token.enabled": "true", "kubeconfig.secretName": "fleet/pusher",
	} {
		assert.Equal(t, want, at(t, x, strings.Split(path, ".")...), "%s", path)
	}
	for _, name := range []string{"x", "z"} {
		values := agents["agent-"+name].Text("credentialValues")
		if at(t, values, "push") != "-" || at(t, values, "kubeconfig") != "-" {
			t.Errorf("%s gets how it is reached:\n%s", name, values)
		}
	}
	assert.Equal(t, "map[existingSecret:its-token key:t]", at(t, agents["agent-x"].Text("helmValues"), "token"), "x has the token")
	if got, asks := at(t, members["fleet-secret-z"].Text("helmValues"), "push", "token", "enabled"), at(t, agents["agent-z"].Text("helmValues"), "token"); got != "false" || asks != "-" {
		t.Errorf("z: token %s, asks for %s", got, asks)
	}
}

// TestMemberTakesNoNameOfAnothersRegistration: what charts/fleet-secret makes for a member is not
// the cluster of another one. (W1)
func TestMemberTakesNoNameOfAnothersRegistration(t *testing.T) {
	before := querytest.NoProblems(t, querytest.Build(t, fleettest.Small()))
	for _, name := range []string{"one-git-github", "one-kubeconfig", "one-ecr-111122223333-dkr-ecr-eu-west-1-amazonaws-com"} {
		files := fleettest.Small().With(fleettest.Tree{
			fleettest.Member(name): "clusterName: " + name + "\ntenant: bank\nenvironment: prod\nsecretManagerSecretName: x\n",
		})
		st := querytest.Next(t, before, fleettest.Snapshot("2", files), facts.NewSet(false))
		assert.Equal(t, "fleet-secret-one fleet-secret-two", querytest.Names(t, st, `{"view":"members"}`), "%s", name)
	}
}

// TestMemberSetListsItsValueFiles: the value files of a registration are those that there are.
// Levels without a file are not listed. (L1)
func TestMemberSetListsItsValueFiles(t *testing.T) {
	const system = "addons/defaults/fleet/fleet-secret/values.yaml"
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{system: "a: 1\n"})))
	if diff := cmp.Diff([]any{system}, querytest.Ask(t, st, `{"view":"members"}`)["fleet-secret-one"]["valueFiles"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRetiredMemberWithoutKnownApplicationsHasNoSets: where the facts do not know Applications, no
// view has a set of a retired member, not even that of its engine's ownership grant. (D3)
func TestRetiredMemberWithoutKnownApplicationsHasNoSets(t *testing.T) {
	one := fleettest.Spoke("one", "use_remote_argo: true\nenable_remote_addons: true\nlifecycle: retired\ndeletion: cascade\n")
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): one})))
	for ask, want := range map[string][]string{
		querytest.Addons: {"dns-hub", "dns-two"}, `{"view":"members"}`: {"fleet-secret-two"}, `{"view":"agents"}`: nil, `{"view":"grants"}`: nil,
	} {
		assert.Equal(t, want, slices.Sorted(maps.Keys(querytest.Ask(t, st, ask))), "%s", ask)
	}
}
