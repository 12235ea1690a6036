package kustomize_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

const config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"

// What is beyond the snapshot is not followed, and never asked for; what is wrong fails, as in Argo
// CD.
func TestFolders(t *testing.T) {
	for name, c := range map[string]struct {
		file       string
		want       []string
		notFollows string // part of the reason
		fails      string
	}{
		"files and bases":           {"resources: [c.yaml, ../base]\ncomponents: [../part]", []string{"base", "k", "part"}, "", ""},
		"old names":                 {"bases: [../base]\npatchesStrategicMerge: [c.yaml]", []string{"base", "k"}, "", ""},
		"nothing at all":            {"namePrefix: x-", []string{"k"}, "", ""},
		"a URL":                     {"resources: ['https://example.com/c.yaml']", nil, `names "https://example.com/c.yaml"`, ""},
		"a Git repository":          {"resources: ['git@example.com:x/y']", nil, `names "git@example.com:x/y"`, ""},
		"another, without a scheme": {"resources: [github.com/x/y]", nil, `names "github.com/x/y"`, ""},
		"another, which is there":   {"resources: [../github.com]", []string{"github.com", "k"}, "", ""},
		"another, by its user":      {"resources: [git@github.com/x/y]", nil, `names "git@github.com/x/y"`, ""},
		"another, by any user":      {"components: [org-1@github.com/x/y]", nil, `names "org-1@github.com/x/y"`, ""},
		"a strategic patch":         {"resources: [c.yaml]\npatchesStrategicMerge: ['https://example.com/p.yaml']", nil, `names "https://example.com/p.yaml"`, ""},
		"patches in the file":       {"resources: [c.yaml]\npatchesStrategicMerge:\n- |-\n  {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {x: y}}", []string{"k"}, "", ""},
		"a component from there":    {"components: ['https://example.com/x//y?ref=1']", nil, "names", ""},
		"above the repository":      {"resources: [../../x]", nil, `names "../../x"`, ""},
		"from the root":             {"resources: [/etc/passwd]", nil, `names "/etc/passwd"`, ""},
		"a patch from elsewhere":    {"patches: [{path: 'https://example.com/p.yaml'}]", nil, "names", ""},
		"a JSON patch":              {"patchesJson6902: [{path: missing.yaml, target: {kind: X}}]", nil, "names", ""},
		"a file of any kind":        {"configMapGenerator: [{name: x, files: [a=a.properties]}]", nil, `names "a.properties"`, ""},
		"a secret's variables":      {"secretGenerator: [{name: x, env: a.env}]", nil, `names "a.env"`, ""},
		"a schema":                  {"openapi: {path: s.json}", nil, "names", ""},
		"replacements":              {"replacements: [{path: r.yaml}]", nil, "names", ""},
		"charts":                    {"helmCharts: [{name: x}]", []string{"k"}, "", ""},
		"a chart's values":          {"helmCharts: [{name: x, valuesFile: gone.yaml}]", nil, `names "gone.yaml"`, ""},
		"old charts":                {"helmChartInflationGenerator: [{chartName: x}]", []string{"k"}, "", ""},
		"plugins":                   {"transformers: [t.yaml]", nil, "plugins", ""},
		"what is not there":         {"resources: [d.yaml]", nil, "", `k/kustomization.yaml names "d.yaml", which is not there`},
		"a folder without one":      {"resources: [../plain]", nil, "", "plain has no kustomization"},
		"an unknown key":            {"resorces: []", nil, "", "k/kustomization.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot.FromMap(map[string]string{
				"k/kustomization.yaml": c.file + "\n", "k/c.yaml": config, "base/kustomization.yml": "resources: [c.yaml]\n", "base/c.yaml": config,
				"part/Kustomization": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n", "plain/c.yaml": config,
				"github.com/kustomization.yaml": "resources: [c.yaml]\n", "github.com/c.yaml": config,
				"k/git@github.com/x/y/kustomization.yaml": "resources: []\n", "k/org-1@github.com/x/y/kustomization.yaml": "resources: []\n",
			})
			got, err := kustomize.Kustomizations{}.Folders(source.Kustomization{Snapshot: s, Dir: "k"})
			var beyond source.NotFollowed
			switch {
			case c.notFollows != "":
				if !errors.As(err, &beyond) || !strings.Contains(beyond.Text, c.notFollows) {
					t.Errorf("%v", err)
				}
			case c.fails != "":
				if err == nil || errors.As(err, &beyond) || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v", err)
				}
			case err != nil || !slices.Equal(got, c.want):
				t.Errorf("%v, %v", got, err)
			}
			if _, again := (kustomize.Kustomizations{}).Build(source.Kustomization{Snapshot: s, Dir: "k"}); err != nil && (again == nil || again.Error() != err.Error()) {
				t.Errorf("Build: %v", again)
			}
		})
	}
}

// A circle ends, and in kustomize's own words.
func TestCircle(t *testing.T) {
	s := snapshot.FromMap(map[string]string{"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n"})
	if _, err := (kustomize.Kustomizations{}).Build(source.Kustomization{Snapshot: s, Dir: "a"}); err == nil || !strings.Contains(err.Error(), "cycle") {
		t.Error(err)
	}
}
