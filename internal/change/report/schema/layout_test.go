package schema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	jsonschema "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

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
