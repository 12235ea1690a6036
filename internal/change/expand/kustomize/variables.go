package kustomize

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// postBuild is a Kustomization's spec.postBuild.
type postBuild struct {
	Substitute         map[string]string
	SubstituteStrategy string
}

var variable = regexp.MustCompile(`^[_[:alpha:]][_[:alpha:][:digit:]]*$`)

// substitute replaces an object's variables (kustomize_varsub.go, SubstituteVariables). A missing
// variable without a default is an error, as with kustomize-controller 1.9 (its feature gate
// StrictPostBuildSubstitutions). A variable that an unknown object may set is not followed.
func (p *postBuild) substitute(f *source.Flux, made resmap.ResMap, r *resource.Resource) error {
	if r.GetLabels()[api+"substitute"] == "disabled" || r.GetAnnotations()[api+"substitute"] == "disabled" {
		return nil
	}
	all := maps.Clone(f.Variables)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, p.Substitute)
	if len(all) == 0 && f.Unknown == "" && p.SubstituteStrategy != "Always" {
		return nil
	}
	for name, value := range all {
		if !variable.MatchString(name) {
			return fmt.Errorf("variable %q has no name that Flux takes", name)
		}
		all[name] = strings.ReplaceAll(value, "\n", "")
	}
	text, err := r.AsYAML()
	if err != nil {
		return err
	}
	unknown := ""
	replaced, err := evaluate(string(text), func(name string) (string, bool) {
		value, known := all[name]
		if !known && f.Unknown != "" && unknown == "" {
			unknown = name
		}
		return value, known
	})
	switch {
	case unknown != "":
		return source.NotFollowed{
			Text: fmt.Sprintf("variable %s may come from %s, which is not known here", unknown, f.Unknown),
			Hint: "variables are known of spec.postBuild.substitute, and of ConfigMaps that come with the Kustomization, or with what makes it",
		}
	case err != nil:
		return fmt.Errorf("variables: %w", err)
	case f.Unknown != "" && len(all) == 0 && replaced == string(text):
		return nil
	}
	object, err := yaml.YAMLToJSON([]byte(replaced))
	if err == nil {
		err = r.UnmarshalJSON(object)
	}
	if err == nil {
		_, err = made.Replace(r)
	}
	return err
}

// evaluate is envsubst.Eval, and returns a panic as an error.
func evaluate(text string, value func(string) (string, bool)) (out string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("envsubst panics: %v", r)
		}
	}()
	return envsubst.Eval(text, value)
}
