package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const path = "fleet/fleet-members/hub/c.yaml"

func load(t *testing.T, files map[string]string) *Fleet {
	t.Helper()
	f, err := Load(snapshot.FromMap(files), hierarchy.NewCache(), nil)
	require.NoError(t, err)
	return f
}

// readOne reads one member file called c of hub "hub".
func readOne(t *testing.T, text string) *Member {
	t.Helper()
	return load(t, map[string]string{path: text}).Member("hub", "c")
}

const identity = "clusterName: c\ntenant: t\nenvironment: e\n"

func entries(es []labels.Entry) string {
	var out []string
	for _, e := range es {
		out = append(out, fmt.Sprintf("%s=%s@%d", e.Key, e.Value, e.Pos.Line))
	}
	return strings.Join(out, " ")
}

// TestMemberDefaults are the contract's.
func TestMemberDefaults(t *testing.T) {
	m := readOne(t, identity)
	if m.Model() != Centralized || m.Engine != EngineArgoCD || m.Lifecycle != Active || m.Deletion != Orphan || m.IsHub || m.UseExternalSecrets || m.PushArgoSecrets || m.GitHubSecret || len(m.Problems) != 0 || len(m.FlagLabels) != 0 || m.Owner("addons") != OwnerHub {
		t.Errorf("%+v", m)
	}
	agent := readOne(t, identity+"use_remote_argo: true\n")
	if agent.Model() != Agent || !agent.UseExternalSecrets || agent.PushArgoSecrets || agent.Owner("addons") != OwnerHub || agent.Flag("use_external_secrets") != "true" {
		t.Errorf("agent %+v", agent)
	}
}

// TestMemberKeys: every key of the contract, and booleans in both forms (L3: each flag gives its
// own label alone).
func TestMemberKeys(t *testing.T) {
	m := readOne(t, identity+`fleet_member: spoke
secretManagerSecretName: arn:aws:secretsmanager:eu-west-1:123456789012:secret:c
use_remote_argo: "true"
remote_engine: flux
enable_remote_addons: true
enable_remote_resources: "false"
use_external_secrets: false
push_argo_secrets: "true"
githubSecret: "true"
githubSecretName: gh
use_fleet_ack: true
use_argocd_ingress: false
addons_repo_url: https://git.example/a
addons_repo_basepath: own/addons/
fleet_repo_revision: v1
labels: {ring: a, num: 12}
annotations: {role: "arn:x y"}
lifecycle: draining
`)
	assert.Equal(t, "", texts(m.Problems))
	want := "remote_engine=flux@7 use_remote_argo=true@6 use_external_secrets=false@10 push_argo_secrets=true@11 githubSecret=true@12 use_fleet_ack=true@14 use_argocd_ingress=false@15 enable_remote_addons=true@8 enable_remote_resources=false@9"
	assert.Equal(t, want, entries(m.FlagLabels), "flags")
	assert.Equal(t, "addons_repo_url=https://git.example/a@16 addons_repo_basepath=own/addons/@17 fleet_repo_revision=v1@18", entries(m.RepositoryAnnotations))
	assert.Equal(t, "num=12@19 ring=a@19 role=arn:x y@20", entries(m.Labels)+" "+entries(m.Annotations))
	if m.Owner("addons") != "c" || m.Owner("resources") != OwnerHub || m.Owner("fleet") != OwnerHub || m.Lifecycle != Draining || m.Engine != EngineFlux || m.GitHubSecretName != "gh" || !m.GitHubSecret || m.UseExternalSecrets || !m.PushArgoSecrets ||
		m.SecretManagerSecret != "arn:aws:secretsmanager:eu-west-1:123456789012:secret:c" {
		t.Errorf("%+v", m)
	}
	for flag, want := range map[string]string{"use_fleet_ack": "true", "use_argocd_ingress": "false", "use_external_secrets": "false", "push_argo_secrets": "true", "absent": "false"} {
		assert.Equal(t, want, m.Flag(flag), "flag %s", flag)
	}
	if m.Content()["remote_engine"] != "flux" {
		t.Error(m.Content())
	}
}

