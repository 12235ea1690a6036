package response_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestCatalogLayers is rule R5 and what H2 means for an entry: null removes it, or its values.
func TestCatalogLayers(t *testing.T) {
	catalog := "addons/defaults/application-sets/addons.yaml"
	retail, one := "addons/tenants/retail/defaults/application-sets/addons.yaml", "addons/tenants/retail/clusters/one/application-sets/addons.yaml"
	full := "dns: {enabled: true, namespace: net, chart: {repoURL: r, name: dns, version: 1.0.0}, values: {low: 1, c: '{{ .cluster }}'}}\n"
	base := fleettest.Small().With(fleettest.Tree{catalog: full, "addons/defaults/addons/dns/values.yaml": ""})
	for _, c := range []struct {
		name string
		more fleettest.Tree
		want string // chart, namespace and values of dns-one, or its absence
	}{
		{"as declared", nil, "r dns 1.0.0  net dns c: one\nlow: 1\n"},
		{"version of a tenant", fleettest.Tree{retail: "dns: {chart: {version: 2.0.0}}\n"}, "r dns 2.0.0  net dns c: one\nlow: 1\n"},
		{"version of the cluster, short form", fleettest.Tree{retail: "dns: {version: 2.0.0}\n", one: "dns: {version: 3.0.0, releaseName: x}\n"}, "r dns 3.0.0  net x c: one\nlow: 1\n"},
		{"a registry's scheme is left out", fleettest.Tree{retail: "dns: {repoURL: 'oci://{{ .hub }}.example/charts'}\n"}, "hub.example/charts dns 1.0.0  net dns c: one\nlow: 1\n"},
		{"chart's own form beats the short one", fleettest.Tree{one: "dns: {version: 3.0.0, chart: {version: 4.0.0}}\n"}, "r dns 4.0.0  net dns c: one\nlow: 1\n"},
		{"below components", fleettest.Tree{one: "components: {dns: {version: 3.0.0}}\n"}, "r dns 3.0.0  net dns c: one\nlow: 1\n"},
		{"nothing below components", fleettest.Tree{one: "components:\n"}, "r dns 1.0.0  net dns c: one\nlow: 1\n"},
		{"values of a level", fleettest.Tree{one: "dns: {values: {low: 2, own: '{{ .tenant }}'}}\n"}, "r dns 1.0.0  net dns c: one\nlow: 2\nown: retail\n"},
		{"values taken away", fleettest.Tree{retail: "dns: {values: null}\n", one: "dns: {values: {own: 1}}\n"}, "r dns 1.0.0  net dns own: 1\n"},
		{"entry taken away", fleettest.Tree{retail: "dns: null\n"}, "absent"},
		{"entry taken away and given again", fleettest.Tree{retail: "dns: null\n", one: "dns: {enabled: true, chart: {repoURL: o, path: p, version: v}}\n"}, "o  v p dns dns {}\n"},
		{"null of one value", fleettest.Tree{one: "dns: {values: {low: null}}\n"}, "r dns 1.0.0  net dns c: one\nlow: null\n"},
		{"switched off", fleettest.Tree{retail: "dns: {enabled: \"false\"}\n"}, "absent"},
		{"selected", fleettest.Tree{retail: "dns: {selector: {matchLabels: {environment: prod}}}\n"}, "r dns 1.0.0  net dns c: one\nlow: 1\n"},
		{"not selected", fleettest.Tree{retail: "dns: {selector: {matchLabels: {environment: dev}}}\n"}, "absent"},
		{"not selected, nor are its templates executed", fleettest.Tree{retail: "dns: {selector: {matchLabels: {environment: x}}, namespace: '{{ .labels.absent }}', values: {a: '{{ .annotations.absent }}'}}\n"}, "absent"},
		{"templates in coordinates", fleettest.Tree{one: "dns: {namespace: 'n-{{ .tenant }}', releaseName: '{{ .component }}-{{ .cluster }}', chart: {version: '{{ .environment }}', repoURL: '{{ .hub }}'}}\n"}, "hub dns prod  n-retail dns-one c: one\nlow: 1\n"},
		{"each template its own result", fleettest.Tree{retail: "dns: {values: {a: '{{ .hub }}', b: {d: '{{ .tenant }}'}, l: ['{{ .environment }}', x, {e: '{{ .component }}'}]}}\n"}, "r dns 1.0.0  net dns a: hub\nb:\n  d: retail\nc: one\nl:\n- prod\n- x\n- e: dns\nlow: 1\n"},
		{"value files over the catalog", fleettest.Tree{"addons/defaults/addons/dns/values.yaml": "low: {{ plain }}\n"}, ""},
		{"a file's braces are its own", fleettest.Tree{"addons/defaults/addons/dns/values.yaml": "low: \"{{ .Values.x }}\"\n"}, "r dns 1.0.0  net dns c: one\nlow: '{{ .Values.x }}'\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := querytest.Build(t, base.With(c.more))
			if c.want == "" {
				if len(st.Problems) == 0 {
					t.Error("no problem")
				}
				return
			}
			querytest.NoProblems(t, st)
			got := "absent"
			if s := querytest.Ask(t, st, querytest.Addons)["dns-one"]; s != nil {
				chart := s["chart"].(map[string]any)
				got = fmt.Sprint(chart["repoURL"], " ", chart["name"], " ", chart["version"], " ", chart["path"], " ", s["namespace"], " ", s["releaseName"], " ", s["helmValues"])
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// TestUnreadableEntriesRefuse is rule G1: an entry that cannot be read is not one that is switched
// off, in any view.
func TestUnreadableEntriesRefuse(t *testing.T) {
	for entry, want := range map[string]string{
		"dns: {enabled: maybe}\n":             `key "enabled": "maybe"; expected true or false`,
		"dns: [x]\n":                          `component "dns": is a list; expected a map`,
		"dns: {values: text}\n":               `key "values": is a string; expected a map`,
		"dns: {chart: [x]}\n":                 `key "chart": is a list; expected a map`,
		"dns: {chart: {repoUrl: x}}\n":        `addons/tenants/retail/clusters/one/application-sets/addons.yaml:1:15: key "repoUrl": not known in key "chart"; did you mean "repoURL"?`,
		"dns: {chart: {version: 1.10}}\n":     `key "chart.version": is a number; expected text; put it in quotes`,
		"dns: {selector: {matchLabel: {}}}\n": `key "selector": selector: expected matchLabels and matchExpressions`,
		"Dns_2: {enabled: true}\n":            `component "Dns_2"`,
	} {
		st := querytest.Build(t, fleettest.Small().With(fleettest.Tree{"addons/tenants/retail/clusters/one/application-sets/addons.yaml": entry}))
		assert.Contains(t, querytest.Problems(st.Problems), want, "%s: problems", entry)
		for _, r := range []string{querytest.Addons, `{"view":"releases","group":"addons"}`} {
			assert.Contains(t, querytest.Refused(t, st, r), `member "one" of hub "hub": addons/tenants/retail/clusters/one/application-sets/addons.yaml:1:`, "%s %s", entry, r)
			if got := querytest.Names(t, st, strings.TrimSuffix(r, "}")+`,"selector":{"matchLabels":{"environment":"dev"}}}`); got == "" {
				t.Errorf("%s: the other member has no answer", entry)
			}
		}
	}
	for entry, want := range map[string]string{
		"dns: {chart: {path: p}}\n": "has both chart.name and chart.path", "dns: {chart: {repoURL: ''}}\n": "lacks chart.repoURL; expected chart coordinates in the catalog",
		"dns: {namespace: '{{ .x }}'}\n": `no fact "x" is known`, "dns: {values: {a: '{{ .x }}'}}\n": `addons.yaml:1:19: template <.x>: no fact "x" is known`,
	} {
		st := querytest.Build(t, fleettest.Small().With(fleettest.Tree{"addons/tenants/retail/clusters/one/application-sets/addons.yaml": entry}))
		if got := querytest.Refused(t, st, querytest.Addons); !strings.Contains(got, want) || !strings.Contains(got, `member "one"`) {
			t.Errorf("%s: %s, want %s", entry, got, want)
		}
	}
}

// TestLowerPositionOfAMergedEntry: a key that an entry has from a lower file is reported in that
// file.
func TestLowerPositionOfAMergedEntry(t *testing.T) {
	st := querytest.Build(t, fleettest.Small().With(fleettest.Tree{
		"addons/defaults/application-sets/addons.yaml":                    "dns:\n  enabled: true\n  chart:\n    repoUrl: x\n    name: dns\n",
		"addons/tenants/retail/clusters/one/application-sets/addons.yaml": "dns: {chart: {version: 2.0.0}}\n",
	}))
	for _, p := range st.Problems {
		assert.Equal(t, "addons/defaults/application-sets/addons.yaml:4:5", p.Pos.String(), "%s", p.Error())
	}
}

// TestEnabledByTheHierarchy is rule R7: of the clusters that the requester owns, whatever the
// catalog's own default is.
func TestEnabledByTheHierarchy(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml": "groups: {addons: {catalog: catalog.yaml}}\n",
		"catalog.yaml":      "components:\n  dns: {chart: {repoURL: r, name: dns, version: '1'}}\n  auto: {enabled: true, chart: {repoURL: r, name: c, version: '1'}, syncPolicy: {}}\n  cert: {chart: {repoURL: r, name: c, version: '1'}}\n",
		"addons/defaults/application-sets/addons.yaml":                        "dns: {selector: {matchLabels: {a: b}}}\n",
		"addons/tenants/retail/environments/dev/application-sets/addons.yaml": "dns: {enabled: true}\n",
		fleettest.Member("three"):                                             "{clusterName: three, tenant: retail, environment: stage, use_remote_argo: true, enable_remote_addons: true}\n",
		"addons/tenants/retail/clusters/three/application-sets/addons.yaml":   "cert: {enabled: true}\n",
	})
	st := querytest.NoProblems(t, querytest.Build(t, files))
	for _, c := range []struct{ owner, release, want string }{
		{"hub", "default", "components: {}\ngroup: addons\nhub: hub\nowner: hub\nrelease: default\n"},
		{"hub", "canary", "components:\n  dns:\n    enabled: true\ngroup: addons\nhub: hub\nowner: hub\nrelease: canary\n"},
		{"three", "default", "components:\n  cert:\n    enabled: true\ngroup: addons\nhub: hub\nowner: three\nrelease: default\n"},
	} {
		s := querytest.Ask(t, st, `{"view":"releases","group":"addons","owner":"`+c.owner+`"}`)["application-sets-addons-"+c.release]
		if s == nil || s.Text("helmValues") != c.want {
			t.Errorf("%s of %s: %v, want %q", c.release, c.owner, s["helmValues"], c.want)
		}
	}
	assert.Equal(t, "application-sets-resources-default", querytest.Names(t, st, `{"view":"releases","group":"resources"}`), "a group that no versions file mentions has releases")
}

// TestBase: the request's entry takes the place of the layout's catalog, below the hierarchy.
func TestBase(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml": "groups: {addons: {catalog: catalog.yaml}}\n",
		"catalog.yaml":      "dns: {chart: {repoURL: c, name: c, version: '1'}, namespace: from-catalog, values: {catalog: 1}}\n",
	})))
	one := querytest.Ask(t, st, `{"view":"components","group":"addons","component":"dns","base":{"enabled":true,"releaseName":"rel","chart":{"repoURL":"b","name":"b","version":"0.1"},"values":{"big":12345678901234567890,"from":"base","who":"{{ .cluster }}"}}}`)["dns-one"]
	assert.Equal(t, "map[name:dns path: repoURL:https://charts.example version:1.0.0]"+"dns"+"rel"+"big: 12345678901234567890\nfrom: system\nsystem: true\nwho: one\n", fmt.Sprint(one["chart"], one["namespace"], one["releaseName"], one["helmValues"]))
	assert.Equal(t, "other-hub other-one other-two", querytest.Names(t, st, `{"view":"components","group":"addons","component":"other","base":{"enabled":"true"}}`), "a component that only the request knows")
	for base, want := range map[string]string{
		`{"enabled":"x"}`: `input.parameters.base: key "enabled": "x"; expected true or false`, `{"selector":{"matchLabels":[]}}`: "selector", `{"values":5}`: `key "values": is a number; expected a map`,
	} {
		assert.Contains(t, querytest.Refused(t, st, `{"view":"components","group":"addons","component":"dns","base":`+base+`}`), want, "%s", base)
	}
}

