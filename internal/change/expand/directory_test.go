package expand_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// root is a hub whose root has a source with options.
func root(options string) map[string]string {
	return map[string]string{
		"fleet/fleet-members/hub/a.yaml": "clusterName: a\ntenant: t\nenvironment: dev\nsecretManagerSecretName: x\n",
		"fleet/bootstrap/hub.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: bootstrap, namespace: argocd}\n" +
			"spec:\n  project: default\n  source:\n    repoURL: https://git.example/fleet\n    targetRevision: main\n    path: fleet/bootstrap/hub\n" + options +
			"  destination: {server: https://kubernetes.default.svc, namespace: argocd}\n",
	}
}

func configMap(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", name)
}

// below are the names of what is below the root of a hub, sorted, and what is named.
func below(t *testing.T, files map[string]string) (names, problems []string) {
	t.Helper()
	s := snapshot.FromMap(files)
	h := expand.New(expand.Options{State: state(t, nil, s), Snapshot: s, Hub: "hub", Tools: tools()})
	for _, o := range h.All(true) {
		if o.Parent != nil {
			names = append(names, o.Name())
		}
	}
	slices.Sort(names)
	return names, texts(h.Problems())
}

// A folder's files are chosen as Argo CD does it (argo-cd v2.14,
// reposerver/repository/repository.go, findManifests); what was expected here has been compared
// with what that function finds.
func TestDirectory(t *testing.T) {
	const dir = "fleet/bootstrap/hub/"
	kept := []string{"a.yaml", "b.yml", "c.json", "d.txt", ".hidden.yaml", "deep/a.yaml", "deep/er/b.yaml", ".folder/x.yaml", "deep/A.yaml", "[x].yaml"}
	for options, want := range map[string]string{
		"":                                                               ".hidden.yaml [x].yaml a.yaml b.yml c.json",
		"recurse: true":                                                  ".folder/x.yaml .hidden.yaml [x].yaml a.yaml b.yml c.json deep/A.yaml deep/a.yaml deep/er/b.yaml",
		"recurse: true, include: '*.yml'":                                "b.yml",
		"include: a.yaml":                                                "a.yaml",
		"recurse: true, include: a.yaml":                                 "a.yaml",
		"recurse: true, include: '*a.yaml'":                              "a.yaml deep/a.yaml", // * takes slashes
		"recurse: true, include: 'deep/*'":                               "deep/A.yaml deep/a.yaml deep/er/b.yaml",
		"recurse: true, include: 'deep/?.yaml'":                          "deep/A.yaml deep/a.yaml",
		"recurse: true, include: 'deep?a.yaml'":                          "deep/a.yaml",
		"recurse: true, include: 'deep/[a-z].yaml'":                      "deep/a.yaml",
		"recurse: true, include: 'deep/[!a-z].yaml'":                     "deep/A.yaml",
		"recurse: true, include: '{a.yaml,deep/er/*}'":                   "a.yaml deep/er/b.yaml",
		"recurse: true, include: '{*.yml,{c,e}.json}'":                   "b.yml c.json",
		"recurse: true, include: '**/b.yaml'":                            "deep/er/b.yaml",
		"recurse: true, include: 'x.yaml'":                               "",
		"recurse: true, include: '\\[x\\].yaml'":                         "[x].yaml",
		"recurse: true, include: 'd.txt'":                                "",
		"recurse: true, include: './a.yaml'":                             "",
		"recurse: true, include: '[' ":                                   "", // no pattern: nothing
		"recurse: true, exclude: '[' ":                                   ".folder/x.yaml .hidden.yaml [x].yaml a.yaml b.yml c.json deep/A.yaml deep/a.yaml deep/er/b.yaml",
		"recurse: true, exclude: 'deep/*'":                               ".folder/x.yaml .hidden.yaml [x].yaml a.yaml b.yml c.json",
		"recurse: true, exclude: '{.*,*.json,deep*}'":                    "[x].yaml a.yaml b.yml",
		"recurse: true, include: '*.yaml', exclude: '{deep/er/*,.f*/*}'": ".hidden.yaml [x].yaml a.yaml deep/A.yaml deep/a.yaml",
		"include: a.yaml, exclude: a.yaml":                               "",
	} {
		t.Run(options, func(t *testing.T) {
			line := ""
			if options != "" {
				line = "    directory: {" + options + "}\n"
			}
			files := root(line)
			for i, p := range kept {
				files[dir+p] = configMap(fmt.Sprintf("f%d", i))
				if strings.HasSuffix(p, ".json") {
					files[dir+p] = fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "f%d"}}`, i)
				}
			}
			names, problems := below(t, files)
			var got []string
			for i, p := range kept {
				if slices.Contains(names, fmt.Sprintf("f%d", i)) {
					got = append(got, p)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" || len(problems) > 0 {
				t.Errorf("(-Argo CD +this):\n%s\n%v", diff, problems)
			}
		})
	}
}

// What a source is follows from its options, else from its folder; what stands in a file, from the
// file alone.
func TestFilesOfAFolder(t *testing.T) {
	const (
		dir           = "fleet/bootstrap/hub/"
		kustomization = "resources: [a.yaml]\nnamePrefix: k-\n"
		chart         = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
		at            = "fleet/bootstrap/hub.yaml:8:5: Application \"bootstrap\": "
	)
	for name, c := range map[string]struct {
		options  string
		files    map[string]string
		want     string
		problems string
	}{
		"a chart":                               {"", map[string]string{"Chart.yaml": chart, "templates/a.yaml": configMap("a"), "b.yaml": configMap("b")}, "a", ""},
		"a kustomization":                       {"", map[string]string{"kustomization.yaml": kustomization, "a.yaml": configMap("a")}, "k-a", ""},
		"both: the later name":                  {"", map[string]string{"Chart.yaml": chart, "templates/b.yaml": configMap("b"), "kustomization.yaml": kustomization, "a.yaml": configMap("a")}, "k-a", ""},
		"both, and the options say":             {"    helm: {releaseName: x}\n", map[string]string{"Chart.yaml": chart, "templates/b.yaml": configMap("b"), "kustomization.yaml": kustomization, "a.yaml": configMap("a")}, "b", ""},
		"options of a directory":                {"    directory: {recurse: true, exclude: '{k,C}*'}\n", map[string]string{"Chart.yaml": chart, "templates/b.yaml": configMap("b"), "kustomization.yaml": kustomization, "a.yaml": configMap("a")}, "a b", ""},
		"options that are empty":                {"    directory: {recurse: false}\n    helm: {}\n", map[string]string{"kustomization.yaml": kustomization, "a.yaml": configMap("a")}, "k-a", ""},
		"a parameter of a file":                 {"    helm: {releaseName: x, fileParameters: [{name: text, path: text.yaml}]}\n", map[string]string{"Chart.yaml": chart, "text.yaml": "one\n", "templates/a.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: '{{ .Values.text | trim }}'}\n"}, "", "warning: " + at + "helm.fileParameters is not followed; a value file is"},
		"options of two kinds":                  {"    directory: {recurse: true}\n    helm: {releaseName: x}\n", map[string]string{"a.yaml": configMap("a")}, "", "error: " + at + "the source has options of several kinds: Helm, Directory; Argo CD takes one"},
		"options of Helm, and no chart":         {"    helm: {releaseName: x}\n", map[string]string{"a.yaml": configMap("a")}, "", "error: " + at + "fleet/bootstrap/hub has no Chart.yaml, and the source has options of Helm for it"},
		"a plugin":                              {"    plugin: {}\n", map[string]string{"a.yaml": configMap("a")}, "", "warning: " + at + "fleet/bootstrap/hub is for a plugin of Argo CD's, which is not followed"},
		"a program":                             {"    directory: {jsonnet: {libs: [x]}}\n", map[string]string{"a.yaml": configMap("a"), "b.jsonnet": "{}"}, "a", "warning: fleet/bootstrap/hub/b.jsonnet: Application \"bootstrap\": fleet/bootstrap/hub/b.jsonnet is a program in Jsonnet: what it makes is not followed"},
		"programs":                              {"", map[string]string{"a.yaml": configMap("a"), "b.jsonnet": "{}", "c.jsonnet": "{}"}, "a", "warning: fleet/bootstrap/hub/b.jsonnet: Application \"bootstrap\": fleet/bootstrap/hub/b.jsonnet and 1 more are programs in Jsonnet: what they make is not followed"},
		"a program that is left out":            {"    directory: {exclude: '*.jsonnet'}\n", map[string]string{"a.yaml": configMap("a"), "b.jsonnet": "{}"}, "a", ""},
		"a program in a folder that is not":     {"", map[string]string{"a.yaml": configMap("a"), "lib/b.jsonnet": "{}"}, "a", ""},
		"a file that is to be left out":         {"", map[string]string{"a.yaml": configMap("a"), "b.yaml": "# +argocd:skip-file-rendering\n" + configMap("b")}, "a", ""},
		"a list":                                {"", map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {kind: A, apiVersion: v1, metadata: {name: a}}\n- {kind: B, apiVersion: v1, metadata: {name: b}}\n"}, "a b", ""},
		"a list that a chart makes":             {"", map[string]string{"Chart.yaml": chart, "templates/a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {kind: A, apiVersion: v1, metadata: {name: a}}\n- {kind: B, apiVersion: v1, metadata: {name: b}}\n"}, "a b", ""},
		"documents of nothing":                  {"", map[string]string{"a.yaml": "---\n# nothing\n---\n" + configMap("a") + "---\n"}, "a", ""},
		"values":                                {"", map[string]string{"a.yaml": configMap("a"), "values.yaml": "image: x\n"}, "a", ""},
		"what is no YAML, and no manifest":      {"", map[string]string{"a.yaml": configMap("a"), "b.yaml": "{{ if }}\na: [\n"}, "a", ""},
		"a template":                            {"", map[string]string{"a.yaml": configMap("a"), "b.yaml": "a: [\napiVersion: v1\nkind: X\nmetadata: {}\n"}, "a", "error: fleet/bootstrap/hub/b.yaml:1: did not find expected ',' or ']'; expected a YAML document"},
		"an object, and then none":              {"", map[string]string{"a.yaml": configMap("a") + "---\nimage: x\n"}, "", "error: fleet/bootstrap/hub/a.yaml:5:1: an object without a kind; expected a manifest of Kubernetes"},
		"none, and then an object":              {"", map[string]string{"a.yaml": configMap("a"), "b.yaml": "image: x\n---\n{apiVersion: v1, kind : A}\n"}, "a", ""},
		"an object that lacks its kind":         {"", map[string]string{"a.yaml": "apiVersion: v1\nmetadata: {name: a}\n# kind:\n"}, "", "error: fleet/bootstrap/hub/a.yaml:1:1: an object without a kind; expected a manifest of Kubernetes"},
		"JSON that is no object of Kubernetes'": {"", map[string]string{"a.json": `{"a": 1}`}, "", "error: fleet/bootstrap/hub/a.json:1:1: an object without a kind; expected a manifest of Kubernetes"},
		"a file that changes the source":        {"", map[string]string{".argocd-source.yaml": "directory: {recurse: true}\npath: elsewhere\nrepoURL: x\n", "deep/a.yaml": configMap("a")}, "a", ""},
		"of one Application, after that of all": {"    directory: {recurse: true, exclude: '*'}\n", map[string]string{".argocd-source.yaml": "directory: {exclude: c.yaml, include: '*.yaml'}\n", ".argocd-source-bootstrap.yaml": "directory: {exclude: b.yaml, recurse: null}\n", ".argocd-source-other.yaml": "directory: {exclude: a.yaml}\n", "a.yaml": configMap("a"), "b.yaml": configMap("b"), "c.yaml": configMap("c"), "deep/d.yaml": configMap("d")}, "a c d", ""},
		"of a chart":                            {"    helm: {releaseName: x, parameters: [{name: name, value: one}]}\n", map[string]string{"Chart.yaml": chart, "values.yaml": "name: none\n", ".argocd-source.yaml": "helm: {parameters: [{name: name, value: two}]}\n", "templates/a.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: '{{ .Values.name }}-{{ .Release.Name }}'}\n"}, "two-x", ""},
		"of a chart's values":                   {"    helm: {releaseName: x, valuesObject: {name: one, more: {a: b}}}\n", map[string]string{"Chart.yaml": chart, "values.yaml": "name: none\n", ".argocd-source.yaml": "helm: {valuesObject: {name: null}, releaseName: null}\n", "templates/a.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: '{{ .Values.name }}-{{ .Values.more.a }}-{{ .Release.Name }}'}\n"}, "none-b-x", ""},
		"of no options":                         {"", map[string]string{".argocd-source.yaml": "- a\n", "a.yaml": configMap("a")}, "", "error: " + at + "fleet/bootstrap/hub/.argocd-source.yaml is not a map; expected options of a source"},
		"JSON of nothing":                       {"", map[string]string{"a.json": "\n"}, "", "error: fleet/bootstrap/hub/a.json: not one object; expected a single object in a file of JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			files := root(c.options)
			for p, text := range c.files {
				files[dir+p] = text
			}
			names, problems := below(t, files)
			assert.Equal(t, c.want, strings.Join(names, " "))
			assert.Equal(t, c.problems, strings.Join(problems, "\n"), "problems")
		})
	}
}
