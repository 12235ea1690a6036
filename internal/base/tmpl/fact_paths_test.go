package tmpl

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func TestReadsAreDecidedByTheTextAlone(t *testing.T) {
	for _, c := range []struct {
		text   string
		reads  [][]string
		leaves [][]string
	}{
		{`a`, nil, [][]string{{"tenant"}}},
		{`{{ .group }}/{{ .component }}`, [][]string{{"group"}, {"component"}}, [][]string{{"tenant"}}},
		{`{{ if eq .component "web" }}{{ .environment }}{{ else }}{{ .tenant }}{{ end }}`, [][]string{{"component"}, {"environment"}, {"tenant"}}, [][]string{{"cluster"}}},
		{`{{ index . "tenant" }}`, [][]string{{"tenant"}}, [][]string{{"cluster"}}},
		{`{{ index .labels "region" | default "x" }}`, [][]string{{"labels"}, {"labels", "region"}}, [][]string{{"labels", "tenant"}, {"tenant"}}},
		{`{{ dig "a" "b" .group .labels }}`, [][]string{{"labels", "a", "b"}, {"group"}}, [][]string{{"labels", "tenant"}}},
		{`{{ get .labels .group }}`, [][]string{{"labels", "tenant"}, {"group"}}, [][]string{{"tenant"}}},
		{`{{ toYaml . }}`, [][]string{{"tenant"}, {"labels", "x"}}, nil},
		{`{{ with .labels }}{{ .tenant }}{{ $.hub }}{{ end }}`, [][]string{{"labels", "tenant"}, {"hub"}}, [][]string{{"tenant"}}},
		{`{{ range $k, $v := .labels }}{{ $k }}{{ . }}{{ end }}`, [][]string{{"labels", "x"}}, [][]string{{"tenant"}}},
		{`{{ define "x" }}{{ .tenant }}{{ end }}{{ template "x" . }}`, [][]string{{"tenant"}}, nil},
		{`{{ define "x" }}{{ .tenant }}{{ end }}{{ template "x" .labels }}`, [][]string{{"labels", "tenant"}}, [][]string{{"tenant"}}},
		{`{{ $x := . }}{{ $x.tenant }}`, [][]string{{"tenant"}}, nil},
		{`{{ (index .labels "a").b }}`, [][]string{{"labels", "a", "b"}}, [][]string{{"labels", "b"}}},
	} {
		tpl, err := Parse(problem.Pos{}, c.text)
		require.NoError(t, err)
		for _, path := range c.reads {
			if !tpl.Reads(path...) {
				t.Errorf("%s is not found to read %q", c.text, path)
			}
		}
		for _, path := range c.leaves {
			if tpl.Reads(path...) {
				t.Errorf("%s is found to read %q", c.text, path)
			}
		}
	}
}

func TestReadsOnly(t *testing.T) {
	for text, want := range map[string]bool{
		`a`: true, `{{ .group }}/{{ .component }}`: true, `{{ if eq .component "x" }}{{ .group }}{{ end }}`: true,
		`{{ .group }}/{{ .environment }}`: false, `{{ index . "group" }}`: true, `{{ toYaml . }}`: false,
		`{{ if eq .component "x" }}{{ .hub }}{{ end }}`: false,
	} {
		tpl, err := Parse(problem.Pos{}, text)
		require.NoError(t, err)
		if tpl.ReadsOnly("group", "component") != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
}
