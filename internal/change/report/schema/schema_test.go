package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	jsonschema "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/change/report/lintreport"
	"github.com/argosy-hub/argosy/internal/change/report/planreport"
	"github.com/argosy-hub/argosy/internal/change/report/schema"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var update = flag.Bool("update", false, "rewrite docs/schemas")

const committed = "../../../../docs/schemas"

// The committed schemas are those that the types give.
func TestSchemasAreUpToDate(t *testing.T) {
	schemas, err := schema.Generate("../../..")
	require.NoError(t, err)
	for name, want := range schemas {
		file := filepath.Join(committed, name)
		if *update {
			require.NoError(t, os.WriteFile(file, want, 0o644))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go test ./internal/change/report/schema -update", file)
		}
	}
}

func TestOutputsAreValid(t *testing.T) {
	lint := func(ps ...problem.Problem) lintreport.Report { return lintreport.New("r1", ps, 1, 2) }
	full := problem.Problem{
		Reason: problem.TypeConflict, Severity: problem.Warning, Pos: problem.Pos{File: "a.yaml", Line: 1, Column: 2}, Subject: "s",
		Found: "f", Expected: "e", Hints: []string{"h"}, Related: []problem.Pos{{File: "b.yaml"}}, Hub: "h", Cluster: "c",
	}
	for name, c := range map[string]struct {
		schema   string
		envelope any
	}{
		"lint without findings":                   {"lint-report.json", lint()},
		"lint with findings":                      {"lint-report.json", lint(full, problem.Problem{Reason: problem.NoMembers, Severity: problem.Error})},
		"explanation":                             {"explanation.json", explanation(t, "web")},
		"explanation of one value":                {"explanation.json", explanation(t, "web", "replicas")},
		"explanation of a component switched off": {"explanation.json", explanation(t, "idle")},
		"explanation of the registration":         {"explanation.json", explanation(t, "fleet-secret")},
		"holds":                                   {"hold-list.json", holds(t)},
		"plan":                                    {"plan.json", planned(t, "r2")},
		"plan without changes":                    {"plan.json", planned(t, "r1")},
		"version":                                 {"version.json", report.Version{APIVersion: report.APIVersion, Kind: report.KindVersion, Version: "v1", Go: runtime.Version(), Platform: "x/y"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.NoError(t, validate(t, c.schema, c.envelope))
		})
	}
	t.Run("the schema refuses", func(t *testing.T) {
		bad := lint()
		bad.Kind = "Other"
		if err := validate(t, "lint-report.json", bad); err == nil {
			t.Error("another kind is accepted")
		}
	})
}

// holds is a list with a hold of each reason.
func holds(t *testing.T) hold.List {
	t.Helper()
	l := hold.List{APIVersion: report.APIVersion, Kind: hold.Kind, Revision: "r1", Since: time.Now(), RestrictedTo: &hold.Restriction{Hubs: []string{"h"}}, Stale: []hold.Stale{{Cause: "facts", Since: time.Now(), Detail: "d"}}}
	for _, reason := range hold.Reasons {
		l.Items = append(l.Items, hold.Hold{Reason: reason, Cluster: "c", Detail: "d", Position: problem.Pos{File: "f", Line: 1}, Since: time.Now()})
	}
	l.Items = hold.Sorted(l.Items)
	l.Summary = hold.Summarize(l.Items)
	return l
}

