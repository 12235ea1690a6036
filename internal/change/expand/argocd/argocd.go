// Package argocd runs Argo CD's ApplicationSet controller as a function: its own generators,
// renderer and patches.
//
//	sets, err := argocd.New().Parameters(applicationSet, expand.Inputs{Plugin: query, Git: open})
//	application, err := argocd.New().Application(sets[0]) // Application dns-prod-eu-1
//
// Two parts are ours: the generator plugin's client, which queries the resolver instead of a
// server, and the git generator's reader, which reads snapshots.
package argocd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/argoproj/argo-cd/v2/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v2/applicationset/generators"
	"github.com/argoproj/argo-cd/v2/applicationset/utils"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v2/util/argo"
	"github.com/jeremywohl/flatten"
	"github.com/sirupsen/logrus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// ApplicationSets is Argo CD's ApplicationSet controller.
type ApplicationSets struct{ log *logrus.Entry }

var _ expand.ApplicationSets = (*ApplicationSets)(nil)

// New makes the controller. It discards what Argo CD logs, and returns errors.
func New() *ApplicationSets {
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.PanicLevel) // Argo CD would log all folders of a repository
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	quiet.SetLevel(logrus.PanicLevel)
	return &ApplicationSets{log: logrus.NewEntry(quiet)}
}

// Parameters runs an ApplicationSet's generators, and returns a panic as an error. Argo CD's merge
// generator panics where two sets have values of one name and different types.
func (a *ApplicationSets) Parameters(tree manifest.Tree, in expand.Inputs) (out []expand.Parameters, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("the generators panic: %v", p)
		}
	}()
	set, err := decode(tree)
	if err != nil {
		return nil, err
	}
	known := map[string]generators.Generator{
		"Plugin": &plugin{query: in.Plugin, name: set.Name}, "List": generators.NewListGenerator(), "Git": newGit(in.Git),
	}
	if in.Clusters != nil {
		known["Clusters"] = newClusters(in.Clusters)
	}
	nested := maps.Clone(known)
	nested["Matrix"], nested["Merge"] = generators.NewMatrixGenerator(maps.Clone(known)), generators.NewMergeGenerator(maps.Clone(known))
	known["Matrix"], known["Merge"] = generators.NewMatrixGenerator(nested), generators.NewMergeGenerator(nested)
	index := 0
	for i, g := range set.Spec.Generators {
		specs := specsOf(tree, i)
		results, err := generators.Transform(g, known, set.Spec.Template, set, map[string]any{}, nil)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			one := *set
			one.Spec.Template = r.Template
			one.Spec.Generators = []v1alpha1.ApplicationSetGenerator{{List: &v1alpha1.ListGenerator{}}}
			for _, p := range r.Params {
				out = append(out, expand.Parameters{Values: p, Template: &made{&one, specs}, Index: index})
			}
			index++
		}
	}
	return out, nil
}

// Application renders one parameter set that Parameters has returned. The renderer copies what it
// changes.
func (a *ApplicationSets) Application(p expand.Parameters) (manifest.Tree, error) {
	var specs []any
	set, ok := p.Template.(*v1alpha1.ApplicationSet)
	if m, is := p.Template.(*made); is {
		set, specs, ok = m.ApplicationSet, m.specs, true
	}
	if !ok {
		return nil, errors.New("not a parameter set of an ApplicationSet")
	}
	known, r := map[string]generators.Generator{"List": given{p.Values}}, &renderer{}
	apps, _, err := template.GenerateApplications(a.log, *set, known, r, nil)
	if err != nil {
		return nil, err
	}
	if len(apps) != 1 {
		return nil, fmt.Errorf("%d Applications of one parameter set", len(apps))
	}
	apps[0].Spec = *argo.NormalizeApplicationSpec(&apps[0].Spec) // as the controller does
	out, err := encode(&apps[0])
	if err != nil {
		return nil, err
	}
	addNewer(out, append(slices.Clone(specs), patched(r.patch))...)
	return out, nil
}

// decode reads an ApplicationSet as the API server stores it: without unknown keys and null values.
func decode(tree manifest.Tree) (*v1alpha1.ApplicationSet, error) {
	var set v1alpha1.ApplicationSet
	if err := convert(withExclusions(tree), &set); err != nil {
		return nil, fmt.Errorf("not an ApplicationSet: %w", err)
	}
	set.Spec.ApplyNestedSelectors = true // Argo CD 3 knows nothing else
	return &set, nil
}

// anyJSON lists keys whose values may be any JSON: the API server keeps null in them.
var anyJSON = []string{"valuesObject", "elements", "input"}

// withoutNulls returns a tree without the keys that are null, and copies what changes. The API
// server drops them from an object whose schema has types (apiextensions-apiserver,
// PruneNonNullableNullsWithoutDefaults). A null label is therefore absent, not the empty text that
// Go decodes.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutNulls(v[i])
		}
		return out
	case manifest.Tree:
		out := make(manifest.Tree, len(v))
		for key, below := range v {
			switch {
			case below == nil:
			case slices.Contains(anyJSON, key):
				out[key] = below
			default:
				out[key] = withoutNulls(below)
			}
		}
		return out
	}
	return v
}