// TestMemberErrors are golden: place, what was found, what was expected, a suggestion.
func TestMemberErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", identity + "tenannt: x\n", `unknown-key P:4:1: key "tenannt": not known in member file; did you mean "tenant"?`},
		{"unknown group", identity + "enable_remote_addon: true\n", `unknown-key P:4:1: key "enable_remote_addon": not known in member file; did you mean "enable_remote_addons"?`},
		{"empty", "", "invalid-member P: key \"clusterName\": missing or empty; expected the cluster's name\ninvalid-member P: key \"tenant\": missing or empty; expected the tenant's name"},
		{"empty tenant", "clusterName: c\ntenant: ''\nenvironment: e\n", `invalid-member P:2:1: key "tenant": missing or empty; expected the tenant's name`},
		{"another name", "clusterName: d\ntenant: t\nenvironment: e\n", `name-mismatch P:1:14: key "clusterName": "d"; expected "c", as the file is named`},
		{"environment on", "clusterName: c\ntenant: t\nenvironment: on\n", `invalid-member P:3:14: key "environment": is a boolean; expected text; put it in quotes: YAML reads on as true`},
		{"tenant number", "clusterName: c\ntenant: 12\nenvironment: e\n", `invalid-member P:2:9: key "tenant": is a number; expected text; put it in quotes`},
		{"tenant upwards", "clusterName: c\ntenant: ../x\nenvironment: e\n", `invalid-member P:2:9: key "tenant": "../x" is not a DNS-1123 label; expected lower case letters, digits and inner hyphens, at most 63`},
		{"tenant in capitals", "clusterName: c\ntenant: Retail\nenvironment: e\n", `invalid-member P:2:9: key "tenant": "Retail" is not a DNS-1123 label; expected lower case letters, digits and inner hyphens, at most 63`},
		{"reserved tenant", "clusterName: c\ntenant: defaults\nenvironment: e\n", `reserved-name P:2:9: tenant "defaults": a folder of the hierarchy is called so; expected another name`},
		{"kind", identity + "fleet_member: hub\n", `invalid-member P:4:15: key "fleet_member": "hub"; expected spoke or hub-cluster`},
		{"lifecycle", identity + "lifecycle: retird\n", `invalid-member P:4:12: key "lifecycle": "retird"; expected active or draining or retired; did you mean "retired"?`},
		{"no environment", "clusterName: c\ntenant: t\n", ""},
		{"an empty environment", "clusterName: c\ntenant: t\nenvironment: ''\n", `invalid-member P:3:1: key "environment": missing or empty; expected the environment's name`},
		{"deletion", identity + "deletion: cascading\n", `invalid-member P:4:11: key "deletion": "cascading"; expected orphan or cascade; did you mean "cascade"?`},
		{"deletion of a hub", identity + "fleet_member: hub-cluster\ndeletion: cascade\n", `invalid-member P:5:11: key "deletion": cascade for a hub; expected orphan: a hub cannot remove itself`},
		{"deletion of a hub in words", identity + "fleet_member: hub-cluster\ndeletion: orphan\n", ""},
		{"engine", identity + "remote_engine: fluxx\n", `invalid-member P:4:16: key "remote_engine": "fluxx"; expected argocd or flux; did you mean "flux"?`},
		{"flag", identity + "use_fleet_ack: maybe\n", `invalid-value P:4:16: key "use_fleet_ack": "maybe"; expected true or false`},
		{"flag as number", identity + "use_remote_argo: 1\n", `invalid-value P:4:18: key "use_remote_argo": 1; expected true or false`},
		{"centralized", identity + "remote_engine: flux\nenable_remote_addons: 'true'\nuse_external_secrets: true\npush_argo_secrets: false\n", `no-effect P:4:16: key "remote_engine": "flux" has no effect: the hub deploys to this cluster; expected use_remote_argo: true beside it` + "\n" +
			`no-effect P:5:23: key "enable_remote_addons": "true" has no effect: the hub deploys to this cluster; expected use_remote_argo: true beside it`},
		{"said to be centralized", identity + "use_remote_argo: false\nenable_remote_addons: false\nuse_external_secrets: 'false'\npush_argo_secrets: false\n", ""},
		{"pulled and pushed", identity + "use_remote_argo: true\nuse_external_secrets: true\npush_argo_secrets: true\n", `no-effect P:5:23: key "use_external_secrets": "true" has no effect on its credentials: the hub pushes them (push_argo_secrets); expected one of the two`},
		{"credentials of a hub", identity + "fleet_member: hub-cluster\ngithubSecret: true\n", `no-effect P:5:15: key "githubSecret": "true" has no effect: it comes with the registration of a member; expected a Secret on the hub`},
		{"pushed", identity + "use_remote_argo: true\npush_argo_secrets: true\n", ""},
		{"remote hub", identity + "fleet_member: hub-cluster\nuse_remote_argo: true\n", `invalid-member P:5:18: key "use_remote_argo": true for a hub; expected false: a hub deploys to itself`},
		{"basepath", identity + "addons_repo_basepath: ../x\n", `outside-repository P:4:23: key "addons_repo_basepath": path "../x" leads upwards (..): paths stay inside the repository; expected a folder inside the repository`},
		{"revision as number", identity + "addons_repo_revision: 1.10\nfleet_repo_revision: '1.10'\n", `invalid-value P:4:23: key "addons_repo_revision": is a number; expected text; put it in quotes: YAML reads 1.10 as 1.1`},
		{"labels", identity + "labels: [a]\n", `invalid-label P:4:9: labels: is a list; expected a map`},
		{"label", identity + "labels: {a: [1]}\n", `invalid-label P:4:13: label "a": is a list; expected text`},
		{"no map", "- a\n", "invalid-value P:1:1: member file: is a list; expected a map"},
		{"duplicate key", identity + "tenant: x\n", `duplicate-key P:4:1: key "tenant": given again, first at line 2; expected each key once`},
		{"no YAML", "a: [", "invalid-yaml P:1: did not find expected node content; expected a YAML document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := readOne(t, c.text)
			assert.Equal(t, strings.ReplaceAll(c.want, "P:", path+":"), texts(m.Problems))
			for _, p := range m.Problems {
				if p.Hub != "hub" || p.Cluster != "c" {
					t.Errorf("the problem concerns %q of %q", p.Cluster, p.Hub)
				}
			}
		})
	}
	long := strings.Repeat("x", 64)
	f := load(t, map[string]string{"fleet/fleet-members/Hub_/" + long + ".yaml": "clusterName: " + long + "\ntenant: t\nenvironment: e\n"})
	if got := texts(f.Member("Hub_", long).Problems); strings.Count(got, "the path's name is not a DNS-1123 label") != 2 {
		t.Error(got)
	}
	if got := texts(load(t, map[string]string{"fleet/fleet-members/h/hub.yaml": "clusterName: hub\ntenant: t\nenvironment: e\n"}).Member("h", "hub").Problems); !strings.HasPrefix(got, "reserved-name ") {
		t.Error(got)
	}
	assert.Equal(t, "", texts(load(t, map[string]string{"fleet/fleet-members/hub/hub.yaml": "clusterName: hub\ntenant: t\nenvironment: e\nfleet_member: hub-cluster\n"}).Member("hub", "hub").Problems))
}

