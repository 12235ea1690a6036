package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// reportReady writes the status that ACK writes when the cloud has what an object describes.
func reportReady(t *testing.T, spoke *kube.Client, o *unstructured.Unstructured) {
	t.Helper()
	must(t, unstructured.SetNestedSlice(o.Object, []any{map[string]any{"type": "Ready", "status": "True"}}, "status", "conditions"))
	resource := o.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(o.GetKind()) + "s")
	_, err := spoke.Dynamic.Resource(resource).Namespace(o.GetNamespace()).UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
	must(t, err)
}

// awaitReady waits for the first objects of the identity, on whose readiness the others wait.
// Nobody has made the role yet, and an Argo CD that knows ACK's kinds says so: their status is
// ACK's to write.
func awaitReady(t *testing.T, e *environment, app string, there func() []*unstructured.Unstructured, spoke *kube.Client) {
	t.Helper()
	e.eventually(t, "an object of the identity", func() string {
		if len(there()) == 0 {
			return "there is none"
		}
		return ""
	})
	if argoCD() != "2.14" { // which has no health check of ACK's kinds
		e.eventually(t, "the Application waits for ACK", func() string {
			if s := state(e.app(app)); !strings.HasSuffix(s, "/Progressing") {
				return s
			}
			return ""
		})
	}
	for _, o := range there() {
		reportReady(t, spoke, o)
	}
}

// identity: with the catalog of identities behind the group's own, a component of one cluster gets
// the role of its ServiceAccount by a commit, and loses it by another. The component stays as it
// is, and so does everything else.
func identity(t *testing.T, e *environment) {
	const (
		cluster, component = "retail-prod-eu-1", "cert-manager"
		own                = "catalog: charts/application-sets/catalogs/addons.yaml"
		file               = "addons/tenants/retail/clusters/" + cluster + "/addons/" + component + "/identity.yaml"
	)
	spoke := e.Spoke[cluster]
	must(t, spoke.Apply(t.Context(), "", slices.Concat(hub.ACKKind("iam", "Role"), hub.ACKKind("eks", "PodIdentityAssociation"))))
	resources := []schema.GroupVersionResource{
		{Group: "iam.services.k8s.aws", Version: "v1alpha1", Resource: "roles"},
		{Group: "eks.services.k8s.aws", Version: "v1alpha1", Resource: "podidentityassociations"},
	}
	there := func() (out []*unstructured.Unstructured) {
		for _, r := range resources {
			o, err := spoke.Get(t.Context(), r, component, component+"-identity")
			must(t, err)
			if o != nil {
				out = append(out, o)
			}
		}
		return out
	}
	e.replace(t, "fleet/layout.yaml", own, "catalog: [charts/application-sets/catalogs/addons.yaml, charts/aws-identity/catalogs/addons.yaml]")
	e.push(t, "Identities for the group addons")
	e.settle(t)
	if found := there(); len(found) > 0 {
		t.Fatalf("%d objects without the flag", len(found))
	}
	mark := e.ledger.mark()
	for _, is := range []struct {
		enabled string
		objects int
	}{{"true", len(resources)}, {"false", 0}} {
		e.write(t, file, fmt.Sprintf("enabled: %q\naccountId: \"123456789012\"\n", is.enabled))
		began := e.push(t, "The identity of "+component+": "+is.enabled)
		if is.objects > 0 {
			awaitReady(t, e, component+"-"+cluster, there, spoke)
		}
		e.eventually(t, fmt.Sprint(is.objects, " objects of the identity"), func() string {
			if found := there(); len(found) != is.objects {
				return fmt.Sprint(len(found))
			}
			return ""
		})
		e.timed("identity", is.enabled+": push to the spoke", began)
		for _, o := range there() {
			account, isAssociation, err := unstructured.NestedString(o.Object, "spec", "serviceAccount")
			must(t, err)
			if isAssociation && account != component {
				t.Errorf("the association is of %s", account)
			}
		}
		for _, o := range there() {
			reportReady(t, spoke, o)
		}
		e.settle(t)
	}
	e.only(t, mark, func(c change) bool { return c.cluster == hub.Name && c.name == component+"-"+cluster })

	must(t, e.Fleet.Remove(file))
	e.replace(t, "fleet/layout.yaml", ", charts/aws-identity/catalogs/addons.yaml]", "]")
	e.push(t, "Without identities")
	e.settle(t)
}
