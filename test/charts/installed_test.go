package charts_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/test/proven"
)

// installation is a chart with values that this repository installs.
type installation struct {
	of      string // who sets the values
	version string // of the chart
	values  map[string]any
}

// installations are those of a chart: the catalogs' entries, what the example fleet makes of them
// for each cluster, and terraform/hub's.
func installations(t *testing.T) map[string][]installation {
	t.Helper()
	out := map[string][]installation{}
	for _, group := range groups {
		for name, e := range entries(t, group) {
			out[e.Chart.Name] = append(out[e.Chart.Name], installation{catalog(group) + ": " + name, e.Chart.Version, e.Values})
		}
	}
	for key, set := range everything(t, buildFleet(t, nil, fleetFiles(t))).sets {
		of, _ := set["chart"].(map[string]any)
		name, _ := of["name"].(string)
		version, _ := of["version"].(string)
		values, _ := set["helmValues"].(map[string]any)
		out[name] = append(out[name], installation{"the example fleet: " + key, version, values})
	}
	for name, release := range terraformReleases(t) {
		out[name] = append(out[name], release)
	}
	for _, all := range out {
		slices.SortFunc(all, func(a, b installation) int { return strings.Compare(a.of, b.of) })
	}
	return out
}

// terraformReleases are the charts of others that terraform/hub installs, by name.
func terraformReleases(t *testing.T) map[string]installation {
	t.Helper()
	out := map[string]installation{}
	for name, variable := range map[string]string{"argo-cd": "argocd_version", "external-secrets": "external_secrets_version"} {
		file := repo + "/terraform/hub/values/" + name + ".yaml"
		values, err := chartutil.ReadValuesFile(file)
		require.NoError(t, err)
		out[name] = installation{file, terraformDefault(t, variable), values}
	}
	return out
}

// terraformDefault is the default of a variable of terraform/hub.
func terraformDefault(t *testing.T, variable string) string {
	t.Helper()
	text, err := os.ReadFile(repo + "/terraform/hub/variables.tf")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "variable \""+variable+"\" {")
	_, rest, _ = strings.Cut(rest, "default ")
	_, rest, _ = strings.Cut(rest, `"`)
	value, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("terraform/hub/variables.tf: variable %s has no default", variable)
	}
	return value
}

// TestChartsInstallWhatRuns: each chart whose program our proofs run installs that very version,
// and has a key for each value that we set. A chart in its program's module renders with them.
func TestChartsInstallWhatRuns(t *testing.T) {
	facts, err := proven.Read(repo)
	require.NoError(t, err)
	installed := installations(t)
	for _, c := range facts.Charts {
		t.Run(c.Name, func(t *testing.T) {
			folder, own, known := chartKeys(t, c)
			all := installed[c.Name]
			if len(all) == 0 {
				all = []installation{{of: "no catalog", version: c.Release(own)}} // its defaults render
			}
			var rendered []map[string]any
			for _, i := range all {
				if want := c.Release(own); i.version != want {
					t.Errorf("%s: chart %s %s; expected %s, of %s %s, which runs", i.of, c.Name, i.version, want, c.Programs[0].Name, c.Programs[0].Component.Version)
				}
				for _, p := range c.Programs {
					if got := at(i.values, p.Value); p.Value != "" && got != p.Component.Version {
						t.Errorf("%s: %s is %v; expected %s, the version of %s that runs", i.of, p.Value, got, p.Component.Version, p.Name)
					}
				}
				for _, key := range unknownKeys(i.values, known, c.Open, "") {
					t.Errorf("%s: chart %s %s has no value %s; expected a key of its values.yaml", i.of, c.Name, i.version, key)
				}
				if folder == "" || slices.ContainsFunc(rendered, func(v map[string]any) bool { return cmp.Equal(v, i.values) }) {
					continue
				}
				rendered = append(rendered, i.values)
				text, err := yaml.Marshal(i.values)
				require.NoError(t, err)
				docs, _, err := rendering{Namespace: c.Name, KubeVersion: "1.36.0"}.render(folder, valuesFile(t, string(text)))
				if err != nil {
					t.Errorf("%s: chart %s does not render: %v", i.of, c.Name, err)
				} else if len(docs) == 0 {
					t.Errorf("%s: chart %s renders nothing", i.of, c.Name)
				}
			}
		})
	}
}

