package generator

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// tree is a repository: path to content.
type tree map[string]string

// with is a copy with more or other files; an empty content removes one.
func (f tree) with(more tree) tree {
	out := maps.Clone(f)
	for p, c := range more {
		if c == "" {
			delete(out, p)
			continue
		}
		out[p] = c
	}
	return out
}

// small is a fleet of one hub and two members with one component in each of two groups.
func small() tree {
	return tree{
		"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\n",
		"versions/applicationSets.yaml": `releases:
  globals: {chartRepoUrl: https://git.example/argosy, chartRepoPath: charts/application-sets, use_helm_repo_path: "true"}
  addons:
    - {type: canary, chartRepoRevision: v2}
    - {type: default, chartRepoRevision: v1}
`,
		"versions/fleetSecrets.yaml":       "releases: [{type: default, chartRepo: r, ecrChartName: fleet-secret, version: 1.0.0}]\n",
		"fleet/fleet-members/hub/hub.yaml": "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		member("one"):                      "{clusterName: one, tenant: retail, environment: prod}\n",
		member("two"):                      "{clusterName: two, tenant: retail, environment: dev, labels: {addonsRelease: canary}}\n",
		"addons/defaults/application-sets/addons.yaml": `dns: {enabled: true, chart: {repoURL: https://charts.example, name: dns, version: 1.0.0}}
`,
		"addons/defaults/addons/dns/values.yaml": "from: system\nsystem: true\n",
	}
}

func member(name string) string { return "fleet/fleet-members/hub/" + name + ".yaml" }

// spoke is a member file of tenant retail in prod, with further keys.
func spoke(name, more string) string {
	return "clusterName: " + name + "\ntenant: retail\nenvironment: prod\n" + more
}

func snap(files tree) *snapshot.Snapshot { return snapshot.New("rev", filesOf(files)) }

func filesOf(files tree) map[string]*snapshot.File {
	m := make(map[string]*snapshot.File, len(files))
	for p, c := range files {
		m[p] = snapshot.NewFile(p, []byte(c), snapshot.MaxFileSize)
	}
	return m
}

func build(t testing.TB, files tree, clusters ...facts.Cluster) *State {
	t.Helper()
	st, err := Build(nil, snap(files), facts.NewSet(false, clusters...))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// noProblems fails when the state has any.
func noProblems(t testing.TB, st *State) *State {
	t.Helper()
	for _, p := range st.Problems {
		t.Errorf("%s %s", p.Reason, p.Error())
	}
	return st
}

func request(t testing.TB, parameters string) Request {
	t.Helper()
	r, err := ParseRequest([]byte(parameters), "hub")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type paramSet map[string]any

func (s paramSet) text(key string) string { v, _ := s[key].(string); return v }

// label is one of the cluster's labels, "absent" when there is none.
func (s paramSet) label(key string) string { return s.metadata("labels", key) }

func (s paramSet) annotation(key string) string { return s.metadata("annotations", key) }

func (s paramSet) metadata(kind, key string) string {
	if v, ok := s["metadata"].(map[string]any)[kind].(map[string]any)[key]; ok {
		return v.(string)
	}
	return "absent"
}

// ask returns the answer's sets by application name.
func ask(t testing.TB, st *State, parameters string) map[string]paramSet {
	t.Helper()
	b, err := st.Answer(request(t, parameters))
	if err != nil {
		t.Fatalf("%s: %v", parameters, err)
	}
	var answer struct {
		Output struct{ Parameters []paramSet }
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		t.Fatal(err)
	}
	out := map[string]paramSet{}
	for _, s := range answer.Output.Parameters {
		name := s.text("applicationName")
		if _, dup := out[name]; dup {
			t.Errorf("%s: two sets are called %q", parameters, name)
		}
		out[name] = s
	}
	return out
}

// names are the application names of an answer, sorted.
func names(t testing.TB, st *State, parameters string) string {
	t.Helper()
	return strings.Join(sortedKeys(ask(t, st, parameters)), " ")
}

// refused is the error of a request that must have none.
func refused(t testing.TB, st *State, parameters string) string {
	t.Helper()
	b, err := st.Answer(request(t, parameters))
	if err == nil {
		t.Fatalf("%s is answered: %s", parameters, b)
	}
	return err.Error()
}

// problemTexts are problems as lines.
func problemTexts(ps []problem.Problem) string {
	var lines []string
	for _, p := range ps {
		lines = append(lines, string(p.Reason)+" "+p.Error())
	}
	return strings.Join(lines, "\n")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
