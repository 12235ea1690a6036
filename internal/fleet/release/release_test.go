package release

import (
	"errors"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func parse(t *testing.T, text string) (Versions, []problem.Problem) {
	t.Helper()
	doc, err := yamldoc.Parse("v.yaml", []byte(text))
	require.NoError(t, err)
	return ParseApplicationSets(doc)
}

func texts(ps []problem.Problem) string {
	var lines []string
	for _, p := range ps {
		lines = append(lines, string(p.Severity)+" "+string(p.Reason)+" "+p.Error())
	}
	return strings.Join(lines, "\n")
}

// TestGlobalsFill is rule R1; anything else is passed through, numbers as text.
func TestGlobalsFill(t *testing.T) {
	v, problems := parse(t, `releases:
  globals:
    chartRepoUrl: https://git.example/argosy
    chartRepoPath: charts/application-sets
    use_helm_repo_path: true
    account: 123456789012
    drop: me
    nested: {a: 1, l: [true, ~]}
  addons:
    - {type: canary, chartRepoRevision: v2, chartRepoPath: other, drop: null, use_helm_repo_path: "true"}
    - {type: default, chartRepoRevision: v1}
  resources:
    - {type: default, use_helm_repo_path: "false", chartRepo: oci://registry.example, ecrChartName: application-sets, version: 1.2.3}
`)
	assert.Equal(t, "", texts(problems))
	addons, resources := v.Of("addons"), v.Of("resources")
	want := []Source{
		{RepoURL: "https://git.example/argosy", Path: "other", TargetRevision: "v2"},
		{RepoURL: "https://git.example/argosy", Path: "charts/application-sets", TargetRevision: "v1"},
		{RepoURL: "registry.example", Chart: "application-sets", TargetRevision: "1.2.3"},
	}
	assert.Equal(t, want, []Source{addons.Releases[0].Source, addons.Releases[1].Source, resources.Releases[0].Source})
	keys := map[string]any{
		"type": "canary", "chartRepoUrl": "https://git.example/argosy", "chartRepoPath": "other", "chartRepoRevision": "v2",
		"use_helm_repo_path": "true", "account": "123456789012", "nested": map[string]any{"a": "1", "l": []any{"true", nil}},
	}
	assert.Equal(t, keys, addons.Releases[0].Keys)
	assert.Equal(t, "me", addons.Releases[1].Keys["drop"], "what one release takes away is gone for the other")
	assert.Equal(t, []string{"addons", "resources"}, v.Groups())
}

// TestChoose is rules R2 and R3.
func TestChoose(t *testing.T) {
	v, _ := parse(t, "releases:\n  addons:\n    - {type: canary}\n    - {type: default}\n    - {type: stable}\n  monitoring:\n    - {type: one}\n  resources: []\n")
	for _, c := range []struct {
		name, group string
		labels      map[string]string
		want, err   string
	}{
		{"default, not the first", "addons", nil, "default", ""},
		{"by label", "addons", map[string]string{"addonsRelease": "canary"}, "canary", ""},
		{"the default by label", "addons", map[string]string{"addonsRelease": "default"}, "default", ""},
		{"another group's label", "addons", map[string]string{"monitoringRelease": "canary"}, "default", ""},
		{"typo", "addons", map[string]string{"addonsRelease": "canery"}, "", `v.yaml:2:3: release "canery" of group "addons": not in the versions file; did you mean "canary"?`},
		{"unknown", "addons", map[string]string{"addonsRelease": "zzzzzz"}, "", `v.yaml:2:3: release "zzzzzz" of group "addons": not in the versions file; expected one of canary, default, stable`},
		{"case matters", "addons", map[string]string{"addonsRelease": "Canary"}, "", `v.yaml:2:3: release "Canary" of group "addons": not in the versions file; did you mean "canary"?`},
		{"empty label", "addons", map[string]string{"addonsRelease": ""}, "", `v.yaml:2:3: release "" of group "addons": not in the versions file; expected one of canary, default, stable`},
		{"no default", "monitoring", nil, "", `v.yaml:6:3: release "default" of group "monitoring": not in the versions file, and the cluster has no label "monitoringRelease"; expected one of one`},
		{"empty list", "resources", nil, "", `v.yaml:8:3: release "default" of group "resources": not in the versions file, and the cluster has no label "resourcesRelease"`},
		{"group not mentioned", "fleet", nil, "default", ""},
		{"group not mentioned, labelled", "fleet", map[string]string{"fleetRelease": "x"}, "", `release "x" of group "fleet": not in the versions file`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := v.Of(c.group).Choose(c.labels)
			assert.Equal(t, c.want, r.Type, "chose")
			var p problem.Problem
			if errors.As(err, &p); (err != nil) != (c.err != "") || c.err != "" && (p.Reason != problem.UnknownRelease || p.Error() != c.err) {
				t.Errorf("error %v, want %s", err, c.err)
			}
		})
	}
}

