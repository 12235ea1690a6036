package flux

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// ofOperator is the API group of the Flux Operator.
const ofOperator = "fluxcd.controlplane.io"

// maxResources limits what ResourceSets make of objects that came together: one may make others.
const maxResources = 10_000

// withResources adds what ResourceSets make to objects that came together, as if it had come with
// them. It reports a ResourceSet that is not followed.
func (l Linker) withResources(objects []*object.Object) []*object.Object {
	for i := 0; i < len(objects); i++ {
		o := objects[i]
		if !o.Is(ofOperator, "ResourceSet") {
			continue
		}
		made, err := resources(o)
		if err == nil && len(objects)+len(made) > maxResources {
			err = fmt.Errorf("there are more than %d objects with it", maxResources)
		}
		if err != nil {
			l.Warn(o, "what it makes is not followed: "+err.Error())
			continue
		}
		objects = append(slices.Clip(objects), made...)
	}
	return objects
}

// resources returns the objects that a ResourceSet makes, as the Flux Operator does (v0.58,
// internal/builder/resourceset.go): of each template one for each set of inputs, and the first of
// each name.
func resources(o *object.Object) (out []*object.Object, err error) {
	spec, _ := o.Tree["spec"].(manifest.Tree)
	if from, _ := spec["inputsFrom"].([]any); len(from) > 0 {
		return nil, fmt.Errorf("its inputs come from %s %q", manifest.Text(from[0], "kind"), manifest.Text(from[0], "name"))
	}
	steps, _ := spec["steps"].([]any)
	var templates []string
	for _, step := range append([]any{spec}, steps...) {
		all, _ := manifest.At(step, "resources").([]any)
		for _, x := range all {
			text, err := yamldoc.FromAny(nil, x).YAML()
			if err != nil {
				return nil, err
			}
			templates = append(templates, string(text))
		}
		if text := manifest.Text(step, "resourcesTemplate"); text != "" {
			templates = append(templates, text)
		}
	}
	inputs, _ := spec["inputs"].([]any)
	if len(inputs) == 0 {
		inputs = []any{manifest.Tree{}}
	}
	seen := map[object.Key]bool{}
	for _, text := range templates {
		for _, input := range inputs {
			objects, err := execute(o, text, input)
			if err != nil {
				return nil, err
			}
			for _, x := range objects {
				if k := x.Key(); !seen[k] && manifest.Text(x.Tree, "metadata", "annotations", ofOperator+"/reconcile") != "disabled" {
					seen[k] = true
					out = append(out, x)
				}
			}
		}
	}
	return out, nil
}

// execute returns the objects of one of a ResourceSet's templates.
func execute(o *object.Object, text string, input any) (out []*object.Object, err error) {
	t, err := tmpl.Parse(problem.Pos{}, withBraces(text))
	if err != nil {
		return nil, withoutPlace(err)
	}
	values := manifest.Copy(input)
	values["provider"] = manifest.Tree{"apiVersion": o.APIVersion(), "kind": o.Kind(), "name": o.Name(), "namespace": o.Namespace()}
	if text, err = t.Execute(manifest.Tree{"inputs": values}); err != nil {
		return nil, withoutPlace(err)
	}
	docs, err := manifest.Documents(snapshot.NewFile(o.Pos.File, []byte(text), int64(len(text))))
	if err != nil {
		return nil, err
	}
	for _, doc := range docs {
		tree, ok := doc.Root.Any().(manifest.Tree)
		if !ok {
			continue
		}
		tree = manifest.Plain(tree)
		addCommon(tree, manifest.At(o.Tree, "spec", "commonMetadata"))
		out = append(out, &object.Object{Engine: o.Engine, Tree: tree, Parent: o.Parent, Pos: o.Pos})
	}
	return out, nil
}

// withoutPlace returns a template's error without its place, which is one in the text, and without
// hints, which are for a fleet's templates.
func withoutPlace(err error) error {
	p := problem.From(err, problem.TemplateFailed, problem.Pos{})[0]
	return errors.New(strings.ReplaceAll(problem.Problem{Subject: p.Subject, Found: p.Found}.Message(), "$.inputs", "inputs"))
}

// addCommon adds a ResourceSet's labels and annotations, which win.
func addCommon(tree manifest.Tree, common any) {
	for _, key := range []string{"labels", "annotations"} {
		if more, _ := manifest.At(common, key).(manifest.Tree); len(more) > 0 {
			metadata := manifest.Copy(tree["metadata"])
			all := manifest.Copy(metadata[key])
			maps.Copy(all, more)
			metadata[key] = all
			tree["metadata"] = metadata
		}
	}
}

// inputsFunction matches the function that returns a set of inputs.
var inputsFunction = regexp.MustCompile(`(^|[^.\w"])inputs\b`)

// withBraces returns a template with the delimiters of this program's templates.
func withBraces(text string) string {
	var out strings.Builder
	for {
		plain, rest, found := strings.Cut(text, "<<")
		out.WriteString(strings.ReplaceAll(plain, "{{", `{{"{{"}}`))
		action, after, ends := strings.Cut(rest, ">>")
		if !found {
			return out.String()
		}
		out.WriteString("{{" + inputsFunction.ReplaceAllString(action, "$1$$.inputs"))
		if ends {
			out.WriteString("}}")
		}
		text = after
	}
}
