package labels

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// FuzzLabels: whatever a map of labels holds, what is taken is what Kubernetes takes (L2), and
// everything else is a problem.
func FuzzLabels(f *testing.F) {
	for _, s := range []string{"a: b\n", "a: 012\nb: yes\nc: ~\nd: 1e3\n", "x/y/z: a\n", "a: '-'\n", "argocd.argoproj.io/secret-type: x\n", "a: {b: c}\n", "'': ''\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := yamldoc.Parse("f", []byte(text))
		if err != nil {
			return
		}
		declared, problems := FromNode(Label, doc.Root)
		set, refused := Compute(Input{Kind: Label, Declared: declared, Reserved: map[string]string{Tenant: "t"}})
		for k, v := range set.All {
			if len(validation.IsQualifiedName(k)) > 0 || len(validation.IsValidLabelValue(v)) > 0 {
				if len(problem.Errors(problems))+len(problem.Errors(refused)) == 0 {
					t.Fatalf("%q: the label %q=%q is taken without a problem", text, k, v)
				}
			}
		}
		require.Equal(t, "t", set.All[Tenant], "%q overrides a reserved label", text)
	})
}
