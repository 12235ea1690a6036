package helm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Schemas that refer to nothing outside have Helm's own findings, whose order is any.
func TestSchemasAsHelm(t *testing.T) {
	schemas := map[string]string{
		"types":              `{"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["c"]}`,
		"a local reference":  `{"$defs": {"n": {"minimum": 3}}, "properties": {"a": {"$ref": "#/$defs/n"}}}`,
		"an anchor":          `{"$defs": {"n": {"$anchor": "n", "minimum": 3}}, "properties": {"a": {"$ref": "#n"}}}`,
		"an id":              `{"$id": "https://example.com/x.json", "$defs": {"n": {"$id": "n.json", "minimum": 3}}, "properties": {"a": {"$ref": "n.json"}}}`,
		"recursion":          `{"properties": {"sub": {"$ref": "#"}, "a": {"minimum": 3}}}`,
		"draft 4":            `{"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"minimum": 1, "exclusiveMinimum": true}}}`,
		"draft 7":            `{"$schema": "http://json-schema.org/draft-07/schema#", "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["x"]}}`,
		"draft 2019-09":      `{"$schema": "https://json-schema.org/draft/2019-09/schema", "properties": {"b": {"format": "ipv4", "pattern": "^b$"}}}`,
		"its own meta":       `{"$ref": "http://json-schema.org/draft-07/schema#"}`,
		"no other keys":      `{"additionalProperties": false}`,
		"no schema":          `{"type": 7}`,
		"no JSON":            `{`,
		"nothing":            ``,
		"a missing pointer":  `{"$ref": "#/$defs/none"}`,
		"a broken pattern":   `{"properties": {"b": {"pattern": "("}}}`,
		"true":               `true`,
		"false":              `false`,
		"a duplicate id":     `{"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}}`,
		"numbers":            `{"properties": {"a": {"multipleOf": 0.1, "maximum": 1e400}}}`,
		"a list of anything": `{"properties": {"l": {"items": {"type": "string"}, "uniqueItems": true}}}`,
	}
	for name, schema := range schemas {
		for _, values := range []map[string]any{
			{}, {"a": float64(1), "b": "b"}, {"a": "x", "b": float64(2), "c": nil}, {"a": int64(5), "sub": map[string]any{"a": float64(1)}}, {"l": []any{"a", "a", float64(1)}},
		} {
			c := &chart.Chart{Metadata: &chart.Metadata{Name: "top"}}
			below := &chart.Chart{Metadata: &chart.Metadata{Name: "sub"}, Schema: []byte(schema)}
			if name != "nothing" {
				c.Schema = []byte(schema)
			}
			c.AddDependency(below)
			all := map[string]any{"sub": map[string]any{}}
			for k, v := range values {
				all[k] = v
			}
			_, want := chartutil.ToRenderValues(c, all, chartutil.ReleaseOptions{}, nil)
			coalesced, err := chartutil.CoalesceValues(c, all)
			require.NoError(t, err)
			got := checkSchemas(c, coalesced)
			if words(want) != words(got) {
				t.Errorf("%s %v:\n%v\nHelm: %v", name, values, got, want)
			}
		}
	}
}

// words are the words of an error in order.
func words(err error) string {
	all := strings.FieldsFunc(fmt.Sprint(err), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '/' })
	slices.Sort(all)
	return strings.Join(all, " ")
}

// What is outside is not loaded, wherever a schema may name it.
func TestSchemaOutsideIsNotLoaded(t *testing.T) {
	for _, schema := range []string{
		`{"$ref": "https://example.com/x.json"}`, `{"$ref": "file:///etc/passwd"}`, `{"$ref": "other.json"}`, `{"$ref": "/dev/zero"}`,
		`{"$schema": "https://example.com/meta.json"}`, `{"properties": {"a": {"anyOf": [{"$ref": "urn:x:y"}]}}}`, `{"$dynamicRef": "https://example.com/x.json#y"}`,
		`{"$id": "https://example.com/a/", "$ref": "b.json"}`, `{"$defs": {"x": {"$schema": "ftp://example.com/meta"}}}`,
	} {
		loader := &refusingLoader{}
		if err := checkSchema([]byte(schema), map[string]any{}, loader); err == nil || loader.refused == "" {
			t.Errorf("%s: %v, refused %q", schema, err, loader.refused)
		}
	}
}
