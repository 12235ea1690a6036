package tenancy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func check(t *testing.T, s *Schema, text string) string {
	t.Helper()
	doc, err := yamldoc.Parse("values.yaml", []byte(text))
	require.NoError(t, err)
	var out []string
	for _, p := range s.Check(doc.Root, "component") {
		out = append(out, p.Pos.String()+" "+p.Found)
	}
	return strings.Join(out, "\n")
}

// TestCheckNamesEachPlace: every value that a schema does not allow is reported once, at its key.
func TestCheckNamesEachPlace(t *testing.T) {
	s, err := ParseSchema("tenant.schema.json", []byte(`{"type": "object", "additionalProperties": false, "properties": {
		"a": {"type": "object", "patternProperties": {"^x": false}}, "list": {"type": "array", "items": {"type": "string"}}}}`))
	require.NoError(t, err)
	const is = " is set by a tenant's file"
	for text, want := range map[string]string{
		"":                          "",
		"a: {b: 1}\nlist: [x]\n":    "",
		"a:\n  b: 1\n  xy: 2\n":     `values.yaml:3:3 value "a.xy"` + is,
		"c: 1\nb:\n  c: 1\na: {}\n": `values.yaml:1:1 value "c"` + is + "\n" + `values.yaml:2:1 value "b"` + is,
		"a: null\n":                 `values.yaml:1:1 value "a"` + is,
		"list: [1, 2]\n":            `values.yaml:1:1 value "list.0"` + is,
	} {
		assert.Equal(t, want, check(t, s, text), "%q", text)
	}
	assert.Contains(t, check(t, NothingAllowed(), "a: null\n"), `value "a"`, "a chart without a schema allows")
}

// TestSchemaLoadsNothing: a schema refers to nothing outside of itself.
func TestSchemaLoadsNothing(t *testing.T) {
	for _, ref := range []string{"https://example.com/s.json", "file:///etc/passwd", "other.json"} {
		if _, err := ParseSchema("s", []byte(`{"$ref": "`+ref+`"}`)); err == nil || !strings.Contains(err.Error(), "nothing outside") {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := ParseSchema("s", []byte(`{`)); err == nil {
		t.Error("no JSON is a schema")
	}
}

// TestSchemaNeedsNoWorkingDirectory: the same schema is good wherever the program runs, also in a
// folder that is gone (G6).
func TestSchemaNeedsNoWorkingDirectory(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Mkdir(gone, 0o700))
	t.Chdir(gone)
	require.NoError(t, os.Remove(gone))
	if _, err := ParseSchema("tenant.schema.json", []byte(`{"type": "object"}`)); err != nil {
		t.Error(err)
	}
}
