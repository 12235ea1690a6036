package argocd

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

//go:embed manifests.yaml
var manifests []byte

// rights are the ServiceAccounts of Argo CD's programs, with what these may do.
//
//go:embed rbac.yaml
var rights []byte

// settings are those of argocd-cm (rule 2).
var settings = map[string]string{
	"application.resourceTrackingMethod": "annotation",
	// v3's manifests/base/config/argocd-cm.yaml.
	"resource.customizations.ignoreResourceUpdates.all": "jsonPointers: [/status]\n",
	"resource.exclusions": `
- apiGroups: ["", discovery.k8s.io]
  kinds: [Endpoints, EndpointSlice]
- apiGroups: [coordination.k8s.io]
  kinds: [Lease]
- apiGroups: [authentication.k8s.io, authorization.k8s.io]
  kinds: [SelfSubjectReview, TokenReview, LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview]
- apiGroups: [certificates.k8s.io]
  kinds: [CertificateSigningRequest]
- apiGroups: [cert-manager.io]
  kinds: [CertificateRequest]
`,
}

// healthChecks are the kinds whose health Argo CD does not know, with the chart that has the check.
var healthChecks = map[string]string{
	"ConfigMap":                        "agent-grant",
	"provision.argosy.dev_EKSCluster":  "cluster-kro",
	"provision.argosy.dev_EKSNodes":    "cluster-kro",
	"provision.argosy.dev_XEKSCluster": "cluster-crossplane",
	"provision.argosy.dev_XEKSNodes":   "cluster-crossplane",
	"resources.argosy.dev_Database":    "cluster-crossplane",
	"resources.argosy.dev_Queue":       "cluster-crossplane",
	"resources.argosy.dev_Table":       "cluster-crossplane",
}

// HealthChecks are those of ownership grants, of clusters and their nodes, and of what applications
// claim, as settings of argocd-cm.
func HealthChecks(charts string) (map[string]string, error) {
	out := map[string]string{}
	for kind, chart := range healthChecks {
		script, err := os.ReadFile(filepath.Join(charts, chart, "health.lua"))
		if err != nil {
			return nil, fmt.Errorf("health check of %s: %w", kind, err)
		}
		out["resource.customizations.health."+kind] = string(script)
	}
	return out, nil
}

// install puts onto the hub what Argo CD needs there (rule 1).
func (a *ArgoCD) install(ctx context.Context, crds string, config map[string]string) error {
	if err := a.client.Namespace(ctx, Namespace); err != nil {
		return err
	}
	if err := a.client.Define(ctx, crds); err != nil {
		return err
	}
	all := maps.Clone(settings)
	maps.Copy(all, config)
	for _, o := range []*unstructured.Unstructured{
		object("ConfigMap", "argocd-cm", all),
		// argocd-server would make the key; the controllers take settings without one for
		// incomplete
		object("Secret", "argocd-secret", map[string]string{"server.secretkey": encode(rand.Text())}),
	} {
		o.SetLabels(map[string]string{"app.kubernetes.io/name": o.GetName(), "app.kubernetes.io/part-of": "argocd"})
		if err := a.client.ApplyObject(ctx, Namespace, o); err != nil {
			return err
		}
	}
	if err := a.client.Apply(ctx, Namespace, rights); err != nil {
		return err
	}
	return a.client.Apply(ctx, Namespace, manifests)
}

// object is a ConfigMap, or a Secret with encoded values.
func object(kind, name string, data map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	o.SetName(name)
	_ = unstructured.SetNestedStringMap(o.Object, data, "data") // cannot fail in an object without data
	return o
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