func TestVersionsProblems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"no type", "releases: {addons: [{version: v1}]}\n", `error invalid-versions v.yaml:1:21: release of group "addons": has no type; expected a type, for example "default"`},
		{"given again", "releases:\n  addons:\n    - {type: a, chartRepo: r, ecrChartName: c, version: '1'}\n    - {type: a}\n", `error duplicate-release v.yaml:4:7: release "a" of group "addons": given again, first at v.yaml:3:7; expected each type once`},
		{"number as version", "releases: {addons: [{type: a, chartRepo: r, ecrChartName: c, version: 1.10}]}\n", `error invalid-value v.yaml:1:71: key "version": is a number; expected text; put it in quotes: YAML reads 1.10 as 1.1`},
		{"number among the globals, reported once", "releases:\n  globals: {chartRepoRevision: 1.10, version: 2}\n  addons: [{type: a, chartRepo: r, ecrChartName: c}, {type: b, chartRepo: r, ecrChartName: c}]\n", `error invalid-value v.yaml:2:32: key "chartRepoRevision": is a number; expected text; put it in quotes: YAML reads 1.10 as 1.1
error invalid-value v.yaml:2:47: key "version": is a number; expected text; put it in quotes: YAML reads 1.10 as 1.1`},
		{"no list", "releases: {addons: {type: a}}\n", `error invalid-value v.yaml:1:20: key "addons": is a map; expected a list`},
		{"element", "releases: {addons: [a]}\n", "error invalid-value v.yaml:1:21: release of group \"addons\": is a string; expected a map\nerror invalid-versions v.yaml:1:21: release of group \"addons\": has no type; expected a type, for example \"default\""},
		{"unknown key", "relases: {}\n", `error unknown-key v.yaml:1:1: key "relases": not known in the versions file; did you mean "releases"?`},
		{"flag", "releases: {addons: [{type: a, use_helm_repo_path: maybe, chartRepo: r, ecrChartName: c, version: v}]}\n", `error invalid-value v.yaml:1:21: key "use_helm_repo_path": "maybe"; expected true or false`},
		{"lacks", "releases: {addons: [{type: a, use_helm_repo_path: true, chartRepo: r}]}\n", `warning incomplete-release v.yaml:1:21: release "a" of group "addons": lacks chartRepoUrl, chartRepoPath, chartRepoRevision; expected with use_helm_repo_path true: chartRepoUrl, chartRepoPath, chartRepoRevision`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := parse(t, c.text)
			assert.Equal(t, c.want, texts(problems))
		})
	}
}

func TestFleetSecrets(t *testing.T) {
	doc, err := yamldoc.Parse("f.yaml", []byte("releases:\n  - {type: b, chartRepo: r, ecrChartName: c, version: '2'}\n  - {type: default, chartRepo: r, ecrChartName: c, version: '1'}\n"))
	require.NoError(t, err)
	l, problems := ParseFleetSecrets(doc)
	r, err := l.Choose(nil)
	if len(problems) > 0 || err != nil || r.Source.TargetRevision != "1" || r.Pos.Line != 3 {
		t.Errorf("%v %v %v", r, problems, err)
	}
	if r, err := l.Choose(map[string]string{FleetSecretsLabel: "b"}); err != nil || r.Type != "b" {
		t.Error(r, err)
	}
	if r, err := (List{Group: "x"}).Choose(nil); err != nil || r.Type != DefaultType || r.Keys["type"] != DefaultType {
		t.Error(r, err)
	}
}
