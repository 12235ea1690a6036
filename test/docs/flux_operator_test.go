package docs

import (
	"maps"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestResourcesOfFluxOperator: what the ResourceSet of the how-to makes of a component has the URL
// and the type that Flux's HelmRepository asks for (source-controller v1.7, its CRD:
// ^(http|https|oci)://), of a registry, too, whose URL has no scheme in a parameter set.
func TestResourcesOfFluxOperator(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(read(t, "docs/how-to/flux-operator.md"), "kind: ResourceSet\n")
	text, _, _ := strings.Cut(rest, "```")
	var set struct {
		Spec struct{ ResourcesTemplate string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &set))
	for address, want := range map[string][2]string{
		"https://charts.example.com": {"https://charts.example.com", "default"},
		"public.ecr.aws/karpenter":   {"oci://public.ecr.aws/karpenter", "oci"},
	} {
		functions := template.FuncMap{"inputs": func() any {
			return map[string]any{
				"id": "x", "helmValues": "a: 1", "releaseName": "r", "namespace": "n",
				"chart": map[string]any{"repoURL": address, "name": "c", "version": "1.0.0"},
			}
		}}
		maps.Copy(functions, sprig.TxtFuncMap())
		parsed, err := template.New("").Delims("<<", ">>").Funcs(functions).Parse(set.Spec.ResourcesTemplate)
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, parsed.Execute(&out, nil))
		found := false
		for doc := range strings.SplitSeq(out.String(), "---\n") {
			var o struct {
				Kind string
				Spec struct{ URL, Type string }
			}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Fatalf("%v:\n%s", err, doc)
			}
			if o.Kind != "HelmRepository" {
				continue
			}
			found = true
			assert.Equal(t, want, [2]string{o.Spec.URL, o.Spec.Type}, "%s", address)
		}
		if !found {
			t.Error("there is no HelmRepository")
		}
	}
}