// TestRequiredLevel is rule H6: required for values; a group's catalog need not be there.
func TestRequiredLevel(t *testing.T) {
	layout := "levels: [{name: system, dir: '{{ .root }}/defaults', required: true}, {name: cluster, dir: '{{ .root }}/tenants/{{ .tenant }}/clusters/{{ .cluster }}'}]\n"
	secret := fleettest.Tree{"fleet/layout.yaml": layout, "addons/defaults/fleet/fleet-secret/values.yaml": "{}\n"}
	querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(secret)))
	st := querytest.Build(t, fleettest.Small().With(secret).With(fleettest.Tree{"addons/defaults/addons/dns/values.yaml": ""}))
	if got := querytest.Problems(st.Problems); strings.Count(got, `missing-layer addons/defaults/addons/dns/values.yaml: no such file; expected a file, because level "system" is required`) != 2 {
		t.Error(got)
	}
}

// TestMergeRulesOfOneComponent is rule H4: a rule for one component does not reach another that
// reads the same files.
func TestMergeRulesOfOneComponent(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{
		"addons/defaults/application-sets/addons.yaml":        "x-1: {enabled: true, chart: {repoURL: r, name: a, version: '1'}}\nx-2: {enabled: true, chart: {repoURL: r, name: a, version: '1'}}\n",
		"addons/defaults/addons/x/values.yaml":                "l: [1]\n",
		"addons/tenants/retail/defaults/addons/x/values.yaml": "l: [1, 2]\n",
	})
	layout := func(strategy, component string) fleettest.Tree {
		return fleettest.Tree{"fleet/layout.yaml": "files: {values: '{{ .group }}/{{ regexReplaceAll \"-.*\" .component \"\" }}/values.yaml'}\nmerge: [{path: l, strategy: " + strategy + ", component: " + component + "}]\n"}
	}
	values := func(st *fleetstate.State) string {
		sets := querytest.Ask(t, st, querytest.Addons)
		return strings.ReplaceAll(sets["x-1-one"].Text("helmValues")+sets["x-2-one"].Text("helmValues"), "\n- ", " ")
	}
	var st *fleetstate.State
	for _, c := range []struct{ strategy, component, want string }{
		{"append", "x-1", "l: 1 1 2\nl: 1 2\n"}, {"append", "x-2", "l: 1 2\nl: 1 1 2\n"}, {"replace", "x-2", "l: 1 2\nl: 1 2\n"}, {"append", "x-2", "l: 1 2\nl: 1 1 2\n"},
	} {
		// Another layout has other rules: nothing that was merged before is taken over.
		next, err := fleetstate.Build(st, fleettest.Snapshot("rev", files.With(layout(c.strategy, c.component))), facts.Set{})
		require.NoError(t, err)
		if st = querytest.NoProblems(t, next); values(st) != c.want {
			t.Errorf("%s for %s: values %q, want %q", c.strategy, c.component, values(st), c.want)
		}
	}
}

