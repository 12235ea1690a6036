package fleetrepo_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

// small is a checkout with the least that makes a fleet, and the given files.
func small(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{
		"fleet/layout.yaml": `members: fleet/members/{{ .hub }}/{{ .cluster }}.yaml
groups:
  addons: {root: addons, catalog: charts/catalog.yaml}
levels: [{name: system, dir: "{{ .root }}/defaults"}, {name: cluster, dir: "{{ .root }}/{{ .labels.region }}/{{ .cluster }}"}]
hubLevels: [{name: system, dir: "{{ .root }}/defaults"}]
files: {catalog: "application-sets/{{ .group }}.yaml"}
`,
		"fleet/members/h/h.yaml": "fleet_member: hub-cluster\n",
		"fleet/members/h/a.yaml": "labels: {region: eu}\n",
		"fleet/members/h/b.yaml": "labels: {region: eu}\n",
		"addons/eu/a/values":     "a\n", "addons/eu/b/values": "b\n", "addons/defaults/values": "c\n",
		"elsewhere/ignored.yaml": "repoURL: https://charts.example.com\n",
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	git(t, dir, "init", "--quiet")
	return dir
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	url := remote(t)
	r, err := fleetrepo.New(t.Context(), fleetrepo.Options{
		Source: small(t, map[string]string{
			".gitignore": "ignored/\n", "charts/ignored/x.yaml": "repoURL: https://charts.example.com\n",
			"charts/catalog.yaml": `# https://github.com/argosy-hub/argosy
a: {repoURL: "https://a.example.com/charts", name: ä} # https://a.example.com/charts
b: {name: ä, repoURL: 'oci://b.example.com/charts'}
c:
  repoURL: c.example.com:5000/charts
  # repoURL: https://c.example.com
  homepage: https://c.example.com
d: {repoURL: https://github.com/argosy-hub/argosy.git, path: charts/x}
e: {repoURL: 'https://github.com/argosy-hub/argosy', ref: values}
f: {repoURL: '{{ .source.repoURL }}'}
---
spec:
  sourceRepos: ["https://a.example.com/charts", '*', https://github.com/argosy-hub/argosy]
other:
  sourceRepos:
    - https://github.com/argosy-hub/argosy
    - https://a.example.com/charts
    - oci://b.example.com/charts
    - c.example.com:5000/charts
    - '*'
hierarchy: {repoURL: https://github.com/argosy-hub/argosy}
g: https://github.com/argosy-hub/argosy-enterprise
`,
			"charts/x/templates/x.yaml": "{{ range .x }}\nrepoURL: {{ .y }}\n{{ end }}\n",
		}),
		Remote: url, ChartRepo: chartRepo, Hub: "h", Members: []string{"a"}, Dir: filepath.Join(t.TempDir(), "fleet"),
	})
	require.NoError(t, err)
	want := strings.NewReplacer("CHARTS", chartRepo, "GIT", url).Replace(`# GIT
a: {repoURL: "CHARTS", name: ä} # https://a.example.com/charts
b: {name: ä, repoURL: 'CHARTS'}
c:
  repoURL: CHARTS
  # repoURL: https://c.example.com
  homepage: https://c.example.com
d: {repoURL: GIT, path: charts/x}
e: {repoURL: 'GIT', ref: values}
f: {repoURL: '{{ .source.repoURL }}'}
---
spec:
  sourceRepos: ["CHARTS", '*', GIT]
other:
  sourceRepos:
    - GIT
    - CHARTS
    - '*'
hierarchy: {repoURL: GIT}
g: https://github.com/argosy-hub/argosy-enterprise
`)
	if got, err := r.Read("charts/catalog.yaml"); err != nil || got != want {
		t.Errorf("%v\n%s\nexpected\n%s", err, got, want)
	}
	got := strings.Fields(git(t, r.Path(), "ls-files"))
	if want := []string{
		"addons/defaults/values", "addons/eu/a/values", "charts/catalog.yaml", "charts/x/templates/x.yaml",
		"fleet/layout.yaml", "fleet/members/h/a.yaml", "fleet/members/h/h.yaml",
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("files %v, expected %v", got, want)
	}
}

// What would lead out of the demonstration is an error with its place (4).
func TestStrays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, text, want string }{
		{"Git", "fleet/x.yaml", "a: 1\nsource: {path: charts/x, repoURL: https://git.example.com/x}\n", `fleet/x.yaml:2: repoURL "https://git.example.com/x" leads out`},
		{"release", "versions/x.yaml", "chartRepoUrl: git@git.example.com:x\n", `versions/x.yaml:1: chartRepoUrl "git@git.example.com:x"`},
		{"registry", "versions/x.yaml", "\nchartRepo: registry.example.com/charts\n", `versions/x.yaml:2: chartRepo "registry.example.com/charts"`},
		{"override", "fleet/members/h/c.yaml", "addons_repo_url: https://git.example.com/x\nlabels: {region: eu}\n", `fleet/members/h/c.yaml:1: addons_repo_url`},
		{"template", "charts/x/templates/x.yaml", "{{ if .x }}\nrepoURL: https://git.example.com/x\n{{ end }}\n", `charts/x/templates/x.yaml:2: repoURL`},
		{"half a template", "addons/x.yaml.gotmpl", "repoURL: \"https://{{ .x }}/y\"\npath: x\n", `addons/x.yaml.gotmpl:1: repoURL`},
		{"project", "fleet/x.yaml", "sourceRepos:\n- '*'\n- https://git.example.com/x\n", `fleet/x.yaml:3: sourceRepos "https://git.example.com/x"`},
		{"text in YAML", "fleet/x.yaml", "values: |\n  repoURL: https://git.example.com/x\n", `fleet/x.yaml:2: repoURL`},
		{"escapes", "charts/x.yaml", "repoURL: \"https:/\\x2fa.example.com\"\n", `charts/x.yaml:1: repoURL "https://a.example.com" is written in a way`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "fleet")
			_, err := fleetrepo.New(t.Context(), fleetrepo.Options{
				Source: small(t, map[string]string{test.file: test.text}), Remote: "http://127.0.0.1:1/x.git", ChartRepo: chartRepo, Hub: "h", Dir: dir,
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nexpected: %s", err, test.want)
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something was written: %v", err)
			}
		})
	}
}
