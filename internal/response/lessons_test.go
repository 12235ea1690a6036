package response_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// Each test here is a lesson: a mistake that nested generator templates make silently.

// TestEveryLevelIsRead, lesson 1: templates read three of five levels, and the two most general
// files were read by nobody (H1, H6).
func TestEveryLevelIsRead(t *testing.T) {
	files := fleettest.Small()
	for level, dir := range map[string]string{
		"system": "addons/defaults", "tenants": "addons/tenants/defaults", "tenant": "addons/tenants/retail/defaults",
		"environment": "addons/tenants/retail/environments/prod", "cluster": "addons/tenants/retail/clusters/one",
	} {
		files[dir+"/addons/dns/values.yaml"] = "from: " + level + "\n" + level + ": true\n"
	}
	st := querytest.NoProblems(t, querytest.Build(t, files))
	one := querytest.Ask(t, st, `{"view":"components","group":"addons"}`)["dns-one"]
	assert.Equal(t, "cluster: true\nenvironment: true\nfrom: cluster\nsystem: true\ntenant: true\ntenants: true\n", one.Text("helmValues"), "values")
	if n := len(one["valueFiles"].([]any)); n != 5 {
		t.Errorf("%d value files", n)
	}
	for _, p := range lint.Run(st, expand.Tools{}) {
		t.Errorf("%s %s", p.Reason, p.Error())
	}
	st = querytest.Build(t, files.With(fleettest.Tree{"addons/tenants/retail/enviroments/prod/addons/dns/values.yaml": "a: 1\n"}))
	assert.Contains(t, querytest.Problems(lint.Run(st, expand.Tools{})), "unreachable-file addons/tenants/retail/enviroments/prod/addons/dns/values.yaml: no cluster and no component reads this file", "a file that nobody reads is not reported")
}

// TestRegistrationReadsTheMembersOwnLevels, lesson 3: a member was registered with the values of
// the hub's environment (H1).
func TestRegistrationReadsTheMembersOwnLevels(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{
		"addons/tenants/retail/environments/dev/fleet/fleet-secret/values.yaml":    "externalSecret: {labels: {from: dev}}\n",
		"addons/tenants/retail/environments/prod/fleet/fleet-secret/values.yaml":   "externalSecret: {labels: {from: prod}}\n",
		"addons/tenants/platform/environments/prod/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {from: platform}}\n",
		"addons/control-plane/environments/prod/fleet/fleet-secret/values.yaml":    "externalSecret: {labels: {from: hub}}\n",
	})))
	sets := querytest.Ask(t, st, `{"view":"members"}`)
	for name, want := range map[string]string{"fleet-secret-one": "prod", "fleet-secret-two": "dev"} {
		assert.Equal(t, want, sets[name].Label("from"), "%s is registered with the values of", name)
		assert.Contains(t, sets[name].Text("helmValues"), "from: "+want+"\n", "%s: values", name)
	}
}

// TestReleaseLookup, lesson 4: without a label the first of the list was taken instead of the
// default one, an unknown name deployed nothing, and one typo stopped all others (R2, R3).
func TestReleaseLookup(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small()))
	sets := querytest.Ask(t, st, `{"view":"components","group":"addons"}`)
	if sets["dns-one"].Text("release") != "default" || sets["dns-two"].Text("release") != "canary" {
		t.Errorf("releases %q and %q", sets["dns-one"].Text("release"), sets["dns-two"].Text("release"))
	}
	// A typo concerns the member that has it; the other member, and other groups, have their
	// answers.
	st = querytest.Build(t, fleettest.Small().With(fleettest.Tree{
		fleettest.Member("two"):                              "clusterName: two\ntenant: retail\nenvironment: dev\nlabels:\n  addonsRelease: canery\n",
		"resources/defaults/application-sets/resources.yaml": "pools: {enabled: true, chart: {repoURL: r, path: p, version: main}}\n",
	}))
	want := `unknown-release fleet/fleet-members/hub/two.yaml:5:18: member "two": release "canery" of group "addons"`
	if len(st.Problems) != 1 || st.Problems[0].Cluster != "two" || !strings.HasPrefix(querytest.Problems(st.Problems), want) || !slices.Contains(st.Problems[0].Hints, `did you mean "canary"?`) {
		t.Errorf("problems %s", querytest.Problems(st.Problems))
	}
	assert.Equal(t, "pools-hub pools-one pools-two", querytest.Names(t, st, `{"view":"components","group":"resources"}`), "resources")
	assert.Equal(t, "dns-hub dns-one", querytest.Names(t, st, `{"view":"components","group":"addons","selector":{"matchLabels":{"environment":"prod"}}}`), "addons of prod")
	for _, r := range []string{`{"view":"components","group":"addons"}`, `{"view":"releases","group":"addons"}`} {
		if got := querytest.Refused(t, st, r); !strings.Contains(got, `"two"`) || !strings.Contains(got, "two.yaml:5:18") {
			t.Errorf("%s: %s", r, got)
		}
	}
	// So does one on the hub itself.
	st = querytest.Build(t, fleettest.Small().With(fleettest.Tree{"fleet/fleet-members/hub/hub.yaml": "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, labels: {addonsRelease: x}}\n"}))
	assert.Equal(t, "dns-one dns-two", querytest.Names(t, st, `{"view":"components","group":"addons","selector":{"matchLabels":{"fleet_member":"spoke"}}}`), "addons of spokes")
}

