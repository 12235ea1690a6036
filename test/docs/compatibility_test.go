package docs

import (
	"regexp"
	"strings"
	"testing"
)

// The versions in docs/reference/compatibility.md are those that the proofs build.
func TestCompatibilityNamesTheVersionsThatRun(t *testing.T) {
	t.Parallel()
	const components = "test/e2e/components/"
	page := read(t, "docs/reference/compatibility.md")
	for row, at := range map[string][2]string{
		"Argo CD 3.6":                {components + "argocd-3.6", "github.com/argoproj/argo-cd/v3"},
		"Argo CD 3.5":                {components + "argocd-3.5", "github.com/argoproj/argo-cd/v3"},
		"Argo CD 2.14":               {components + "argocd-2.14", "github.com/argoproj/argo-cd/v2"},
		"Flux: source-controller":    {components + "flux", "github.com/fluxcd/source-controller"},
		"Flux: kustomize-controller": {components + "flux", "github.com/fluxcd/kustomize-controller"},
		"Flux: helm-controller":      {components + "flux", "github.com/fluxcd/helm-controller"},
		"External Secrets":           {components + "external-secrets", "github.com/external-secrets/external-secrets"},
		"Kubernetes":                 {components + "kubernetes", "k8s.io/kubernetes"},
		"etcd":                       {components + "etcd", "go.etcd.io/etcd/server/v3"},
		"Kyverno":                    {components + "kyverno", "github.com/kyverno/kyverno"},
		"kro":                        {components + "kro", "github.com/kubernetes-sigs/kro"},
		"Cluster API":                {components + "cluster-api", "sigs.k8s.io/cluster-api"},
		"Crossplane":                 {components + "crossplane", "github.com/crossplane/crossplane"},
		"Crossplane: function-patch-and-transform": {components + "crossplane-function", "github.com/crossplane-contrib/function-patch-and-transform"},
		"Helm, as `argosy` renders":                {".", "helm.sh/helm/v3"},
		"Helm, as Argo CD 2.14 renders":            {components + "argocd-2.14", "helm.sh/helm/v3"},
		"Helm, as Argo CD 3.5 renders":             {components + "argocd-3.5", "helm.sh/helm/v4"},
		"Helm, as Argo CD 3.6 renders":             {components + "argocd-3.6", "helm.sh/helm/v4"},
		"Helm 4":                                   {"test/helm4", "helm.sh/helm/v4"},
	} {
		required := regexp.MustCompile(`(?m)^(?:require|\t)\s*` + regexp.QuoteMeta(at[1]) + ` (v\S+)`).FindStringSubmatch(read(t, at[0]+"/go.mod"))
		if required == nil {
			t.Errorf("%s/go.mod does not require %s", at[0], at[1])
			continue
		}
		if !strings.Contains(page, "\n| "+row+" | "+required[1]+" | ") {
			t.Errorf("docs/reference/compatibility.md: %s is not %s, the version of %s/go.mod", row, required[1], at[0])
		}
	}
}
