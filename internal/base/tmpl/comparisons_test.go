package tmpl

import (
	"fmt"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestComparisonsAreThoseOfTheLibrary compares each function with text/template's own: charging for
// what it reads changes neither a result nor an error.
func TestComparisonsAreThoseOfTheLibrary(t *testing.T) {
	values := []any{nil, "", "a", "b", 0, 1, -1, uint(1), 1.0, 1.5, true, false, []any{"a"}, map[string]any{"a": 1}, []string(nil)}
	for _, call := range []string{"eq .x .y", "ne .x .y", "lt .x .y", "le .x .y", "gt .x .y", "ge .x .y", ".y | eq .x", "eq .x", "eq .x .y .y", "eq .y 1 .x", "eq .x nil"} {
		ours, err := Parse(at("f", 1), "{{ if "+call+" }}yes{{ end }}")
		require.NoError(t, err)
		theirs := template.Must(template.New(name).Parse("{{ if " + call + " }}yes{{ end }}"))
		for _, x := range values {
			for _, y := range values {
				data := map[string]any{"x": x, "y": y}
				got, errGot := ours.Execute(data)
				var want strings.Builder
				errWant := theirs.Execute(&want, data)
				if (errGot == nil) != (errWant == nil) || errWant == nil && got != want.String() {
					t.Errorf("%s of %#v and %#v: %q, %v; text/template has %q, %v", call, x, y, got, errGot, want.String(), errWant)
				}
				if errWant != nil && !strings.Contains(errWant.Error(), "non-comparable type") && !strings.HasSuffix(errGot.Error(), errWant.Error()[strings.LastIndex(errWant.Error(), "error calling"):]) {
					t.Errorf("%s of %#v and %#v:\n%v; text/template has\n%v", call, x, y, errGot, errWant)
				}
			}
		}
	}
}

// TestExpressionsAreThoseOfSprig compares each function of an expression with sprig's own.
func TestExpressionsAreThoseOfSprig(t *testing.T) {
	for call, args := range map[string]string{
		"Match": "", "Find": "", "ReplaceAll": ` "<$1>"`,
	} {
		for _, must := range []string{"regex", "mustRegex"} {
			for _, pattern := range []string{"a(b)", "(?i)[A-Z]", "", "x*", "(", `^\p{Lu}`} {
				for _, text := range []string{"", "abcab", "Äb"} {
					action := fmt.Sprintf("{{ range 2 }}{{ %s%s %q %q%s | toJson }}{{ end }}", must, call, pattern, text, args)
					ours, err := Parse(at("f", 1), action)
					require.NoError(t, err)
					got, errGot := ours.Execute(nil)
					var want strings.Builder
					errWant := template.Must(template.New(name).Funcs(sprig.TxtFuncMap()).Parse(action)).Execute(&want, nil)
					if (errGot == nil) != (errWant == nil) || errWant == nil && got != want.String() {
						t.Errorf("%s: %q, %v; sprig has %q, %v", action, got, errGot, want.String(), errWant)
					}
				}
			}
		}
	}
}

// TestVersions: versions are compared as sprig does, up to a length.
func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		`{{ semverCompare ">=1.2 <2 || ^3" "3.1.0" }}{{ semverCompare "~1.2" "1.3.0" }}`: "truefalse",
		`{{ semverCompare (repeat 60 ">1") "1" }}`:                                       `f:1: function "semverCompare" is given 120 bytes; expected at most 100 bytes`,
		`{{ if semverCompare "!!" "1" }}{{ end }}`:                                       `f:1: template <semverCompare "!!" "1">: error calling semverCompare: it refuses what it is given, which is withheld, as it may hold values`,
	} {
		tt, err := Parse(at("f", 1), text)
		var got string
		if err == nil {
			got, err = tt.Execute(map[string]any{"Scan": "facts"})
		}
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, want, got, "%s", text)
	}
}