// TestGitBeatsTerraform, lesson 5: labels of the live cluster Secret overwrote Git's, and an empty
// one blanked them (L1).
func TestGitBeatsTerraform(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{
		"addons/defaults/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {hierarchy: git, both: hierarchy}, annotations: {a: git}}\n",
		fleettest.Member("one"):                          fleettest.Spoke("one", "labels: {both: member, own: git}\n"),
	}), facts.Cluster{
		Name:        "one",
		Labels:      map[string]string{"environment": "", "tenant": "other", "fleet_member": "x", "hierarchy": "live", "both": "live", "own": "live", "live": "kept"},
		Annotations: map[string]string{"a": "live", "b": "live"},
	}))
	one := querytest.Ask(t, st, `{"view":"members"}`)["fleet-secret-one"]
	for label, want := range map[string]string{
		"environment": "prod", "tenant": "retail", "fleet_member": "spoke", "argocd.argoproj.io/secret-type": "cluster",
		"hierarchy": "git", "both": "member", "own": "git", "live": "kept",
	} {
		assert.Equal(t, want, one.Label(label), "label %s", label)
	}
	if one.Annotation("a") != "git" || one.Annotation("b") != "live" || one.Text("environment") != "prod" {
		t.Errorf("annotations %v, environment %q", one["metadata"], one.Text("environment"))
	}
	if declared := one["secretLabels"].(map[string]any); declared["live"] != nil || declared["own"] != "git" {
		t.Errorf("secretLabels are %v: what is only live must not keep itself alive", declared)
	}
}

// TestEveryFlagIsItsOwn, lesson 6: a URL was filled from a revision, one release label copied
// another, a flag was read from the wrong place, and one group was selected by another's flag (L3,
// M1).
func TestEveryFlagIsItsOwn(t *testing.T) {
	flags := []string{"use_remote_argo", "use_external_secrets", "push_argo_secrets", "githubSecret", "use_fleet_ack", "use_argocd_ingress", "enable_remote_addons", "enable_remote_resources", "enable_remote_monitoring", "enable_remote_fleet"}
	bare := querytest.Ask(t, querytest.Build(t, fleettest.Small()), `{"view":"members"}`)["fleet-secret-one"]
	for _, flag := range flags {
		for _, value := range []string{"true", "false", `"true"`, `"false"`} {
			st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", flag+": "+value+"\n")})))
			one := querytest.Ask(t, st, `{"view":"members"}`)["fleet-secret-one"]
			for _, other := range flags {
				want := bare.Label(other)
				if other == flag {
					want = strings.Trim(value, `"`)
				}
				assert.Equal(t, want, one.Label(other), "%s: %s gives %s the label", flag, value, other)
			}
		}
	}
	keys := []string{"addons_repo_url", "addons_repo_path", "addons_repo_revision", "resources_repo_url", "resources_repo_revision", "fleet_repo_url", "fleet_repo_basepath"}
	for _, key := range keys {
		st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", key+": x\n")})))
		one := querytest.Ask(t, st, `{"view":"members"}`)["fleet-secret-one"]
		for _, other := range keys {
			want := "absent"
			if other == key {
				want = "x"
			}
			assert.Equal(t, want, one.Annotation(other), "%s gives %s", key, other)
		}
	}
	assert.Equal(t, "absent", querytest.Ask(t, querytest.Build(t, fleettest.Small()), `{"view":"components","group":"addons"}`)["dns-two"].Label(release.LabelOf("monitoring")), "addonsRelease gives monitoringRelease")
	// The owner of one group does not follow another's flag.
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{
		"resources/defaults/application-sets/resources.yaml": "pools: {enabled: true, chart: {repoURL: r, path: p, version: main}}\n",
		fleettest.Member("one"):                              fleettest.Spoke("one", "use_remote_argo: true\nenable_remote_addons: true\n"),
	})))
	if a, r := querytest.Names(t, st, `{"view":"components","group":"addons"}`), querytest.Names(t, st, `{"view":"components","group":"resources"}`); a != "dns-hub dns-two" || r != "pools-hub pools-one pools-two" {
		t.Errorf("the hub owns addons %q, resources %q", a, r)
	}
}

