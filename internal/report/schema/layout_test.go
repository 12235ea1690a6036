package schema_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonschema "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// strangers is a layout with an unknown key in each map. A line is one map.
const strangers = `apiVersion: argosy.dev/v1alpha1
stranger_: 1
versions: {stranger_: 1}
groups: {addons: {stranger_: 1}}
levels: [{name: a, dir: a, stranger_: 1}]
hubLevels: [{name: a, dir: a, stranger_: 1}]
files: {stranger_: 1}
merge: [{path: a, strategy: append, stranger_: 1}]
guard: {stranger_: 1}
secretNames: {stranger_: 1}
lint: {stranger_: 1}
mounts: {m: {url: "https://git.example.com/a.git", team: t, stranger_: 1}}
catalogMapping:
  stranger_: 1
  keys: {stranger_: 1}
  source: {repoURL: a, revision: b, stranger_: 1}
  companions:
    a: {from: b, stranger_: 1}
    b: {from: c, keys: {stranger_: 1}}
    c: {from: c, flag: d, chart: {path: e, stranger_: 1}}
`

// The schema of the layout has exactly the keys that the loader knows, map by map. The loader lists
// them where it refuses another one.
func TestLayoutSchemaHasTheLoadersKeys(t *testing.T) {
	mapOf := map[int]string{
		2: "LayoutDocument", 3: "LayoutVersions", 4: "LayoutGroup", 5: "LayoutLevel", 6: "LayoutLevel", 7: "LayoutFiles", 8: "LayoutMerge", 9: "LayoutGuard",
		10: "LayoutSecretNames", 11: "LayoutLint", 12: "LayoutMount", 14: "LayoutCatalogMapping", 15: "LayoutMappedKeys", 16: "LayoutMappedSource", 18: "LayoutMappedCompanion", 19: "LayoutMappedCompanionsKeys", 20: "LayoutMappedChart",
	}
	doc, err := yamldoc.Parse("layout", []byte(strangers))
	if err != nil {
		t.Fatal(err)
	}
	_, err = fleet.ParseLayout(doc)
	loader, schema := map[string][]string{}, map[string][]string{}
	for _, p := range problem.From(err, "", problem.Pos{}) {
		if p.Reason == problem.UnknownKey && strings.Contains(p.Subject, "stranger_") {
			keys := strings.Split(strings.TrimPrefix(p.Expected, "one of "), ", ")
			slices.Sort(keys)
			loader[mapOf[p.Pos.Line]] = keys
		}
	}
	for name, keys := range definitions(t) {
		schema[name] = keys
	}
	if diff := cmp.Diff(loader, schema); diff != "" {
		t.Errorf("the loader (-) and docs/schemas/layout.json (+):\n%s", diff)
	}
}

// definitions are the keys of the schema's maps.
func definitions(t *testing.T) map[string][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(committed, "layout.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	value, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for name, d := range value.(map[string]any)["$defs"].(map[string]any) {
		out[name] = slices.Sorted(maps.Keys(d.(map[string]any)["properties"].(map[string]any)))
	}
	return out
}

// The repository's layouts are valid, and what the loader refuses for its form is not.
func TestLayoutsAreValid(t *testing.T) {
	compiled, err := jsonschema.NewCompiler().Compile(filepath.Join(committed, "layout.json"))
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, data []byte) error {
		doc, err := yamldoc.Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(doc.Root.Any())
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(value)
	}
	for _, name := range []string{"fleet/layout.yaml", "examples/minimal/fleet/layout.yaml", "examples/fleet/fleet/layout.yaml", "cmd/argosy/testdata/fleet/fleet/layout.yaml", "internal/fleet/default_layout.yaml"} {
		data, err := os.ReadFile("../../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(name, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, good := range map[string]bool{
		"versions: null\ngroups: {fleet: null, addons: {catalog: [a.yaml, b.yaml]}}\nhubs: {hub: {tenant: t, environment: e}}\nmerge: [{path: a, strategy: {by-key: name}}]\nguard: {maxRemovals: 3}\n": true,
		"catalogMapping: {keys: {chart.name: [chart, name], namespace: null}, underscoresToDashes: true}\ntenantSchemas: {addons/web: null}\n":                                                          true,
		"level: []\n":                 false,
		"levels: []\n":                false,
		"levels: [{name: a}]\n":       false,
		"catalogValues: middle\n":     false,
		"files: {value: x}\n":         false,
		"mounts: {m: {url: a}}\n":     false,
		"guard: {maxRemovals: [1]}\n": false,
	} {
		if err := check("layout", []byte(text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