// convert reads a tree as one of Argo CD's types.
func convert(tree, to any) error {
	data, err := json.Marshal(withoutNulls(tree))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// encode returns an Application without the fields that the API server and controllers fill in.
func encode(app *v1alpha1.Application) (manifest.Tree, error) {
	app.APIVersion, app.Kind = "argoproj.io/v1alpha1", "Application"
	data, err := json.Marshal(app)
	if err != nil {
		return nil, err
	}
	var out manifest.Tree
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	if app.Spec.Source != nil {
		exactValues(manifest.At(out, "spec", "source"), *app.Spec.Source)
	}
	sources, _ := manifest.At(out, "spec", "sources").([]any)
	for i := range sources {
		exactValues(sources[i], app.Spec.Sources[i])
	}
	delete(out, "status")
	if metadata, ok := out["metadata"].(manifest.Tree); ok {
		delete(metadata, "creationTimestamp")
	}
	return out, nil
}

// exactValues gives a source's valuesObject its numbers as they are written.
func exactValues(tree any, of v1alpha1.ApplicationSource) {
	helm, _ := manifest.At(tree, "helm").(manifest.Tree)
	if helm["valuesObject"] == nil || of.Helm == nil || of.Helm.ValuesObject == nil {
		return
	}
	numbers := json.NewDecoder(bytes.NewReader(of.Helm.ValuesObject.Raw))
	numbers.UseNumber()
	var values any
	if numbers.Decode(&values) == nil {
		helm["valuesObject"] = values
	}
}

// given is a generator that yields one set.
type given struct{ values map[string]any }

func (g given) GenerateParams(*v1alpha1.ApplicationSetGenerator, *v1alpha1.ApplicationSet, client.Client) ([]map[string]any, error) {
	return []map[string]any{g.values}, nil
}

func (given) GetRequeueAfter(*v1alpha1.ApplicationSetGenerator) time.Duration { return 0 }

func (given) GetTemplate(*v1alpha1.ApplicationSetGenerator) *v1alpha1.ApplicationSetTemplate {
	return &v1alpha1.ApplicationSetTemplate{}
}

// plugin is Argo CD's plugin generator (v2.14, applicationset/generators/plugin.go) without its
// HTTP client.
type plugin struct {
	query expand.Query
	name  string
}

func (g *plugin) GetRequeueAfter(*v1alpha1.ApplicationSetGenerator) time.Duration { return 0 }

func (g *plugin) GetTemplate(of *v1alpha1.ApplicationSetGenerator) *v1alpha1.ApplicationSetTemplate {
	return &of.Plugin.Template
}

func (g *plugin) GenerateParams(of *v1alpha1.ApplicationSetGenerator, set *v1alpha1.ApplicationSet, _ client.Client) ([]map[string]any, error) {
	if of == nil || of.Plugin == nil {
		return nil, errors.New("no plugin generator")
	}
	request, err := json.Marshal(of.Plugin.Input.Parameters)
	if err != nil {
		return nil, err
	}
	body, err := g.query(g.name, request)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Output struct {
			Parameters []map[string]any `json:"parameters"`
		} `json:"output"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("the plugin's answer: %w", err)
	}
	for i, found := range answer.Output.Parameters {
		if answer.Output.Parameters[i], err = parameters(of.Plugin, set.Spec, found); err != nil {
			return nil, err
		}
	}
	return answer.Output.Parameters, nil
}

// parameters adds what Argo CD adds to each set. Without Go templates it flattens the set.
func parameters(of *v1alpha1.PluginGenerator, spec v1alpha1.ApplicationSetSpec, found map[string]any) (map[string]any, error) {
	params := found
	if !spec.GoTemplate {
		flat, err := flatten.Flatten(found, "", flatten.DotStyle)
		if err != nil {
			return nil, err
		}
		params = make(map[string]any, len(flat)+1)
		for k, v := range flat {
			params[k] = fmt.Sprintf("%v", v)
		}
	}
	params["generator"] = map[string]any{"input": map[string]v1alpha1.PluginParameters{"parameters": of.Input.Parameters}}
	return params, values(of.Values, params, spec)
}

// values adds the generator's own values, which are templates over the set
// (generators/value_interpolation.go).
func values(of map[string]string, params map[string]any, spec v1alpha1.ApplicationSetSpec) error {
	if len(of) == 0 {
		return nil
	}
	rendered := map[string]any{}
	for k, v := range of {
		text, err := (&utils.Render{}).Replace(v, params, spec.GoTemplate, spec.GoTemplateOptions)
		if err != nil {
			return fmt.Errorf("value %s: %w", k, err)
		}
		if spec.GoTemplate {
			rendered[k] = text
		} else {
			params["values."+k] = text
		}
	}
	if spec.GoTemplate {
		params["values"] = rendered
	}
	return nil
}