// TestAbsentKeysAreNeverNoValue, lesson 7: absent keys became the text "<no value>", and the Secret
// was refused (L2).
func TestAbsentKeysAreNeverNoValue(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small()))
	for _, view := range []string{`{"view":"members"}`, `{"view":"agents"}`, `{"view":"components","group":"addons"}`, `{"view":"releases","group":"addons"}`} {
		b, err := response.Bytes(st, querytest.Query(t, view))
		if err != nil || strings.Contains(string(b), "no value") || strings.Contains(string(b), "null") {
			t.Errorf("%s: %s %v", view, b, err)
		}
	}
	st = querytest.Build(t, fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "labels:\n  bad: <no value>\n  worse: [1]\n")}))
	want := `invalid-label fleet/fleet-members/hub/one.yaml:5:8: label "bad": "<no value>"; expected at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit`
	if got := querytest.Problems(st.Problems); !strings.Contains(got, `label "worse": is a list; expected text`) {
		t.Errorf("problems %s, want %s", got, want)
	}
	st = querytest.Build(t, fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "labels:\n  bad: <no value>\n")}))
	assert.Equal(t, want, querytest.Problems(st.Problems), "problems")
	// A level that depends on the label does not hide it.
	st = querytest.Build(t, fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml":     "levels:\n  - {name: system, dir: '{{ .root }}/defaults'}\n  - {name: region, dir: '{{ .root }}/regions/{{ .labels.region }}'}\n",
		fleettest.Member("hub"): "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, labels: {region: us}}\n",
		fleettest.Member("one"): fleettest.Spoke("one", "labels:\n  region: ../us\n"),
		fleettest.Member("two"): fleettest.Spoke("two", "labels:\n  region: us\n"),
	}))
	if got := querytest.Problems(st.Problems); !strings.Contains(got, `invalid-label fleet/fleet-members/hub/one.yaml:5:11: label "region": "../us"; expected at most 63`) || !strings.Contains(got, "template <.labels.region>") {
		t.Errorf("problems %s", got)
	}
	// A template that prints what is not there is a problem too, at its place.
	st = querytest.Build(t, fleettest.Small().With(fleettest.Tree{"addons/defaults/addons/dns/values.yaml.gotmpl": "a: 1\nrole: {{ .annotations.role_arn }}\n"}))
	if got := querytest.Problems(st.Problems); !strings.Contains(got, `template-failed addons/defaults/addons/dns/values.yaml.gotmpl:2:`) || !strings.Contains(got, `no fact "role_arn" is known`) {
		t.Errorf("problems %s", got)
	}
}

// TestCentralizedSpokesGetTheirAddons, lesson 8: without selectors a hub-only one was set on every
// component (M2).
func TestCentralizedSpokesGetTheirAddons(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small()))
	assert.Equal(t, "dns-hub dns-one dns-two", querytest.Names(t, st, `{"view":"components","group":"addons"}`), "components")
	assert.Equal(t, "dns-hub dns-one dns-two", querytest.Names(t, st, `{"view":"components","group":"addons","component":"dns","base":{"enabled":true,"chart":{"repoURL":"r","name":"dns","version":"1"},"selector":{}}}`), "components with an empty selector")
	assert.Equal(t, "", querytest.Names(t, st, `{"view":"components","group":"addons","owner":"one"}`), "a centralized member owns")
}

