package argocd

import (
	"encoding/json"
	"strings"

	"github.com/argoproj/argo-cd/v2/applicationset/utils"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
)

// renderer is Argo CD's renderer, given those texts alone that may be templates. Argo CD's own
// makes a Go template, with a copy of all functions, of each text of an Application, of the many
// empty ones too: 2 ms for each Application.
type renderer struct {
	utils.Render
	patch string // templatePatch with its values
}

var _ utils.Renderer = (*renderer)(nil)

// Replace is Argo CD's, which calls it for templatePatch alone.
func (r *renderer) Replace(text string, params map[string]any, goTemplate bool, options []string) (string, error) {
	out, err := r.Render.Replace(text, params, goTemplate, options)
	r.patch = out
	return out, err
}

// RenderTemplateParams is Argo CD's. Whatever is wrong is left to it to say, and whatever is no Go
// template.
func (r *renderer) RenderTemplateParams(of *v1alpha1.Application, policy *v1alpha1.ApplicationSetSyncPolicy, params map[string]any, goTemplate bool, options []string) (*v1alpha1.Application, error) {
	if goTemplate && of != nil && len(params) > 0 {
		replace := func(text string) (string, error) {
			if out, ok := withFields(text, params); ok {
				return out, nil
			}
			return r.Render.Replace(text, params, goTemplate, options)
		}
		if app, err := rendered(of, replace); err == nil {
			if (policy == nil || !policy.PreserveResourcesOnDeletion) && len(app.Finalizers) == 0 { // as v2.14, applicationset/utils/utils.go
				app.Finalizers = []string{v1alpha1.ResourcesFinalizerName}
			}
			return app, nil
		}
	}
	return r.Render.RenderTemplateParams(of, policy, params, goTemplate, options)
}

// rendered is an Application with its texts replaced, in its form as JSON: which is how it comes,
// and where it goes to.
func rendered(of *v1alpha1.Application, replace func(string) (string, error)) (*v1alpha1.Application, error) {
	data, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil { // Argo CD's own renderer rounds the numbers of valuesObject, too
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

// replaced is a value with all texts replaced that may be templates, keys included. Keys that are
// null are left out, as Argo CD's own renderer does.
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

// withFields is a template that has nothing but fields, as {{ .metadata.labels.zone }}, with their
// texts: most templates do. It is not ok for any other, nor for a field that is no text.
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

// isName reports whether a field's name is one in a Go template.
func isName(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