// TestLevelNamesAreTheClustersOwn: hubs and spokes may read one file at levels of different names
// (H7).
func TestLevelNamesAreTheClustersOwn(t *testing.T) {
	layout := fleettest.Tree{"fleet/layout.yaml": "levels: [{name: spokes, dir: '{{ .root }}/defaults'}]\nhubLevels: [{name: hubs, dir: '{{ .root }}/defaults'}]\n"}
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(layout)))
	for name, want := range map[string]string{"hub": "hubs", "one": "spokes"} {
		e, err := explain.Component(st, explain.Target{Cluster: name, Group: "addons", Component: "dns"}, []string{"from"})
		require.NoError(t, err)
		assert.Equal(t, want, e.Values[0].Level, "%s: level", name)
	}
}

// TestRootAsLevel: the repository's root can be a level; a change of a file in it is noticed.
func TestRootAsLevel(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{"fleet/layout.yaml": "levels: [{name: root, dir: .}]\n", "application-sets/addons.yaml": "dns: {enabled: true, chart: {repoURL: r, name: dns, version: '1'}}\n", "addons/dns/values.yaml": "a: 1\n"})
	st := querytest.NoProblems(t, querytest.Build(t, files))
	next, err := fleetstate.Build(st, fleettest.Snapshot("rev", files.With(fleettest.Tree{"addons/dns/values.yaml": "a: 2\n"})), facts.Set{})
	require.NoError(t, err)
	assert.Equal(t, "a: 2\n", querytest.Ask(t, next, querytest.Addons)["dns-one"].Text("helmValues"), "values")
}

