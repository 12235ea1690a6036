package e2e

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// external: External Secrets may write the Secrets that Argo CD deploys with, and somebody could
// have it do so by an ExternalSecret. Argo CD writes those of the fleet, each into the Secret of
// its own name: a tenant's tree cannot name the Secret of another's cluster.
func (p *policies) external(t *testing.T) {
	const (
		merge    = `{"target":{"name":"theirs","creationPolicy":"Merge"}}`
		other    = "spec.target.name is not the ExternalSecret's own name"
		noWriter = somebody + " may not write ExternalSecrets and PushSecrets here"
	)
	for name, c := range map[string]struct{ user, spec, refused string }{
		"somebody's":                  {somebody, `{}`, noWriter},
		"Argo CD's":                   {argoCDWriter, `{}`, ""},
		"Argo CD's own name":          {argoCDWriter, `{"target":{"name":"own","creationPolicy":"Merge"}}`, ""},
		"Argo CD's of another's":      {argoCDWriter, merge, other},
		"Argo CD's over another's":    {argoCDWriter, `{"target":{"name":"theirs","creationPolicy":"Orphan"}}`, other},
		"Argo CD's of a named target": {argoCDWriter, `{"target":{"name":"shared"}}`, ""},
		"a controller's of another's": {fleetWriter, merge, other},
	} {
		p.expect(t, name, p.createExternal(t, c.user, hub.Namespace, externalSecret("own", c.spec)), c.refused)
	}
	p.expect(t, "elsewhere", p.createExternal(t, somebody, "elsewhere", externalSecret("own", merge)), "")

	written := p.objects[argoCDWriter].Resource(kube.ExternalSecrets).Namespace(hub.Namespace)
	own, err := written.Create(t.Context(), externalSecret("own", `{}`), metav1.CreateOptions{})
	must(t, err)
	own.Object["spec"] = externalSecret("own", merge).Object["spec"]
	_, err = written.Update(t.Context(), own, metav1.UpdateOptions{})
	p.expect(t, "a change to another's", err, other)
	by := p.objects[somebody].Resource(kube.ExternalSecrets).Namespace(hub.Namespace)
	p.expect(t, "somebody's deletion", by.Delete(t.Context(), "own", metav1.DeleteOptions{}), noWriter)
	p.expect(t, "Argo CD's deletion", written.Delete(t.Context(), "own", metav1.DeleteOptions{}), "")

	push := &unstructured.Unstructured{Object: map[string]any{}}
	must(t, json.Unmarshal([]byte(`{"apiVersion":"external-secrets.io/v1alpha1","kind":"PushSecret","metadata":{"name":"out"},
		"spec":{"secretStoreRefs":[{"name":"mine","kind":"SecretStore"}],"selector":{"secret":{"name":"theirs"}}}}`), &push.Object))
	pushes := schema.GroupVersionResource{Group: "external-secrets.io", Version: "v1alpha1", Resource: "pushsecrets"}
	_, err = p.objects[somebody].Resource(pushes).Namespace(hub.Namespace).Create(t.Context(), push, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	p.expect(t, "somebody's PushSecret", err, noWriter)
}

// externalSecret is one with a specification in JSON.
func externalSecret(name, spec string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": map[string]any{"name": name}}}
	var s map[string]any
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		panic(err)
	}
	s["dataFrom"] = []any{map[string]any{"extract": map[string]any{"key": "k"}}}
	o.Object["spec"] = s
	return o
}

// createExternal asks the API server as a user, and leaves nothing there.
func (p *policies) createExternal(t *testing.T, user, namespace string, o *unstructured.Unstructured) error {
	t.Helper()
	_, err := p.objects[user].Resource(kube.ExternalSecrets).Namespace(namespace).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
