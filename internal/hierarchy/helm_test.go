package hierarchy

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/getter"

	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// floats turns exact numbers into those that Helm computes with.
func floats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = floats(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = floats(item)
		}
		return out
	case json.Number:
		f, _ := v.Float64()
		return f
	}
	return v
}

// helmValues is what `helm -f first -f second ...` takes for the values.
func helmValues(t testing.TB, dir string, files []string) map[string]any {
	t.Helper()
	var o values.Options
	for i, text := range files {
		p := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o600))
		o.ValueFiles = append(o.ValueFiles, p)
	}
	out, err := o.MergeValues(getter.Providers{})
	require.NoError(t, err)
	return out
}

// defaults are the chart's own values: null in a layer drops them.
var defaults = map[string]any{
	"a": map[string]any{"b": "default", "c": map[string]any{"a": "x"}, "image": "i"}, "b": "default", "c": []any{"d"},
	"image": map[string]any{"a": "default", "b": "default"}, "replicas": float64(3), "é": map[string]any{"é": "default"}, "only": "chart",
}

// quiet silences Helm's warnings about values that do not fit the chart's defaults.
func quiet(t *testing.T) {
	t.Helper()
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
}

func render(t testing.TB, vals map[string]any) string {
	t.Helper()
	c := &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: "v2", Name: "c", Version: "0.1.0"},
		Values:    defaults,
		Templates: []*chart.File{{Name: "templates/all.yaml", Data: []byte("{{ .Values | toPrettyJson }}")}},
	}
	in, err := chartutil.ToRenderValues(c, vals, chartutil.ReleaseOptions{Name: "r", Namespace: "n"}, nil)
	require.NoError(t, err)
	out, err := engine.Render(c, in)
	require.NoError(t, err)
	return out["c/templates/all.yaml"]
}

// checkAgainstHelm is rule H2: the merged tree is what Helm computes from the same files, and a
// chart rendered with our text is the chart rendered with the files.
func checkAgainstHelm(t testing.TB, dir string, files []string, templated bool) {
	t.Helper()
	tree := Merge(layersOf(t, files), nil)
	want := helmValues(t, dir, files)
	got, _ := tree.Root.Any().(map[string]any)
	if got == nil {
		got = map[string]any{}
	}
	require.Equal(t, any(want), floats(got), "files %q\nhelm and ours differ (-helm +ours)", files)
	// Helm has numbers as floating point; ours are exact (H9).
	exact := map[string]any{}
	for _, f := range files {
		exact = helmMerge(exact, readNumbers(t, []byte(f)))
	}
	require.Equal(t, exact, got, "files %q\nnumbers differ", files)
	text, err := tree.Root.YAML()
	require.NoError(t, err)
	if diff := cmp.Diff(exact, readNumbers(t, text)); diff != "" {
		t.Fatalf("files %q\nthe text is read as something else:\n%s\n%s", files, diff, text)
	}
	if !templated {
		return
	}
	ours, err := chartutil.ReadValues(text)
	require.NoError(t, err)
	require.Equal(t, render(t, want), render(t, ours), "files %q\nthe chart renders differently (-files +text)", files)
}

// TestHelmAgrees compares generated hierarchies of up to six layers.
func TestHelmAgrees(t *testing.T) { //nolint:tparallel // quiet changes the log of all
	quiet(t)
	all := cases.Times(400)
	const parts = 4
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for seed := part; seed < all; seed += parts {
				g := newGen(uint64(seed))
				files := make([]string, 1+g.r.IntN(6))
				for i := range files {
					files[i] = g.file()
				}
				checkAgainstHelm(t, dir, files, seed%10 == 0)
			}
		})
	}
}

// writtenCases are the cases that people ask about.
var writtenCases = map[string][]string{
	"null removes and stays null":  {"a: {b: 1, c: 2}\n", "a: {b: null}\n"},
	"null removes a map":           {"a: {b: 1}\n", "a: null\n"},
	"null then a map":              {"a: {b: 1}\n", "a:\n", "a: {c: 2}\n"},
	"null then a scalar":           {"a: {b: 1}\n", "a: ~\n", "a: x\n"},
	"null of nothing":              {"a: {}\n", "a: {x: null}\n"},
	"lists replace":                {"a: [1, 2, 3]\n", "a: [4]\n"},
	"empty list replaces":          {"a: [1]\n", "a: []\n"},
	"empty map changes nothing":    {"a: {b: 1}\n", "a: {}\n"},
	"map over scalar":              {"a: x\n", "a: {b: 1}\n"},
	"scalar over map":              {"a: {b: 1}\n", "a: x\n"},
	"list over map":                {"a: {b: 1}\n", "a: [b]\n"},
	"map over list":                {"a: [b]\n", "a: {b: 1}\n"},
	"empty text over map":          {"a: {b: 1}\n", "a: \"\"\n"},
	"false over true":              {"a: true\n", "a: false\n"},
	"keys of other types":          {"1: a\nyes: b\n", "\"1\": c\n\"true\": d\n"},
	"merge key over layers":        {"x: &x {k: 1, l: 1}\na: {<<: *x}\n", "a: {l: 2}\n"},
	"only comments between":        {"a: 1\n", "# nothing\n", "b: 2\n"},
	"no file has anything":         {"", "{}\n", "null\n"},
	"null in the most general one": {"a: {b: null}\nonly: null\n", "a: {c: 1}\n"},
}

func TestHelmAgreesOnWrittenCases(t *testing.T) {
	for name, files := range writtenCases {
		quiet(t)
		t.Run(name, func(t *testing.T) { checkAgainstHelm(t, t.TempDir(), files, true) })
	}
}