// TestLoad: members by hub, roots, and what concerns the repository as a whole.
func TestLoad(t *testing.T) {
	files := map[string]string{
		"fleet/fleet-members/a/hub-a.yaml": "clusterName: hub-a\ntenant: p\nenvironment: e\nfleet_member: hub-cluster\naddons_repo_basepath: hubs\n",
		"fleet/fleet-members/a/z.yaml":     "clusterName: z\ntenant: t\nenvironment: e\n",
		"fleet/fleet-members/a/b.yaml":     "clusterName: b\ntenant: t\nenvironment: e\naddons_repo_basepath: own\n",
		"fleet/fleet-members/b/z.yaml":     "clusterName: z\ntenant: t\nenvironment: e\n",
		"fleet/fleet-members/b/x/no.yaml":  "not: a member\n",
	}
	f := load(t, files)
	var got []string
	for _, h := range f.Hubs() {
		for _, m := range f.Members(h) {
			got = append(got, h+"/"+m.Name)
		}
	}
	assert.Equal(t, []string{"a/b", "a/hub-a", "a/z", "b/z"}, got)
	if f.HubMember("a").Name != "hub-a" || f.HubMember("b") != nil || f.HubMember("c") != nil || f.Members("c") != nil || f.Member("a", "x") != nil {
		t.Error("members are mixed up")
	}
	for _, c := range []struct{ hub, name, group, want string }{{"a", "b", "addons", "own"}, {"a", "z", "addons", "hubs"}, {"a", "z", "resources", "resources"}, {"b", "z", "addons", "addons"}, {"a", "z", "monitoring", "addons"}} {
		assert.Equal(t, c.want, f.Root(f.Member(c.hub, c.name), c.group), "root of %s/%s %s", c.hub, c.name, c.group)
	}
	for name, c := range map[string]struct{ path, text, want string }{
		"broken layout":    {LayoutFile, "kind: X\n", `invalid-value fleet/layout.yaml:1:7: key "kind": "X"; expected "Layout"`},
		"broken versions":  {"versions/applicationSets.yaml", "releases: {addons: [{}]}\n", `invalid-versions versions/applicationSets.yaml:1:21: release of group "addons": has no type; expected a type, for example "default"`},
		"versions no YAML": {"versions/fleetSecrets.yaml", "a: 1\na: 2\n", `duplicate-key versions/fleetSecrets.yaml:2:1: key "a": given again, first at line 1; expected each key once`},
	} {
		more := map[string]string{c.path: c.text}
		for p, text := range files {
			if p != c.path {
				more[p] = text
			}
		}
		_, err := Load(snapshot.FromMap(more), hierarchy.NewCache(), nil)
		assert.Equal(t, c.want, texts(problem.From(err, "", problem.Pos{})), "%s", name)
	}
	// A hub that two files claim is that hub's problem: the others are not concerned.
	files["fleet/fleet-members/a/z.yaml"] += "fleet_member: hub-cluster\n"
	want := `duplicate-member fleet/fleet-members/a/z.yaml: hub "a": a second member file with fleet_member: hub-cluster; expected one; see fleet/fleet-members/a/hub-a.yaml`
	assert.Equal(t, want, texts(problem.Errors(load(t, files).ProblemsOf("a"))), "two hubs")
	if _, err := Load(snapshot.FromMap(nil), hierarchy.NewCache(), nil); err == nil || !strings.Contains(err.Error(), "the repository is empty") {
		t.Error(err)
	}
}

