package source_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

func TestNamed(t *testing.T) {
	type result struct {
		Paths   []string
		Unknown bool
	}
	for text, want := range map[string]result{
		`{"path":"charts/a/"}`:          {Paths: []string{"charts/a"}},
		`{"path":"."}`:                  {Paths: []string{"."}},
		`{"path":""}`:                   {},
		`{"path":"{{ .source.path }}"}`: {},
		`{"path":"{{source.path}}"}`:    {},
		`{"path":"{{ (index .companions \"x\").chart.path }}"}`:       {},
		`{"path":"{{ .metadata.annotations.addons_path }}"}`:          {Unknown: true},
		`{"path":"charts/{{ .name }}"}`:                               {Unknown: true},
		`{"path":"a\u002fb"}`:                                         {Paths: []string{"a/b"}},
		`{"valueFiles":["values.yaml","/shared/a.yaml","$v/b.yaml"]}`: {Paths: []string{"shared/a.yaml", "b.yaml"}},
		`{"valueFiles":["../a.yaml"]}`:                                {Unknown: true},
		`{"valueFiles":["envs/*.yaml"]}`:                              {Unknown: true},
		`{"valueFiles":["$v/{{ .name }}.yaml"]}`:                      {Unknown: true},
	} {
		var got result
		got.Paths, got.Unknown = source.Named([]byte(text))
		assert.Equal(t, want, got, "%s", text)
	}
	for text, want := range map[string]result{
		"metadata:\n  labels: {a: b}\n":                    {},
		"spec:\n  source:\n    path: charts/a\n":           {Paths: []string{"charts/a"}},
		"spec: {source: {path: 'charts/a', x: y}}":         {Paths: []string{"charts/a"}},
		`{"spec": {"source": {"path": "charts/a"}}}`:       {Paths: []string{"charts/a"}},
		"spec:\n  source:\n    path: '{{ .source.path }}'": {},
		"spec:\n  source:\n    path: {{ .name }}":          {Unknown: true},
		"spec:\n  source:\n    chart: x":                   {Unknown: true},
		"spec: {source: {helm: {valueFiles: [a.yaml]}}}":   {Unknown: true},
	} {
		var got result
		got.Paths, got.Unknown = source.NamedByPatch(text)
		assert.Equal(t, want, got, "%s", text)
	}
}

// One repository has several addresses; another port of HTTPS is another server.
func TestAddress(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"": "", "https://Git.example/Fleet.git": "git.example/fleet", "https://user:token@git.example/fleet/": "git.example/fleet",
		"git@git.example:fleet.git": "git.example/fleet", "ssh://git@git.example:2222/fleet.git": "git.example/fleet",
		"https://git.example:8443/fleet": "git.example:8443/fleet", "https://git.example:443/fleet": "git.example/fleet", "https://[fd00::1]/x": "[fd00::1]/x", "/srv/fleet.git": "/srv/fleet", "https://git.example": "git.example",
	} {
		assert.Equal(t, want, source.Address(url), "%s", url)
	}
}