// chartKeys are the values that a chart has, by nested keys, from its folder or as recorded, with
// the version in its Chart.yaml.
func chartKeys(t *testing.T, c proven.Chart) (folder, version string, known map[string]any) {
	t.Helper()
	if c.Recorded != nil {
		known = map[string]any{}
		for _, key := range c.Recorded.Keys {
			m, names := known, strings.Split(key, "/")
			for i, name := range names {
				name = strings.ReplaceAll(name, "~1", "/")
				if i == len(names)-1 {
					m[name] = nil
					break
				}
				if m[name] == nil {
					m[name] = map[string]any{}
				}
				m = m[name].(map[string]any)
			}
		}
		return "", c.Recorded.Version, known
	}
	folder, err := c.Dir(t.Context(), repo)
	require.NoError(t, err)
	loaded, err := loader.LoadDir(folder)
	require.NoError(t, err)
	if program := c.Programs[0].Component; c.Version == "" && strings.TrimPrefix(loaded.Metadata.AppVersion, "v") != strings.TrimPrefix(program.Version, "v") {
		t.Errorf("%s/Chart.yaml: appVersion %s; expected %s: say the chart's version in %s", c.Folder, loaded.Metadata.AppVersion, program.Version, proven.File)
	}
	return folder, loaded.Metadata.Version, allValues(t, loaded)
}

// allValues are a chart's default values with those of the charts in it.
func allValues(t *testing.T, c *chart.Chart) map[string]any {
	t.Helper()
	values, err := chartutil.CoalesceValues(c, nil)
	require.NoError(t, err)
	return values
}

// unknownKeys are the paths of values that a chart has no key for. What the chart leaves empty, and
// what is open, takes any key.
func unknownKeys(values, known map[string]any, open []string, prefix string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		path := prefix + escape(key)
		below, ok := known[key]
		if !ok {
			out = append(out, path)
			continue
		}
		ours, _ := values[key].(map[string]any)
		theirs, _ := below.(map[string]any)
		if len(theirs) > 0 && !slices.Contains(open, path) {
			out = append(out, unknownKeys(ours, theirs, open, path+"/")...)
		}
	}
	return out
}

// escape is a key in a path.
func escape(key string) string { return strings.ReplaceAll(key, "/", "~1") }

// at is the value at a path.
func at(values map[string]any, path string) any {
	var v any = values
	for _, name := range strings.Split(path, "/") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func TestUnknownKeys(t *testing.T) {
	t.Parallel()
	known := map[string]any{"a": map[string]any{"b": 1, "c": map[string]any{}, "x/y": nil}, "d": map[string]any{"e": 1}}
	for text, want := range map[string]string{
		"{}":                               "",
		"{a: {b: 2, c: {any: 1}, x/y: 1}}": "",
		"{a: {b: {deeper: 1}}, d: null}":   "",
		"{a: {z: 1}, q: {b: 1}}":           "a/z q",
		"{d: {other: 1}}":                  "",
		"{a: {s/t: 1}}":                    "a/s~1t",
	} {
		var values map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &values))
		assert.Equal(t, want, strings.Join(unknownKeys(values, known, []string{"d"}, ""), " "), "%s", text)
	}
}

// chartFolder is a chart whose keys to record.
var chartFolder = flag.String("chart", "", "with -run TestRecordChartKeys: folder of a chart whose values' keys to record")

// TestRecordChartKeys writes the keys of a chart's values, without their text, where the chart is
// in no module: go test ./test/charts -run TestRecordChartKeys -chart FOLDER
func TestRecordChartKeys(t *testing.T) {
	if *chartFolder == "" {
		t.Skip("-chart FOLDER records the keys of the chart in it")
	}
	c, err := loader.LoadDir(*chartFolder)
	require.NoError(t, err)
	record := proven.Record{Chart: c.Name(), Version: c.Metadata.Version, AppVersion: c.Metadata.AppVersion, Read: time.Now().UTC().Format(time.DateOnly)}
	var walk func(values map[string]any, prefix string)
	walk = func(values map[string]any, prefix string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if below, _ := values[key].(map[string]any); len(below) > 0 {
				walk(below, prefix+escape(key)+"/")
			} else {
				record.Keys = append(record.Keys, prefix+escape(key))
			}
		}
	}
	walk(allValues(t, c), "")
	text, err := yaml.Marshal(record)
	require.NoError(t, err)
	file := filepath.Join(repo, proven.Keys, c.Name()+".yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, text, 0o644))
}
