package verify

import (
	"fmt"
	"os"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// buildEnvironment holds the variables that Argo CD puts into options of a source, among them the
// Application's name, which a fleet changes. (github.com/argoproj/argo-cd v2.14.21,
// reposerver/repository/repository.go, newEnv)
type buildEnvironment struct {
	known   map[string]string
	unknown string // the first variable that only Argo CD knows
}

// environmentOf returns the build environment of a source.
func environmentOf(a *Application, s source.Source) *buildEnvironment {
	return &buildEnvironment{known: map[string]string{
		"ARGOCD_APP_NAME": a.Name, "ARGOCD_APP_NAMESPACE": manifest.Text(a.Spec, "destination", "namespace"),
		"ARGOCD_APP_SOURCE_REPO_URL": s.RepoURL, "ARGOCD_APP_SOURCE_PATH": s.Path, "ARGOCD_APP_SOURCE_TARGET_REVISION": s.Revision, "$": "$",
	}}
}

// expand returns a text as Argo CD expands it: a variable that it does not have is empty.
func (e *buildEnvironment) expand(text string) string {
	return os.Expand(text, func(name string) string {
		value, ok := e.known[name]
		if !ok && e.unknown == "" && (strings.HasPrefix(name, "ARGOCD_APP_") || strings.HasPrefix(name, "KUBE_")) {
			e.unknown = name
		}
		return value
	})
}

// err returns an error if a text has a variable whose value only Argo CD knows.
func (e *buildEnvironment) err() error {
	if e.unknown == "" {
		return nil
	}
	return &Unreadable{Text: fmt.Sprintf("has the variable $%s, which only Argo CD knows", e.unknown), Hint: "write what it stands for"}
}

// named puts the Application's name into the options of a source that Argo CD expands besides
// Helm's values. All other variables are the same for an Application of another name.
func (e *buildEnvironment) named(tree manifest.Tree) {
	name := e.known["ARGOCD_APP_NAME"]
	replace := strings.NewReplacer("$$", "$$", "${ARGOCD_APP_NAME}", name, "$ARGOCD_APP_NAMESPACE", "$ARGOCD_APP_NAMESPACE", "$ARGOCD_APP_NAME", name)
	for _, p := range [][]string{
		{"helm", "fileParameters"},
		{"kustomize", "images"},
		{"kustomize", "commonLabels"},
		{"kustomize", "commonAnnotations"},
		{"directory", "jsonnet"},
		{"plugin", "env"},
	} {
		options := manifest.At(tree, p[0])
		v := manifest.At(options, p[1])
		if isExpanded, _ := manifest.At(options, "commonAnnotationsEnvsubst").(bool); v == nil || p[1] == "commonAnnotations" && !isExpanded {
			continue
		}
		of := manifest.Copy(options)
		of[p[1]] = WithTexts(v, replace.Replace)
		tree[p[0]] = of
	}
}

// WithTexts returns a value with other texts in the place of all of its texts.
func WithTexts(v any, other func(string) string) any {
	switch v := v.(type) {
	case string:
		return other(v)
	case manifest.Tree:
		out := make(manifest.Tree, len(v))
		for key := range v {
			out[key] = WithTexts(v[key], other)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = WithTexts(v[i], other)
		}
		return out
	}
	return v
}
