package tmpl

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// TestPlainFactsAreTheTemplatesText: whatever is put together from parts is what text/template
// writes, and what it refuses is not put together.
func TestPlainFactsAreTheTemplatesText(t *testing.T) {
	facts := map[string]any{
		"root": "addons", "tenant": "red", "empty": "", "odd": "a {{ .b }}\n", "long": strings.Repeat("x", maxPlain), "number": 1, "none": nil,
		"labels": map[string]any{"region": "eu"}, "yes": true, "group": "g",
	}
	plain := 0
	for _, text := range []string{
		"{{ .root }}/defaults", "{{.root}}", "a/{{- .root -}} /b", "{{ .root }}/tenants/{{ .tenant }}/x", "{{ .empty }}", "{{ .odd }}", "{{/* c */}}{{ .root }}",
		"{{ .long }}", "{{ .long }}x", "{{ .number }}", "{{ .none }}", "{{ .missing }}", "{{ .labels }}", "{{ .labels.region }}", "{{ .yes }}", "{{ . }}",
		"{{ .root | upper }}", "{{ $x := .root }}{{ $x }}", "{{ if .yes }}{{ .root }}{{ end }}", "{{ .root.x }}", "{{ define \"x\" }}{{ end }}{{ .root }}",
		"{{ printf \"%s\" .root }}", "{{ .root .tenant }}", "{{ \"text\" }}", "{{ $.root }}",
	} {
		tmpl, err := Parse(problem.Pos{File: "f"}, text)
		if err != nil {
			continue
		}
		want, failed := tmpl.ExecuteCounted(facts)
		got, is := tmpl.plain(facts)
		if is {
			plain++
			if failed != nil || got != want.Text {
				t.Errorf("%s: %q, want %q, %v", text, got, want.Text, failed)
			}
		}
		if all, err := tmpl.Execute(facts); all != want.Text || (err == nil) != (failed == nil) || err != nil && err.Error() != failed.Error() {
			t.Errorf("%s: %q, %v, want %q, %v", text, all, err, want.Text, failed)
		}
	}
	if plain != 8 {
		t.Errorf("%d templates are put together, want 8", plain)
	}
}
