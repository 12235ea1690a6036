// Package schema makes the JSON Schemas of package report's envelopes from their Go types. It is apart from report so
// that the programs do not link the generator; `go test ./internal/report/schema -update` rewrites docs/schemas.
package schema

//go:generate go test . -run TestSchemasAreUpToDate -update

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"

	"github.com/argosy-hub/argosy/internal/report"
)

// base is where the schemas are published.
const base = "https://argosy.dev/schemas/v1alpha1/"

// envelopes by the names of their files.
var envelopes = map[string]any{
	"explanation.json": report.Explanation{},
	"lint-report.json": report.LintReport{},
	"plan.json":        report.Plan{},
	"version.json":     report.Version{},

	"removal-approval.json": report.RemovalApproval{},
}

// Generate returns the schemas by the names of their files. Sources is the folder of package report, whose comments
// become descriptions.
func Generate(sources string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, envelope := range envelopes {
		r := jsonschema.Reflector{}
		if err := r.AddGoComments("github.com/argosy-hub/argosy/internal/report/schema", sources); err != nil {
			return nil, fmt.Errorf("read the comments of package report: %w", err)
		}
		s := r.Reflect(envelope)
		s.ID = jsonschema.ID(base + name)
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		out[name] = append(text, '\n')
	}
	return out, nil
}