// planned is a plan from r1 to r1, or to r2 which has every kind of change.
func planned(t *testing.T, head string) planreport.Plan {
	t.Helper()
	member := func(name, more string) string {
		return "clusterName: " + name + "\ntenant: t\nenvironment: dev\n" + more
	}
	revisions := map[string]map[string]string{
		"r1": {
			"fleet/fleet-members/h/a.yaml":                 member("a", ""),
			"fleet/fleet-members/h/b.yaml":                 member("b", ""),
			"fleet/fleet-members/h/c.yaml":                 member("c", ""),
			"addons/defaults/application-sets/addons.yaml": "web: {enabled: true, chart: {repoURL: r, path: p, version: v1}}\n",
			"versions/applicationSets.yaml":                "releases: {addons: [{type: default}, {type: canary}]}\n",
		},
		"r2": {
			"fleet/fleet-members/h/a.yaml":                 member("a", "labels: {addonsRelease: canary}\nannotations: {note: x}\n"),
			"fleet/fleet-members/h/b.yaml":                 member("b", "lifecycle: retired\n"),
			"fleet/fleet-members/h/d.yaml":                 member("d", "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"),
			"addons/defaults/application-sets/addons.yaml": "web: {enabled: true, chart: {repoURL: r, path: p, version: v1}, values: {a: null, b: [1]}}\n",
			"versions/applicationSets.yaml":                "releases: {addons: [{type: default}, {type: canary, more: {deep: [1]}}]}\n",
		},
	}
	state := func(name string) *fleetstate.State {
		st, err := fleetstate.Build(nil, snapshot.FromMap(revisions[name]), facts.Set{})
		require.NoError(t, err)
		return st
	}
	p := plan.Compare(state("r1"), state(head), nil)
	out := planreport.New(planreport.Revision{Name: "main", Revision: "r1"}, planreport.Revision{Revision: head}, p)
	if s := out.Summary; head == "r2" && (s.Clusters.Create == 0 || s.Clusters.Change == 0 || s.Applications.Move == 0 || s.Removals.Lost == 0 || s.Removals.Retired == 0) {
		t.Errorf("not every kind of change: %+v", s)
	}
	return out
}

func validate(t *testing.T, name string, envelope any) error {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(committed, name))
	require.NoError(t, err)
	text, err := json.Marshal(envelope)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return s.Validate(value)
}

func explanation(t *testing.T, component string, path ...string) explain.Explanation {
	t.Helper()
	st, err := fleetstate.Build(nil, snapshot.FromMap(map[string]string{
		"fleet/fleet-members/h/a.yaml": "clusterName: a\ntenant: t\nenvironment: dev\nlabels: {addonsRelease: default}\n",
		"addons/defaults/application-sets/addons.yaml": `components:
  idle: {enabled: false}
  web:
    enabled: true
    chart: {repoURL: https://charts.example.com, name: web, version: 1.0.0}
    selector: {matchLabels: {tenant: t}, matchExpressions: [{key: none, operator: DoesNotExist}]}
`,
		"addons/defaults/addons/web/values.yaml":                     "replicas: 1\nbig: 123456789012345678901\nempty: {}\nlist: [1, null]\n",
		"addons/tenants/t/defaults/addons/web/values.yaml":           "replicas: 2\nbig: null\n",
		"addons/tenants/t/environments/dev/addons/web/values.yaml":   "replicas: {min: 1}\n",
		"addons/tenants/t/clusters/a/addons/web/values.yaml":         "replicas: 3\n",
		"addons/tenants/t/clusters/a/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {x: y}}\n",
	}), facts.Set{})
	require.NoError(t, err)
	group := "addons"
	if component == "fleet-secret" {
		group = "fleet"
	}
	e, err := explain.Component(st, explain.Target{Cluster: "a", Group: group, Component: component}, path)
	require.NoError(t, err)
	return e
}

// The repository's layouts are valid, and what the loader refuses for its form is not.
func TestLayoutsAreValid(t *testing.T) {
	compiled, err := jsonschema.NewCompiler().Compile(filepath.Join(committed, "layout.json"))
	require.NoError(t, err)
	check := func(name string, data []byte) error {
		doc, err := yamldoc.Parse(name, data)
		require.NoError(t, err)
		text, err := json.Marshal(doc.Root.Any())
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		return compiled.Validate(value)
	}
	for _, name := range []string{"fleet/layout.yaml", "examples/minimal/fleet/layout.yaml", "examples/fleet/fleet/layout.yaml", "cmd/argosy/testdata/fleet/fleet/layout.yaml", "internal/fleet/default_layout.yaml"} {
		data, err := os.ReadFile("../../../../" + name)
		require.NoError(t, err)
		assert.NoError(t, check(name, data), "%s", name)
	}
	for text, good := range map[string]bool{
		"versions: null\ngroups: {fleet: null, addons: {catalog: [a.yaml, b.yaml]}}\nhubs: {hub: {tenant: t, environment: e}}\nmerge: [{path: a, strategy: {by-key: name}}]\nguard: {maxRemovals: 3}\n": true,
		"tenantSchemas: {addons/web: null}\n": true,
		"level: []\n":                         false,
		"levels: []\n":                        false,
		"levels: [{name: a}]\n":               false,
		"catalogValues: middle\n":             false,
		"files: {value: x}\n":                 false,
		"mounts: {m: {url: a}}\n":             false,
		"guard: {maxRemovals: [1]}\n":         false,
	} {
		if err := check("layout", []byte(text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
