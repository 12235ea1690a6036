// Package release reads the versions files and chooses the release of a cluster. A cluster with the
// label addonsRelease=canary is on the second release of this file, all others on the first:
//
//	# versions/applicationSets.yaml
//	releases:
//	  globals:
//	    chartRepoUrl: https://git.example.com/fleet
//	    chartRepoPath: charts/application-sets
//	  addons:
//	    - {type: default, chartRepoRevision: v1}
//	    - {type: canary, chartRepoRevision: v2}
//
// Callers may rely on the following:
//
//  1. `releases.globals` fill the keys that a release does not set.
//  2. A cluster's release of a group is its `<group>Release` label; without one, the release whose
//     type is "default", wherever it is in the list.
//  3. A label that names no release is only that cluster's unknown-release problem.
//  4. A group that the file does not mention has one release, "default", without any keys.
//  5. Values are passed through as text: numbers would reach templates as floating point.
package release

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// DefaultType is the type of the release that clusters without a label get.
const DefaultType = "default"

// Keys that Argosy itself reads; all others are passed through.
const (
	keyType             = "type"
	keyUseHelmRepoPath  = "use_helm_repo_path"
	keyChartRepoURL     = "chartRepoUrl"
	keyChartRepoPath    = "chartRepoPath"
	keyChartRepoRev     = "chartRepoRevision"
	keyChartRepo        = "chartRepo"
	keyECRChartName     = "ecrChartName"
	keyVersion          = "version"
	globals             = "globals"
	labelSuffix         = "Release"
	fleetSecretsDefault = "fleetSecrets"
)

// Release is a named version of a group.
type Release struct {
	Type string
	// Keys are all keys of the release, globals filled in, numbers and booleans as text.
	Keys map[string]any
	// Places are the places of the values of Keys.
	Places map[string]problem.Pos
	// Source is the place of the chart.
	Source Source
	Pos    problem.Pos
}

// Source is the place where Argo CD finds a chart: a path in Git, or a chart in a Helm repository
// or OCI registry.
type Source struct {
	RepoURL        string `json:"repoURL"`
	Path           string `json:"path"`
	Chart          string `json:"chart"`
	TargetRevision string `json:"targetRevision"`
}

// WithoutScheme returns the address of a chart's repository as Argo CD takes it: a registry without
// a scheme, to which Argo CD adds oci:// itself (argo-cd v2.14, util/helm/cmd.go).
func WithoutScheme(repoURL string) string { return strings.TrimPrefix(repoURL, "oci://") }

// List has the releases of one group. The zero value is a group that no file mentions.
type List struct {
	// Group is the group's name, or "fleetSecrets".
	Group    string
	Releases []Release
	// Pos is the place of the list.
	Pos problem.Pos
	// Declared reports whether the file has the list, even an empty one.
	Declared bool
}

// Versions is the content of versions/applicationSets.yaml.
type Versions struct{ groups map[string]List }

// LabelOf returns the label that chooses a cluster's release of a group.
func LabelOf(group string) string { return group + labelSuffix }

// FleetSecretsLabel is the label that chooses a cluster's release of the registration chart.
var FleetSecretsLabel = LabelOf(fleetSecretsDefault)

// Of returns the releases of a group.
func (v Versions) Of(group string) List {
	if l, ok := v.groups[group]; ok {
		return l
	}
	return List{Group: group}
}

// Groups returns the groups that the file mentions, sorted.
func (v Versions) Groups() []string { return slices.Sorted(maps.Keys(v.groups)) }

// undeclared is the release of all clusters of a group that the file does not mention.
var undeclared = Release{Type: DefaultType, Keys: map[string]any{keyType: DefaultType}}

// Choose returns the release of a cluster by its labels. The error is a problem.Problem without a
// cluster.
func (l List) Choose(labels map[string]string) (Release, error) {
	want, labelled := labels[LabelOf(l.Group)]
	if !labelled {
		want = DefaultType
	}
	for _, r := range l.Releases {
		if r.Type == want {
			return r, nil
		}
	}
	if !l.Declared && want == DefaultType {
		return undeclared, nil
	}
	p := problem.Problem{
		Reason: problem.UnknownRelease, Severity: problem.Error, Pos: l.Pos,
		Subject: fmt.Sprintf("release %q of group %q", want, l.Group), Found: "not in the versions file",
	}
	if !labelled {
		p.Found = fmt.Sprintf("not in the versions file, and the cluster has no label %q", LabelOf(l.Group))
	}
	types := make([]string, 0, len(l.Releases))
	for _, r := range l.Releases {
		types = append(types, r.Type)
	}
	if p.Hints = problem.Nearest(want, types); len(p.Hints) == 0 && len(types) > 0 {
		p.Expected = "one of " + strings.Join(types, ", ")
	}
	return Release{}, p
}

// ChooseSource is Choose for the chart that registers clusters: a release that the file lists must
// say where its chart is, because Argo CD cannot deploy an Application without a source.
func (l List) ChooseSource(labels map[string]string) (Release, error) {
	r, err := l.Choose(labels)
	if err != nil || !l.Declared || r.Source.RepoURL != "" && (r.Source.Path != "" || r.Source.Chart != "") {
		return r, err
	}
	return Release{}, problem.Problem{
		Reason: problem.IncompleteRelease, Severity: problem.Error, Pos: r.Pos, Subject: fmt.Sprintf("release %q of %s", r.Type, l.Group),
		Found: "does not say where its chart is", Expected: "chartRepoUrl and chartRepoPath, or chartRepo and ecrChartName",
	}
}

