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

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// strangers is a mapping with an unknown key in each map. A line is one map.
const strangers = `catalogMapping:
  stranger_: 1
  keys: {stranger_: 1}
  source: {repoURL: a, revision: b, stranger_: 1}
  companions:
    a: {from: b, stranger_: 1}
    b: {from: c, keys: {stranger_: 1}}
    c: {from: c, flag: d, chart: {path: e, stranger_: 1}}
`

// The schema of a layout's mapping has exactly the keys that the loader knows, map by map. The
// loader lists them where it refuses another one. The rest of the schema is made of what reads it.
func TestLayoutSchemaHasTheLoadersKeys(t *testing.T) {
	mapOf := map[int]string{
		2: "LayoutCatalogMapping", 3: "LayoutMappedKeys", 4: "LayoutMappedSource", 6: "LayoutMappedCompanion", 7: "LayoutMappedCompanionsKeys", 8: "LayoutMappedChart",
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
		if loader[name] != nil {
			schema[name] = keys
		}
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
		data, err := os.ReadFile("../../../../" + name)
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
