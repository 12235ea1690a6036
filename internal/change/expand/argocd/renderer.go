package argocd

import (
	"encoding/json"
	"strings"

	"github.com/argoproj/argo-cd/v2/applicationset/utils"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
)

// renderer is Argo CD's renderer, but renders only texts that may be templates. Argo CD's own makes
// a Go template, with a copy of all functions, of each text of an Application, even of empty ones.
// That takes 2 ms for each Application.
type renderer struct {
	utils.Render
	patch string // the rendered templatePatch
}

var _ utils.Renderer = (*renderer)(nil)

// Replace is Argo CD's, which calls it only for templatePatch.
func (r *renderer) Replace(text string, params map[string]any, goTemplate bool, options []string) (string, error) {
	out, err := r.Render.Replace(text, params, goTemplate, options)
	r.patch = out
	return out, err
}

// RenderTemplateParams is Argo CD's. It leaves errors, and whatever is not a Go template, to Argo
// CD.
func (r *renderer) RenderTemplateParams(of *v1alpha1.Application, policy *v1alpha1.ApplicationSetSyncPolicy, params map[string]any, goTemplate bool, options []string) (*v1alpha1.Application, error) {
	if goTemplate && of != nil && len(params) > 0 {
		replace := func(text string) (string, error) {
			if out, ok := withFields(text, params); ok {
				return out, nil
			}
			return r.Render.Replace(text, params, goTemplate, options)
		}
		if app, err := rendered(of, replace); err == nil {
			// As v2.14, applicationset/utils/utils.go.
			if (policy == nil || !policy.PreserveResourcesOnDeletion) && len(app.Finalizers) == 0 {
				app.Finalizers = []string{v1alpha1.ResourcesFinalizerName}
			}
			return app, nil
		}
	}
	return r.Render.RenderTemplateParams(of, policy, params, goTemplate, options)
}

// rendered returns an Application with its texts replaced. It works on the JSON form, in which the
// Application comes and goes.
func rendered(of *v1alpha1.Application, replace func(string) (string, error)) (*v1alpha1.Application, error) {
	data, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	var tree any
	// Argo CD's own renderer rounds the numbers of valuesObject, too.
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	if tree, err = replaced(tree, replace); err != nil {
		return nil, err
	}
	if data, err = json.Marshal(tree); err != nil {
		return nil, err
	}
	var out v1alpha1.Application
	return &out, json.Unmarshal(data, &out)
}

// replaced returns a value with all texts replaced that may be templates, keys included. It drops
// null keys, as Argo CD's own renderer does.
func replaced(value any, replace func(string) (string, error)) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "{{") {
			return replace(v)
		}
	case []any:
		for i := range v {
			if v[i], err = replaced(v[i], replace); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, below := range v {
			if below == nil {
				continue
			}
			if below, err = replaced(below, replace); err != nil {
				return nil, err
			}
			if strings.Contains(key, "{{") {
				if key, err = replace(key); err != nil {
					return nil, err
				}
			}
			out[key] = below
		}
		return out, nil
	}
	return value, nil
}

// withFields renders a template that has only fields, such as {{ .metadata.labels.zone }}; most
// templates do. It returns false for any other template, and for a field that is not a text.
func withFields(template string, params map[string]any) (string, bool) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		action, after, closed := strings.Cut(rest, "}}")
		field, dotted := strings.CutPrefix(strings.Trim(action, " "), ".")
		if !closed || !dotted {
			return "", false
		}
		value := any(params)
		for name := range strings.SplitSeq(field, ".") {
			fields, _ := value.(map[string]any)
			if !isName(name) {
				return "", false
			}
			value = fields[name]
		}
		text, ok := value.(string)
		if !ok {
			return "", false
		}
		b.WriteString(text)
		template = after
	}
}

// isName reports whether a name is a valid field name in a Go template.
func isName(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
