package tmpl_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// BenchmarkExecute is the cost of templates as fleets have them: a level's folder, a catalog's
// value with a default, and a file of values.
func BenchmarkExecute(b *testing.B) {
	facts := map[string]any{
		"root": "addons", "tenant": "retail", "cluster": "retail-prod-eu-1", "hub": "hub-eu", "environment": "prod",
		"labels":      map[string]any{"region": "eu-west-1", "tier": "gold", "tenant": "retail", "environment": "prod", "addonsRelease": "default"},
		"annotations": map[string]any{"account": "111122223333"},
	}
	for name, text := range map[string]string{
		"folder": `{{ .root }}/tenants/{{ .tenant }}/clusters/{{ .cluster }}`,
		"value":  `{{ index .labels "region" | default "eu-west-1" | quote }}`,
		"file":   "cluster: {{ .cluster }}\nregion: {{ .labels.region }}\n{{ if eq .environment \"prod\" }}replicas: 3\n{{ end }}hosts:\n{{ range list \"a\" \"b\" \"c\" }}- {{ printf \"%s.%s.example.com\" . $.cluster | quote }}\n{{ end }}labels:\n{{ toYaml .labels | indent 2 }}\n",
	} {
		b.Run(name, func(b *testing.B) {
			t, err := tmpl.Parse(problem.Pos{File: "f"}, text)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := t.ExecuteLines(facts); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("parse "+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tmpl.Parse(problem.Pos{File: "f"}, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
