package expand_test

import (
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v2/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v2/applicationset/generators"
	"github.com/argoproj/argo-cd/v2/applicationset/utils"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v2/util/argo"
	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// What is rendered, and what is wrong with a template, is what Argo CD's own renderer says of it,
// whatever a template has.
func TestRendererIsArgoCDs(t *testing.T) {
	params := map[string]any{
		"name": "one", "n": "3", "none": "", "list": []any{"a", "b"}, "deep": map[string]any{"key": "ns", "text": "a\nb: \"<c>\" {{ x }}"},
		"cut": "é", "generator": map[string]any{},
	}
	for name, spec := range map[string]string{
		"texts alone":                   `{"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"project": "p", "source": {"repoURL": "r"}}}`,
		"texts":                         `{"metadata": {"name": "{{ .name }}", "namespace": "{{ .deep.key }}"}, "spec": {"project": "{{ .name | upper }}", "destination": {"name": "{{ .name }}"}}}`,
		"nothing comes out":             `{"metadata": {"name": "{{ .none }}", "labels": {"a": "{{ .none }}"}}, "spec": {"source": {"chart": "{{ .none }}", "path": "{{- .none -}}"}}}`,
		"keys":                          `{"metadata": {"annotations": {"{{ .name }}/{{ .deep.key }}": "{{ .n }}", "b": "c"}}}`,
		"braces that are none":          `{"metadata": {"name": "a}}b"}, "spec": {"project": "{ {x} }"}}`,
		"what comes out is no template": `{"spec": {"source": {"helm": {"values": "{{ .deep.text }}"}}}}`,
		"values as an object":           `{"spec": {"source": {"helm": {"valuesObject": {"{{ .name }}": ["{{ .n }}", 1, 1.0, 12345678901234567890, null, true, {"a": "<{{ .name }}>"}]}}}}}`,
		"nulls in values": `{"spec": {"source": {"helm": {"valuesObject": {"a": null, "b": {"c": null, "d": [null, {"e": null, "f": "{{ .n }}"}]}, "{{ .missing }}": null, "g": {}, "h": {"i": null}}}},
			"sources": [{"helm": {"valuesObject": {"a": null}}}, {"helm": {"valuesObject": {}}}, {"helm": {"valuesObject": null, "values": null, "parameters": [{"name": "x", "value": null}]}}]}}`,
		"a number or a text":               `{"spec": {"source": {"kustomize": {"replicas": [{"name": "a", "count": "{{ .n }}"}, {"name": "b", "count": 2}]}}}}`,
		"pointers and lists":               `{"spec": {"sources": [{"repoURL": "{{ .name }}", "ref": "v"}, {"plugin": {"name": "p", "parameters": [{"name": "x", "string": "{{ .n }}"}, {"name": "y", "array": ["{{ .n }}"]}, {"name": "z", "map": {"a": "{{ .n }}"}}, {"name": "e", "array": [], "map": {}}]}}], "revisionHistoryLimit": 3}}`,
		"syncPolicy":                       `{"spec": {"syncPolicy": {"automated": {"prune": true}, "syncOptions": ["{{ .name }}=true"], "retry": {"limit": 5, "backoff": {"factor": 2, "duration": "{{ .n }}s"}}}}}`,
		"finalizers":                       `{"metadata": {"finalizers": ["{{ .name }}.io/x"]}}`,
		"finalizers of which none is left": `{"metadata": {"finalizers": []}}`,
		"ignored differences and info":     `{"spec": {"ignoreDifferences": [{"group": "apps", "kind": "{{ .name }}", "jsonPointers": ["/{{ .n }}"]}], "info": [{"name": "{{ .name }}", "value": "v"}]}}`,
		"functions":                        `{"metadata": {"name": "{{ .name | normalize }}", "labels": {"s": "{{ slugify 10 true .name }}"}}, "spec": {"source": {"helm": {"values": "{{ .deep | toYaml }}{{ .list | toJson }}"}}}}`,
		"fields":                           `{"metadata": {"name": "{{.deep.key}}-{{ .name }}x{{   .n   }}", "labels": {"a": "{{ .name }}}", "b": "}}{{ .n }}", "c": "{{ .none }}"}}}`,
		"a field that is no text":          `{"metadata": {"name": "{{ .list }}{{ .deep }}"}}`,
		"a field of a text":                `{"metadata": {"name": "{{ .name.first }}"}}`,
		"a field of nothing":               `{"metadata": {"name": "{{ .generator.none }}"}}`,
		"no field, but nearly":             `{"metadata": {"name": "{{{ .name }}"}}`,
		"two dots":                         `{"metadata": {"name": "{{ ..name }}"}}`,
		"a dot at the end":                 `{"metadata": {"name": "{{ .name. }}"}}`,
		"two fields":                       `{"metadata": {"name": "{{ .name .n }}"}}`,
		"all of it":                        `{"metadata": {"name": "{{ . }}"}}`,
		"a number for a field":             `{"metadata": {"name": "{{ .1 }}"}}`,
		"lines in an action":               `{"metadata": {"name": "{{\n.name\n}}-{{/* no */}}{{\t.n }}"}}`,
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
					set := v1alpha1.ApplicationSet{Spec: v1alpha1.ApplicationSetSpec{
						GoTemplate: goTemplate, GoTemplateOptions: option, SyncPolicy: sync,
						Generators: []v1alpha1.ApplicationSetGenerator{{List: &v1alpha1.ListGenerator{}}},
					}}
					require.NoError(t, json.Unmarshal([]byte(spec), &set.Spec.Template), "%s", name)
					want, wantErr := argoCDs(t, *set.DeepCopy(), params)
					before := set.DeepCopy()
					got, err := tools().ApplicationSets.Application(expand.Parameters{Values: params, Template: &set})
					gotErr := ""
					if err != nil {
						gotErr = err.Error()
					}
					if diff := cmp.Diff(string(manifest.Canonical(want)), string(manifest.Canonical(got))); diff != "" || wantErr != gotErr {
						t.Errorf("%s %s %s %v: %q, Argo CD's own: %q\n(-Argo CD's own +this)\n%s", name, options, policy, goTemplate, gotErr, wantErr, diff)
					}
					if !cmp.Equal(jsonOf(t, before), jsonOf(t, &set)) {
						t.Errorf("%s: the template has changed", name)
					}
				}
			}
		}
	}
}