// ParseApplicationSets reads versions/applicationSets.yaml and reports all its problems.
func ParseApplicationSets(doc *yamldoc.Doc) (Versions, []problem.Problem) {
	r := yamldoc.NewReader(doc)
	root := r.Map(doc.Root, "the versions file")
	root.Known("apiVersion", "kind", "releases")
	releases := root.Map("releases")
	common := releases.Map(globals)
	checkText(r, common)
	v := Versions{groups: map[string]List{}}
	for _, f := range releases.Node().Fields() {
		if f.Key == globals {
			continue
		}
		v.groups[f.Key] = readList(r, f.Key, releases.KeyPos(f.Key), releases.List(f.Key), common.Node())
	}
	return v, r.Problems()
}

// ParseFleetSecrets reads versions/fleetSecrets.yaml: releases of the chart that registers members.
func ParseFleetSecrets(doc *yamldoc.Doc) (List, []problem.Problem) {
	r := yamldoc.NewReader(doc)
	root := r.Map(doc.Root, "the versions file")
	root.Known("apiVersion", "kind", "releases")
	l := readList(r, fleetSecretsDefault, root.KeyPos("releases"), root.List("releases"), nil)
	return l, r.Problems()
}

func readList(r *yamldoc.Reader, group string, pos problem.Pos, items []*yamldoc.Node, common *yamldoc.Node) List {
	l := List{Group: group, Pos: pos, Declared: true}
	seen := map[string]problem.Pos{}
	for _, item := range items {
		m := r.Map(item, fmt.Sprintf("release of group %q", group))
		rel := Release{Keys: map[string]any{}, Places: map[string]problem.Pos{}, Pos: item.Pos()}
		if common != nil {
			rel.fill(common)
		}
		rel.fill(m.Node())
		rel.Type = m.String(keyType)
		checkText(r, m)
		if rel.Type == "" {
			r.Add(problem.InvalidVersions, item, fmt.Sprintf("release of group %q", group), "has no type", `a type, for example "default"`)
			continue
		}
		if first, dup := seen[rel.Type]; dup {
			r.Add(problem.DuplicateRelease, item, fmt.Sprintf("release %q of group %q", rel.Type, group), "given again, first at "+first.String(), "each type once")
			continue
		}
		seen[rel.Type] = rel.Pos
		rel.Source = source(r, item, rel, group)
		l.Releases = append(l.Releases, rel)
	}
	return l
}

// checkText reports versions and revisions that YAML takes for numbers: 1.10 would become 1.1.
func checkText(r *yamldoc.Reader, m *yamldoc.MapReader) {
	for _, key := range []string{keyVersion, keyChartRepoRev, keyType} {
		if n := m.Node().Get(key); n != nil && n.Kind == yamldoc.Number {
			r.Add(problem.InvalidValue, n, fmt.Sprintf("key %q", key), "is a number", "text", "put it in quotes: YAML reads 1.10 as 1.1")
		}
	}
}

// fill adds keys and replaces existing ones; null removes a key.
func (r *Release) fill(m *yamldoc.Node) {
	for _, f := range m.Fields() {
		if f.Value.Kind == yamldoc.Null {
			delete(r.Keys, f.Key)
			continue
		}
		r.Keys[f.Key], r.Places[f.Key] = text(f.Value), f.Value.Pos()
		if is, ok := f.Value.Truth(); ok && f.Key == keyUseHelmRepoPath {
			r.Keys[f.Key] = strconv.FormatBool(is)
		}
	}
}

// text returns a value with numbers and booleans as the texts in the file.
func text(n *yamldoc.Node) any {
	switch n.Kind {
	case yamldoc.Map:
		m := make(map[string]any, len(n.Fields()))
		for _, f := range n.Fields() {
			m[f.Key] = text(f.Value)
		}
		return m
	case yamldoc.List:
		l := make([]any, len(n.Items()))
		for i, item := range n.Items() {
			l[i] = text(item)
		}
		return l
	case yamldoc.Null:
		return nil
	}
	return n.Text()
}

// source returns the place of the release's chart: Git when use_helm_repo_path is true or only
// Git's keys are given, else a Helm repository or OCI registry.
func source(r *yamldoc.Reader, item *yamldoc.Node, rel Release, group string) Source {
	get := func(key string) string { s, _ := rel.Keys[key].(string); return s }
	var git bool
	switch v := strings.ToLower(get(keyUseHelmRepoPath)); v {
	case "true", "false":
		git = v == "true"
	case "":
		git = get(keyChartRepo) == "" && get(keyChartRepoPath) != ""
	default:
		r.Add(problem.InvalidValue, item, fmt.Sprintf("key %q", keyUseHelmRepoPath), fmt.Sprintf("%q", v), "true or false")
	}
	s := Source{RepoURL: WithoutScheme(get(keyChartRepo)), Chart: get(keyECRChartName), TargetRevision: get(keyVersion)}
	need := []string{keyChartRepo, keyECRChartName, keyVersion}
	if git {
		s = Source{RepoURL: get(keyChartRepoURL), Path: get(keyChartRepoPath), TargetRevision: get(keyChartRepoRev)}
		need = []string{keyChartRepoURL, keyChartRepoPath, keyChartRepoRev}
	}
	var missing []string
	for _, key := range need {
		if get(key) == "" {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		r.Warn(problem.IncompleteRelease, item, fmt.Sprintf("release %q of group %q", rel.Type, group),
			"lacks "+strings.Join(missing, ", "), fmt.Sprintf("with %s %t: %s", keyUseHelmRepoPath, git, strings.Join(need, ", ")))
	}
	return s
}
