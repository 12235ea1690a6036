package tmpl_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestExecuteLines proves that each line of the output knows the template's line that it comes from
// (H7): every line below ends in the number of the line that it was written on.
func TestExecuteLines(t *testing.T) {
	for name, text := range map[string]string{
		"plain lines":             "a: 1\nb: {{ .x }} # 2\nc: 3\n",
		"skipped branch":          "{{- if false }}\nnever: 2\n{{- end }}\na: 4\n{{ if true }}\nb: 6\n{{ else }}\nnever: 8\n{{ end }}\nc: 10\n",
		"loop":                    "a: 1\n{{- range list 1 2 3 }}\n- 3\n- 4\n{{- end }}\nb: 6\n",
		"trimmed":                 "a: 1\n{{ with .x -}}\n\n\nb: 5\n{{ end -}}\n\n\nc: 9\n",
		"text printed by action":  "a: |1\n  {{ .many | nindent 2 }}\nb: 3\n",
		"defined template":        "{{ define \"d\" }}\nd: 2\n{{- end }}\na: 4\n{{ template \"d\" }}\nb: 6\n",
		"line begun by an action": "{{ range list \"a\" \"b\" -}}\n{{ . }}: 2\n{{ end -}}\nc: 4\n",
	} {
		t.Run(name, func(t *testing.T) {
			tt, err := tmpl.Parse(problem.Pos{File: "f"}, text)
			require.NoError(t, err)
			data := map[string]any{"x": "value", "many": "two\ntwo"}
			written, err := tt.ExecuteLines(data)
			require.NoError(t, err)
			out, lines := written.Text, written.Lines
			plain, err := tt.Execute(data)
			if err != nil || plain != out {
				t.Errorf("Execute gives %q, %v; ExecuteLines %q", plain, err, out)
			}
			source := strings.Split(text, "\n")
			var got, want []string
			for i, line := range strings.Split(out, "\n") {
				if digits := strings.TrimLeft(line, "abcdnevr:-|# "); digits != "" && strings.Trim(digits, "0123456789") == "" {
					got = append(got, source[lines[i]-1])
					for _, s := range source {
						if strings.HasSuffix(s, " "+digits) || strings.HasSuffix(s, "|"+digits) {
							want = append(want, s)
						}
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s\nof\n%s", diff, out)
			}
			if len(got) == 0 {
				t.Fatal("nothing compared")
			}
		})
	}
}
