package charts_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/external-secrets/external-secrets/pkg/template/v2"

	"github.com/argosy-hub/argosy/internal/change/externalsecrets"
)

// A plan parses templates with names of functions alone: External Secrets has no other ones
// (externalsecrets, rule 3).
func TestPlanKnowsTheFunctionsOfExternalSecrets(t *testing.T) {
	t.Parallel()
	known := externalsecrets.Functions()
	for _, name := range slices.Sorted(maps.Keys(template.FuncMap())) {
		if known[name] == nil {
			t.Errorf("External Secrets has the function %s, which a plan refuses", name)
		}
	}
	for _, name := range []string{"env", "expandenv", "include", "tpl", "lookup"} {
		if known[name] != nil || template.FuncMap()[name] != nil {
			t.Errorf("External Secrets has no function %s", name)
		}
	}
}