// TestLoadKeepsWhatDidNotChange: by identity, so that all that is computed from it can be kept as
// well.
func TestLoadKeepsWhatDidNotChange(t *testing.T) {
	files := map[string]string{
		"fleet/fleet-members/a/x.yaml": "clusterName: x\ntenant: t\nenvironment: e\n", "fleet/fleet-members/a/y.yaml": "clusterName: y\ntenant: t\nenvironment: e\n",
		"versions/applicationSets.yaml": "releases: {nogroup: [], addons: [{type: default}]}\n",
	}
	cache := hierarchy.NewCache()
	first, err := Load(snapshot.FromMap(files), cache, nil)
	require.NoError(t, err)
	files["fleet/fleet-members/a/y.yaml"] += "lifecycle: retired\n"
	second, err := Load(snapshot.FromMap(files), cache, first)
	require.NoError(t, err)
	if second.Layout != first.Layout || second.Member("a", "x") != first.Member("a", "x") || second.Member("a", "y") == first.Member("a", "y") {
		t.Error("not what changed is new, or not what did not is kept")
	}
	if texts(first.Problems) != texts(second.Problems) || !strings.Contains(texts(first.Problems), `group "nogroup": not in the layout`) {
		t.Errorf("warnings %s and %s", texts(first.Problems), texts(second.Problems))
	}
}

// TestEffective: what the engine acts upon, whether the file says it or not (L3).
func TestEffective(t *testing.T) {
	none := map[string]string{
		"use_remote_argo": "false", "githubSecret": "false",
		"enable_remote_addons": "false", "enable_remote_fleet": "false", "enable_remote_monitoring": "false", "enable_remote_resources": "false",
	}
	for _, c := range []struct {
		text string
		more map[string]string
	}{
		{"", nil},
		{"use_fleet_ack: false\nuse_argocd_ingress: 'true'\n", map[string]string{"use_fleet_ack": "false", "use_argocd_ingress": "true"}},
		{"enable_remote_addons: true\n", map[string]string{"enable_remote_addons": "true"}}, // the label is the file's all the same
		{"use_remote_argo: true\nenable_remote_addons: true\ngithubSecret: true\n", map[string]string{
			"use_remote_argo": "true", "enable_remote_addons": "true", "githubSecret": "true", "remote_engine": "argocd", "use_external_secrets": "true", "push_argo_secrets": "false",
		}},
	} {
		want := maps.Clone(none)
		maps.Copy(want, c.more)
		m := readOne(t, identity+c.text)
		assert.Equal(t, want, m.Effective(), "%q", c.text)
		// A label that says what the flag does, and one that nobody declares, is none; any other
		// is.
		for key, value := range want {
			at := problem.Pos{File: "values.yaml", Line: 7}
			set := labels.Set{All: map[string]string{key: value}, Origins: map[string]problem.Pos{key: at}}
			if got := m.Contradictions(set); len(got) != 0 {
				t.Errorf("%q: %s: %v", c.text, key, got)
			}
			set.All[key] += "x"
			if got := m.Contradictions(set); len(got) != 1 || got[0].Pos != at || got[0].Severity != problem.Error || got[0].Reason != problem.ContradictoryLabel {
				t.Errorf("%q: %s: %v", c.text, key, got)
			}
			delete(set.Origins, key) // Terraform's: nobody can fix it in Git
			if got := m.Contradictions(set); len(got) != 0 {
				t.Errorf("%q: %s, live: %v", c.text, key, got)
			}
		}
	}
}

// G1: a folder that cannot be read and may have member files refuses the commit. Its members would
// look removed.
func TestUnreadMembersRefuseTheCommit(t *testing.T) {
	for folder, refused := range map[string]bool{
		"fleet": true, "fleet/fleet-members": true, "fleet/fleet-members/hub": true, "fleet/fleet-members/other": true,
		"fleet/fleet-members/hub/c": false, "addons": false, "fleet/teams": false,
	} {
		files := map[string]*snapshot.File{folder: snapshot.Unreadable(folder, true, fs.ErrPermission), path: snapshot.NewFile(path, []byte(identity), 1000)}
		_, err := Load(snapshot.New("r", files), hierarchy.NewCache(), nil)
		var problems problem.List
		if refused != (errors.As(err, &problems) && problems[0].Reason == problem.MissingFile && problems[0].Pos.File == folder) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}