// argoCDs is the Application that Argo CD's own renderer makes of a parameter set, or its error.
func argoCDs(t *testing.T, set v1alpha1.ApplicationSet, params map[string]any) (tree manifest.Tree, failure string) {
	t.Helper()
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	known := map[string]generators.Generator{"List": one{params}}
	apps, _, err := template.GenerateApplications(logrus.NewEntry(quiet), set, known, &utils.Render{}, nil)
	if err != nil {
		return nil, err.Error()
	}
	if len(apps) != 1 {
		t.Fatalf("%d Applications of one parameter set", len(apps))
	}
	apps[0].Spec = *argo.NormalizeApplicationSpec(&apps[0].Spec) // as the controller does
	apps[0].APIVersion, apps[0].Kind = "argoproj.io/v1alpha1", "Application"
	require.NoError(t, json.Unmarshal([]byte(jsonOf(t, &apps[0])), &tree))
	delete(tree, "status")
	if metadata, ok := tree["metadata"].(manifest.Tree); ok {
		delete(metadata, "creationTimestamp")
	}
	return tree, ""
}

// one is a generator of one parameter set.
type one struct{ params map[string]any }

func (g one) GenerateParams(*v1alpha1.ApplicationSetGenerator, *v1alpha1.ApplicationSet, client.Client) ([]map[string]any, error) {
	return []map[string]any{g.params}, nil
}

func (one) GetRequeueAfter(*v1alpha1.ApplicationSetGenerator) time.Duration { return 0 }

func (one) GetTemplate(*v1alpha1.ApplicationSetGenerator) *v1alpha1.ApplicationSetTemplate {
	return &v1alpha1.ApplicationSetTemplate{}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
