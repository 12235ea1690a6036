package argocd

import (
	"encoding/json"
	"testing"

	"github.com/argoproj/argo-cd/v2/applicationset/utils"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/expand/manifest"
)

// What is rendered, and what is wrong with a template, is what Argo CD's own renderer says of it,
// whatever a template has.
func TestRendererIsArgoCDs(t *testing.T) {
	params := map[string]any{
		"name": "one", "n": "3", "none": "", "list": []any{"a", "b"}, "deep": map[string]any{"key": "ns", "text": "a\nb: \"<c>\" {{ x }}"},
		"cut": "é", "generator": map[string]any{},
	}
	for name, spec := range map[string]string{
		"texts alone":                      `{"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"project": "p", "source": {"repoURL": "r"}}}`,
		"texts":                            `{"metadata": {"name": "{{ .name }}", "namespace": "{{ .deep.key }}"}, "spec": {"project": "{{ .name | upper }}", "destination": {"name": "{{ .name }}"}}}`,
		"nothing comes out":                `{"metadata": {"name": "{{ .none }}", "labels": {"a": "{{ .none }}"}}, "spec": {"source": {"chart": "{{ .none }}", "path": "{{- .none -}}"}}}`,
		"keys":                             `{"metadata": {"annotations": {"{{ .name }}/{{ .deep.key }}": "{{ .n }}", "b": "c"}}}`,
		"braces that are none":             `{"metadata": {"name": "a}}b"}, "spec": {"project": "{ {x} }"}}`,
		"what comes out is no template":    `{"spec": {"source": {"helm": {"values": "{{ .deep.text }}"}}}}`,
		"values as an object":              `{"spec": {"source": {"helm": {"valuesObject": {"{{ .name }}": ["{{ .n }}", 1, 1.0, 12345678901234567890, null, true, {"a": "<{{ .name }}>"}]}}}}}`,
		"a number or a text":               `{"spec": {"source": {"kustomize": {"replicas": [{"name": "a", "count": "{{ .n }}"}, {"name": "b", "count": 2}]}}}}`,
		"pointers and lists":               `{"spec": {"sources": [{"repoURL": "{{ .name }}", "ref": "v"}, {"plugin": {"name": "p", "parameters": [{"name": "x", "string": "{{ .n }}"}, {"name": "y", "array": ["{{ .n }}"]}, {"name": "z", "map": {"a": "{{ .n }}"}}, {"name": "e", "array": [], "map": {}}]}}], "revisionHistoryLimit": 3}}`,
		"syncPolicy":                       `{"spec": {"syncPolicy": {"automated": {"prune": true}, "syncOptions": ["{{ .name }}=true"], "retry": {"limit": 5, "backoff": {"factor": 2, "duration": "{{ .n }}s"}}}}}`,
		"finalizers":                       `{"metadata": {"finalizers": ["{{ .name }}.io/x"]}}`,
		"finalizers of which none is left": `{"metadata": {"finalizers": []}}`,
		"ignored differences and info":     `{"spec": {"ignoreDifferences": [{"group": "apps", "kind": "{{ .name }}", "jsonPointers": ["/{{ .n }}"]}], "info": [{"name": "{{ .name }}", "value": "v"}]}}`,
		"functions":                        `{"metadata": {"name": "{{ .name | normalize }}", "labels": {"s": "{{ slugify 10 true .name }}"}}, "spec": {"source": {"helm": {"values": "{{ .deep | toYaml }}{{ .list | toJson }}"}}}}`,
		"half a letter":                    `{"metadata": {"name": "{{ trunc 1 .cut }}"}}`,
		"no such key":                      `{"metadata": {"name": "{{ .missing }}"}}`,
		"two that fail":                    `{"metadata": {"name": "{{ .missing }}"}, "spec": {"project": "{{ fail .name }}"}}`,
		"no template":                      `{"metadata": {"name": "{{ .name"}}`,
		"no such function":                 `{"metadata": {"name": "{{ env \"HOME\" }}"}}`,
		"a block that another one ends":    `{"metadata": {"name": "{{ if .name }}"}, "spec": {"project": "{{ end }}"}}`,
		"a variable of another one":        `{"metadata": {"name": "{{ $x := .name }}{{ $x }}"}, "spec": {"project": "{{ $x }}"}}`,
	} {
		for options, option := range map[string][]string{"strict": {"missingkey=error"}, "": nil} {
			for policy, sync := range map[string]*v1alpha1.ApplicationSetSyncPolicy{"": nil, "preserved": {PreserveResourcesOnDeletion: true}} {
				for _, goTemplate := range []bool{true, false} {
					var of v1alpha1.Application
					if err := json.Unmarshal([]byte(spec), &of); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					want, wantErr := result((&utils.Render{}).RenderTemplateParams(of.DeepCopy(), sync, params, goTemplate, option))
					before := of.DeepCopy()
					got, gotErr := result((&renderer{}).RenderTemplateParams(&of, sync, params, goTemplate, option))
					if diff := cmp.Diff(want, got); diff != "" || wantErr != gotErr {
						t.Errorf("%s %s %s %v: %q, Argo CD's own: %q\n(-Argo CD's own +this)\n%s", name, options, policy, goTemplate, gotErr, wantErr, diff)
					}
					if !cmp.Equal(text(t, before), text(t, &of)) {
						t.Errorf("%s: the template has changed", name)
					}
				}
			}
		}
	}
}

func result(app *v1alpha1.Application, err error) (manifest.Tree, string) {
	if err != nil {
		return nil, err.Error()
	}
	tree, err := encode(app)
	if err != nil {
		return nil, err.Error()
	}
	return tree, ""
}

func text(t *testing.T, app *v1alpha1.Application) string {
	t.Helper()
	data, err := json.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
