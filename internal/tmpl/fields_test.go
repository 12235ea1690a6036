package tmpl

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/problem"
)

// TestFieldsAreTheTemplate: what is put together by parts is what text/template writes, errors included.
func TestFieldsAreTheTemplate(t *testing.T) {
	t.Parallel()
	facts := map[string]any{
		"root": "addons", "tenant": "retail", "empty": "", "number": 1, "nothing": nil, "no": "<no value>", "map": map[string]any{"x": "y"},
		"long": strings.Repeat("x", MaxOutput/2+1),
	}
	for text, parts := range map[string]bool{
		"{{ .root }}/defaults": true, "{{ .root }}/tenants/{{ .tenant }}/x": true, "{{.root}}{{.tenant}}{{ .empty }}": true, "a {{- .root -}} b": true,
		"{{/* c */}}{{ .root }}": true, "{{ .absent }}": true, "{{ .number }}/{{ .root }}": true, "{{ .nothing }}": true, "{{ .no }}": true,
		"{{ .long }}{{ .long }}": true, "{{ .map }}": true, "{{ .root | upper }}": false, "{{ .map.x }}": false, "{{ if .root }}a{{ end }}": false,
		"{{ $x := .root }}{{ $x }}": false, "{{ . }}": false, "{{ `a` }}": false, `{{ define "x" }}a{{ end }}{{ .root }}`: false,
	} {
		fast, err := Parse(problem.Pos{File: "f"}, text)
		if err != nil {
			t.Fatal(err)
		}
		if (fast.fields != nil) != parts {
			t.Errorf("%s: made of parts alone is %t, want %t", text, fast.fields != nil, parts)
		}
		slow := *fast
		slow.fields = nil
		for _, data := range []any{facts, map[string]any{}, "no map"} {
			got, gotErr := fast.Execute(data)
			want, wantErr := slow.Execute(data)
			if got != want || (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
				t.Errorf("%s: %.60q, %v; text/template gives %.60q, %v", text, got, gotErr, want, wantErr)
			}
		}
	}
}
