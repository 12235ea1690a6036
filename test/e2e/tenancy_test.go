package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// tenancy: every component's Application is in the AppProject of its cluster's tenant, or of its
// team; that project
// admits no other tenant's cluster; and what one tenant commits never reaches another's cluster.
func tenancy(t *testing.T, e *environment) {
	for _, group := range groups {
		for _, s := range e.components(t, group) {
			app := e.app(s.ApplicationName)
			if app == nil {
				t.Errorf("%s is absent", s.ApplicationName)
				continue
			}
			want := s.Tenant
			if group == "workloads" { // whose one application here is checkout's
				want = "team-checkout"
			}
			if project, _, _ := unstructured.NestedString(app.Object, "spec", "project"); project != want {
				t.Errorf("%s is in project %q; expected %q", s.ApplicationName, project, want)
			}
		}
	}

	t.Run("a project admits no other tenant's cluster", func(t *testing.T) {
		mark := e.ledger.mark()
		manifest := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: trespass
spec:
  project: retail
  source: {repoURL: %q, chart: metrics-server, targetRevision: "*"}
  destination: {name: payments-dev-eu-1, namespace: trespass}
  syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true]}
`, e.Charts.URL())
		must(t, e.Kube.Apply(t.Context(), hub.Namespace, []byte(manifest)))
		e.eventually(t, "Argo CD refuses it", func() string {
			app := e.app("trespass")
			if app == nil {
				return "not there"
			}
			conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
			if strings.Contains(fmt.Sprint(conditions), "do not match any of the allowed destinations in project 'retail'") {
				return ""
			}
			return fmt.Sprint(conditions)
		})
		must(t, e.Kube.Delete(t.Context(), kube.Applications, hub.Namespace, "trespass", "Background"))
		e.eventually(t, "it is gone", func() string { return present(e, "trespass") })
		e.untouched(t, mark)
	})

	t.Run("a tenant's values reach its own clusters alone", func(t *testing.T) {
		mark := e.ledger.mark()
		// Of all places that retail may write, the two that sound like another tenant's cluster.
		e.add(t, "addons/tenants/retail/clusters/payments-dev-eu-1/addons/metrics-server/values.yaml", "podLabels: {intruder: \"true\"}\n")
		e.add(t, "addons/tenants/retail/defaults/addons/cert-manager/values.yaml", "serviceLabels: {tenant: retail}\n")
		began := e.push(t, "Retail writes where it may")
		e.eventually(t, "the value on retail's own clusters", func() string {
			for _, cluster := range e.spokes() {
				if strings.HasPrefix(cluster, "retail-") && e.value(cluster, "cert-manager", "serviceLabels", "tenant") != "retail" {
					return cluster + " lacks it"
				}
			}
			return ""
		})
		e.timed("tenancy", "push to all clusters of a tenant", began)
		e.settle(t)
		e.only(t, mark, func(c change) bool {
			return c.what == "changed" && (strings.HasPrefix(c.name, "cert-manager-retail-") ||
				strings.HasPrefix(c.cluster, "retail-") && c.name == "cert-manager-values")
		})
		if have := e.value("payments-dev-eu-1", "metrics-server", "podLabels", "intruder"); have != nil {
			t.Errorf("payments-dev-eu-1 has what retail wrote: %v", have)
		}
	})

	t.Run("a component that no release's catalog has", func(t *testing.T) {
		const cluster, component, like = "retail-prod-eu-1", "sampler", "metrics-server"
		mark, level := e.ledger.mark(), "addons/tenants/retail/clusters/"+cluster+"/"
		catalog := level + "application-sets/addons.yaml"
		e.write(t, catalog, component+": {enabled: true, chart: {repoURL: https://charts.example.com, name: x, version: 1.0.0}}\n")
		e.write(t, level+"addons/"+like+"/values.yaml", "podLabels: {beside: sampler}\n")
		e.push(t, "Add "+component+" to "+cluster)
		e.eventually(t, "the others go on", func() string {
			if have := e.value(cluster, like, "podLabels", "beside"); have != component {
				return fmt.Sprintf("%s has %v", like, have)
			}
			return ""
		})
		e.settle(t)
		e.only(t, mark, func(c change) bool {
			return c.what == "changed" && (strings.HasPrefix(c.name, like+"-") || c.name == "application-sets-addons-default")
		})
		must(t, e.Fleet.Remove(catalog)) // a query without a catalog is answered with it
		e.push(t, "Without "+component)
		e.settle(t)
	})
}
