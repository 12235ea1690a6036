package schema

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/report/lintreport"
	"github.com/argosy-hub/argosy/internal/change/report/planreport"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/rings"
)

// base is where the schemas are published.
const base = "https://argosy.dev/schemas/v1alpha1/"

// envelopes by the names of their files.
var envelopes = map[string]any{
	"explanation.json":      explain.Explanation{},
	"hold.json":             fleet.Hold{},
	"hold-list.json":        hold.List{},
	"layout.json":           fleet.LayoutDocument{},
	"lint-report.json":      lintreport.Report{},
	"plan.json":             planreport.Plan{},
	"removal-approval.json": fleet.Approval{},
	"rollout.json":          rollout.Policy{},
	"rollout-status.json":   rings.Report{},
	"verification.json":     verify.Verification{},
	"version.json":          report.Version{},
}

// sources are the packages of the envelopes' types, whose comments become descriptions.
var sources = []string{"base/problem", "hierarchy", "fleet", "change/plan", "resolve/explain", "base/report", "change/report", "hold", "rings", "fleet/rollout", "migrate/verify"}

// Generate returns the schemas by the names of their files. Internal is the module's folder of that
// name, relative to this package.
func Generate(internal string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, envelope := range envelopes {
		r := jsonschema.Reflector{Mapper: ownForms}
		for _, s := range sources {
			folder := path.Join(internal, s)
			if err := r.AddGoComments("github.com/argosy-hub/argosy/internal/change/report/schema", folder); err != nil {
				return nil, fmt.Errorf("read the comments in %s: %w", folder, err)
			}
		}
		s := r.Reflect(envelope)
		s.ID = jsonschema.ID(base + name)
		if _, isLayout := envelope.(fleet.LayoutDocument); isLayout {
			allowNull(s)
		}
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		out[name] = append(text, '\n')
	}
	return out, nil
}

// ownForms are the schemas of types that read their own value.
func ownForms(t reflect.Type) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.String() {
	case "time.Weekday", "time.Duration", "fleet.IgnoredPath", "fleet.namePattern":
		return &jsonschema.Schema{Type: "string"}
	case "rollout.Limit", "fleet.Budget":
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "integer"}, {Type: "string"}}}
	case "yamldoc.Node":
		return &jsonschema.Schema{Type: "object"}
	case "labels.Selector":
		s := (&jsonschema.Reflector{DoNotReference: true, Anonymous: true, ExpandedStruct: true}).Reflect(selector{})
		s.Version = ""
		return s
	}
	return nil
}

// selector is a label selector of Kubernetes.
type selector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []any             `json:"matchExpressions,omitempty"`
}

// allowNull has each key take null: in a layout, null takes away what the default layout sets.
func allowNull(s *jsonschema.Schema) {
	nullable := func(of *jsonschema.Schema) *jsonschema.Schema {
		null := &jsonschema.Schema{Type: "null"}
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{of, null}}
	}
	for _, d := range s.Definitions {
		for key := d.Properties.Oldest(); key != nil; key = key.Next() {
			if below := key.Value.AdditionalProperties; below != nil {
				key.Value.AdditionalProperties = nullable(below)
			}
			key.Value = nullable(key.Value)
		}
	}
}
