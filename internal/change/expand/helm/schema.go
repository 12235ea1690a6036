package helm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// schemaURL is the address of a chart's own schema.
const schemaURL = "file:///values.schema.json"

// checkSchemas checks values against the schemas of a chart and its dependencies, as Helm does.
// Helm's own check follows a reference to any file or server; this one follows none outside the
// schema.
//
// Source: helm.sh/helm/v3 v3.18, pkg/chartutil/jsonschema.go, ValidateAgainstSchema.
func checkSchemas(c *chart.Chart, values map[string]any) error {
	var wrong strings.Builder
	if err := checkEach(c, values, &wrong); err != nil {
		return err
	}
	if wrong.Len() > 0 {
		return fmt.Errorf("values don't meet the specifications of the schema(s) in the following chart(s):\n%s", wrong.String())
	}
	return nil
}

// checkEach adds the findings of a chart and its dependencies. It returns an error for a reference
// that is not followed.
func checkEach(c *chart.Chart, values map[string]any, wrong *strings.Builder) error {
	if c.Schema != nil {
		outside := &refusingLoader{}
		err := checkSchema(c.Schema, values, outside)
		switch {
		case outside.refused != "":
			return source.NotFollowed{
				Text: fmt.Sprintf("values.schema.json of chart %s refers to %s, which is not loaded", c.Name(), source.Shown(outside.refused)),
				Hint: "put the referenced schema into values.schema.json itself, under $defs",
			}
		case err != nil:
			fmt.Fprintf(wrong, "%s:\n%s", c.Name(), err)
		}
	}
	for _, d := range c.Dependencies() {
		below, ok := values[d.Name()].(map[string]any)
		if !ok {
			return fmt.Errorf("the values of dependency %s are not a map", d.Name())
		}
		if err := checkEach(d, below, wrong); err != nil {
			return err
		}
	}
	return nil
}

func checkSchema(text []byte, values map[string]any, loader jsonschema.URLLoader) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("unable to validate schema: %s", r)
		}
	}()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(loader)
	if err := compiler.AddResource(schemaURL, schema); err != nil {
		return err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return err
	}
	if err := compiled.Validate(values); err != nil {
		var found *jsonschema.ValidationError
		if errors.As(err, &found) {
			sortFindings(found)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "jsonschema validation failed with '"+schemaURL+"#'\n") + "\n")
	}
	return nil
}

// sortFindings sorts findings, which the library returns in any order, to get the same text.
func sortFindings(e *jsonschema.ValidationError) {
	if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		slices.Sort(k.Properties)
	}
	for _, c := range e.Causes {
		sortFindings(c)
	}
	slices.SortStableFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(slices.Compare(a.InstanceLocation, b.InstanceLocation), cmp.Compare(a.SchemaURL, b.SchemaURL))
	})
}

// refusingLoader loads nothing, and records the first address that it refused. JSON Schema's
// meta-schemas are built in and do not reach it.
type refusingLoader struct{ refused string }

func (l *refusingLoader) Load(url string) (any, error) {
	if l.refused == "" {
		l.refused = url
	}
	return nil, errors.New("is not loaded")
}