// TestOneOwner, lesson 9: monitoring on agent clusters was installed by the hub and the member
// (M1). For any flags, engine and lifecycle each Application has one owner, and every view agrees
// on it.
func TestOneOwner(t *testing.T) {
	groups := []string{"addons", "resources", "monitoring", "fleet"}
	files := fleettest.Small()
	for _, g := range groups {
		root := "addons"
		if g == "resources" {
			root = g
		}
		files[root+"/defaults/application-sets/"+g+".yaml"] = g + "-c: {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\n"
	}
	for bits := range 1 << 5 {
		for _, rest := range []string{"", "remote_engine: flux\n", "lifecycle: draining\n", "lifecycle: retired\n", "remote_engine: flux\nlifecycle: retired\ndeletion: cascade\n"} {
			var flags strings.Builder
			if bits&1 != 0 {
				flags.WriteString("use_remote_argo: true\n")
			}
			for i, g := range groups {
				if bits&(2<<i) != 0 {
					flags.WriteString("enable_remote_" + g + ": \"true\"\n")
				}
			}
			flags.WriteString(rest)
			st := querytest.NoProblems(t, querytest.Build(t, files.With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", flags.String())})))
			retired := strings.Contains(rest, "retired")
			agent := querytest.Ask(t, st, `{"view":"agents"}`)["agent-one"]
			if (agent != nil) != (bits&1 != 0 && !retired) {
				t.Errorf("flags %q: agent %v", flags.String(), agent)
			}
			for i, g := range groups {
				remote := bits&1 != 0 && bits&(2<<i) != 0
				if agent != nil && slices.Contains(agent["groups"].([]any), any(g)) != remote {
					t.Errorf("flags %q: the agent's groups are %v", flags.String(), agent["groups"])
				}
				// The Applications of a retired member are nobody's, so that they are removed.
				owners := map[string]bool{"hub": !remote && !retired, "one": remote && !retired}
				oneOwner(t, st, g, owners, flags.String())
			}
		}
	}
}

// oneOwner fails where a group of the member "one" is in other answers than its owner's.
func oneOwner(t *testing.T, st *fleetstate.State, group string, owners map[string]bool, flags string) {
	t.Helper()
	for owner, wants := range owners {
		question := `"group":"` + group + `","owner":"` + owner + `"`
		if got := querytest.Ask(t, st, `{"view":"components",`+question+`}`)[group+"-c-one"] != nil; got != wants {
			t.Errorf("flags %q: components of %s for %s have the cluster: %t", flags, group, owner, got)
		}
		var in bool
		for _, s := range querytest.Ask(t, st, `{"view":"releases",`+question+`}`) {
			in = in || slices.Contains(s["clusters"].([]any), any("one"))
		}
		if in != wants {
			t.Errorf("flags %q: releases of %s for %s have the cluster: %t", flags, group, owner, in)
		}
	}
}

// TestNames, lesson 10: names had the chart's version in them and cut clusters at 30 characters
// (N1, R6).
func TestNames(t *testing.T) {
	at := func(version string) map[string]querytest.Set {
		return querytest.Ask(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{"addons/tenants/retail/defaults/application-sets/addons.yaml": "dns: {version: " + version + "}\n"})), `{"view":"components","group":"addons"}`)
	}
	before, after := at("1.0.0"), at("2.0.0")
	if len(before) != 3 || !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))) || after["dns-one"]["chart"].(map[string]any)["version"] != "2.0.0" {
		t.Errorf("%v became %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	long := strings.Repeat("x", 50)
	files := fleettest.Small()
	for _, suffix := range []string{"-aaaaaaaaaaaa", "-bbbbbbbbbbbb", "-aaaaaaaaaaab"} {
		files[fleettest.Member(long+suffix)] = fleettest.Spoke(long+suffix, "")
	}
	files["addons/defaults/application-sets/addons.yaml"] += strings.Repeat("y", 30) + ": {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\n"
	all := querytest.Ask(t, querytest.NoProblems(t, querytest.Build(t, files)), `{"view":"components","group":"addons"}`)
	if len(all) != 12 {
		t.Errorf("%d distinct names", len(all))
	}
	for name := range all {
		if len(name) > 63 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasSuffix(name, "-") || strings.HasPrefix(name, "-") {
			t.Errorf("%q is not a DNS-1123 label", name)
		}
	}
}
