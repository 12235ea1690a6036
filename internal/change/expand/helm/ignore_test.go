package helm

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// A chart's folder is read as Helm reads it, whatever its .helmignore says: the differential test
// for it.
func TestIgnoredAsHelmDoes(t *testing.T) {
	contents := map[string]string{
		"Chart.yaml":                        "apiVersion: v2\nname: one\nversion: 1.0.0\n",
		"values.yaml":                       "\xef\xbb\xbfa: 1\n",
		"templates/a.yaml":                  "a: {{ .Values.a }}\n",
		"templates/b.yaml":                  "b: 1\n",
		"templates/.hidden.yaml":            "c: 1\n",
		"templates/deep/a.yaml":             "d: 1\n",
		"templates/_helpers.tpl":            "{{ define \"x\" }}{{ end }}",
		"files/secret.txt":                  "s\n",
		"files/deep/secret.txt":             "s\n",
		"ci/values.yaml":                    "x: 1\n",
		"crds/x.yaml":                       "kind: X\n",
		"charts/two/Chart.yaml":             "apiVersion: v2\nname: two\nversion: 1.0.0\n",
		"charts/two/.helmignore":            "templates\n",
		"charts/two/templates/a.yaml":       "e: 1\n",
		"charts/three/Chart.yaml":           "apiVersion: v2\nname: three\nversion: 1.0.0\n",
		"charts/three/templates/b.yaml":     "f: 1\n",
		"charts/three/templates/deep/b.yml": "g: 1\n",
	}
	for name, rules := range map[string]string{
		"none":                 "",
		"comments and blanks":  "# all\n\n  \n",
		"a file anywhere":      "b.yaml\n",
		"a file at the root":   "/values.yaml\n",
		"a path":               "templates/b.yaml\n",
		"a pattern":            "*.txt\n",
		"a pattern in a path":  "templates/*.yaml\n",
		"a folder":             "deep/\n",
		"a folder by a path":   "templates/deep\n",
		"a dependency":         "charts/three/\n",
		"all but one":          "templates/*\n!templates/a.yaml\n",
		"negated":              "!templates\n",
		"a class":              "[ab].yaml\n",
		"a question mark":      "?.yaml\n",
		"trailing blanks":      "ci/   \n",
		"everything":           "*\n",
		"the chart itself":     "Chart.yaml\n",
		"double stars":         "**/b.yaml\n",
		"no pattern":           "[\n",
		"a mark, as of editor": "\xef\xbb\xbfb.yaml\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			all := maps.Clone(contents)
			if name != "none" {
				all[".helmignore"] = rules
			}
			var list []*snapshot.File
			for _, p := range slices.Sorted(maps.Keys(all)) {
				list = append(list, snapshot.NewFile(p, []byte(all[p]), snapshot.MaxFileSize))
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, p), []byte(all[p]), 0o600))
			}
			want, wantErr := loader.LoadDir(dir)
			got, gotErr := read(source.Chart{Files: list})
			if (wantErr == nil) != (gotErr == nil) {
				t.Fatalf("%v; Helm: %v", gotErr, wantErr)
			}
			if gotErr != nil {
				return
			}
			assert.Equal(t, held(want), held(got), "(-Helm +this)")
		})
	}
}

// held are a chart's files by name, and those of its dependencies.
func held(c *chart.Chart) map[string]string {
	out := map[string]string{}
	for what, files := range map[string][]*chart.File{"templates": c.Templates, "files": c.Files, "all": c.Raw} {
		for _, f := range files {
			out[what+" "+f.Name] = string(f.Data)
		}
	}
	for _, d := range c.Dependencies() {
		for name, text := range held(d) {
			out[d.Name()+": "+name] = text
		}
	}
	return out
}
