package tmpl

import (
	"errors"
	"regexp"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestStepsAreBounded is rule 5: no template goes on for ever, whatever it prints.
func TestStepsAreBounded(t *testing.T) {
	want := regexp.MustCompile(`^f:3: template takes 10000\d\d steps and more: it goes round its loops too often; expected at most 1000000$`)
	for name, text := range map[string]string{
		"a number":         `{{ range 9223372036854775807 }}{{ end }}`,
		"nested":           `{{ range until 1000 }}{{ range until 1000 }}{{ if true }}{{ end }}{{ end }}{{ end }}`,
		"in a condition":   `{{ if true }}{{ with 1 }}{{ range 9223372036854775807 }}{{ continue }}{{ end }}{{ end }}{{ end }}`,
		"in an else":       `{{ if false }}{{ else if true }}{{ with 0 }}{{ else }}{{ range 0 }}{{ else }}{{ range 9223372036854775807 }}{{ end }}{{ end }}{{ end }}{{ end }}`,
		"assigning":        `{{ $n := 0 }}{{ range $i := 9223372036854775807 }}{{ $n = $i }}{{ end }}{{ $n }}`,
		"calls":            `{{ define "a" }}{{ if . }}{{ template "a" rest . }}{{ template "a" rest . }}{{ end }}{{ end }}{{ template "a" until 60 }}`,
		"printing nothing": `{{ range 9223372036854775807 }}{{ "" }}{{ end }}`,
	} {
		t.Run(name, func(t *testing.T) {
			tt, err := Parse(at("f", 3), text)
			require.NoError(t, err)
			_, err = tt.Execute(nil)
			_, errLines := tt.ExecuteLines(nil)
			for _, err := range []error{err, errLines} {
				var p problem.Problem
				if !errors.As(err, &p) || p.Reason != problem.LimitExceeded || !want.MatchString(p.Error()) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
		})
	}
	tt, err := Parse(at("f", 1), `{{ range 3 }}{{ range until 2 }}{{ . }}{{ end }},{{ else }}no{{ end }}`)
	require.NoError(t, err)
	if out, err := tt.Execute(nil); out != "01,01,01," || err != nil {
		t.Errorf("got %q, %v", out, err)
	}
}