// TestErrorsAreShort is rule G5.
func TestErrorsAreShort(t *testing.T) {
	e := &problem.QueryError{Message: strings.Repeat("é", 1000)}
	if got := e.Error(); len(got) > 600 || !utf8.ValidString(got) || !strings.HasSuffix(got, "é...") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	var target *problem.QueryError
	st := querytest.Build(t, fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "tenannt: x\nlifecycl: y\n")}))
	_, err := response.Bytes(st, querytest.Query(t, querytest.Addons))
	if !errors.As(err, &target) || target.Kind != problem.KindUnavailable || len(target.Problems) != 2 {
		t.Fatalf("%#v", err)
	}
	assert.Equal(t, `member "one" of hub "hub": fleet/fleet-members/hub/one.yaml:4:1: key "tenannt": not known in member file; did you mean "tenant"? (and 1 more)`, err.Error())
}

// TestRegistrationLeavesToTheHierarchy: the names of secrets that a member file does not give come
// from the hierarchy, and an agent's store finds its region in the same ARN as the hub's.
func TestRegistrationLeavesToTheHierarchy(t *testing.T) {
	const agent = "use_remote_argo: true\ngithubSecret: true\n"
	files := fleettest.Small().With(fleettest.Tree{
		"addons/defaults/fleet/fleet-secret/values.yaml.gotmpl": "secretManagerSecretName: fleet/{{ .cluster }}\ngithubSecret: true\ngithubSecretName: git/{{ .tenant }}\n",
		fleettest.Member("one"):                                 fleettest.Spoke("one", agent),
		fleettest.Member("two"):                                 fleettest.Spoke("two", agent+"secretManagerSecretName: arn:two\ngithubSecretName: own\n"),
		fleettest.Member("three"):                               fleettest.Spoke("three", agent+"use_external_secrets: false\n"),
	})
	st := querytest.NoProblems(t, querytest.Build(t, files))
	lines := func(values string) string {
		var out []string
		for _, line := range strings.Split(values, "\n") {
			if key, value, _ := strings.Cut(line, ": "); key == "secretManagerSecretName" || key == "githubSecretName" || key == "githubSecret" {
				out = append(out, value)
			}
		}
		return strings.Join(out, " ")
	}
	members, agents := querytest.Ask(t, st, `{"view":"members"}`), querytest.Ask(t, st, `{"view":"agents"}`)
	for name, want := range map[string]string{"one": "true git/retail fleet/one", "two": "true own arn:two"} {
		// the hub has no use for the agents' own repositories (TestHubReadsForItsGroups)
		if got := lines(members["fleet-secret-"+name].Text("helmValues")); got != strings.Replace(want, "true", "false", 1) {
			t.Errorf("%s registers with %q, want %q", name, got, want)
		}
		assert.Equal(t, want, lines(agents["agent-"+name].Text("credentialValues")), "%s has credentials of", name)
	}
	if got := lines(agents["agent-three"].Text("credentialValues")); !strings.HasPrefix(got, "false ") {
		t.Errorf("three pulls nothing, but has %q", got)
	}
}

// TestAgentsKnowTheHubsLabels: an agent's own facts are the cluster's labels and annotations as the
// hub has them, but for what says something of the hub's Secret. (M1)
func TestAgentsKnowTheHubsLabels(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "use_remote_argo: true\n")})
	st := querytest.NoProblems(t, querytest.Build(t, files, facts.Cluster{
		Name:        "one",
		Labels:      map[string]string{"ring": "a"},
		Annotations: map[string]string{"account": "1"},
	}))
	values := querytest.Ask(t, st, `{"view":"agents"}`)["agent-one"].Text("helmValues")
	for text, want := range map[string]bool{"ring: a\n": true, "account: \"1\"\n": true, "secret-type": false} {
		if strings.Contains(values, text) != want {
			t.Errorf("%q among the values: %t\n%s", text, !want, values)
		}
	}
}
