package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/externalsecrets"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/ociregistry"
)

// third is a component of the agent with Argo CD, whose chart is in a registry of AWS.
const third = "third"

// registry gives the agent with Argo CD a chart of a registry that asks for a token: its External
// Secrets obtains one and its Argo CD pulls with it. When the token has expired, Argo CD pulls
// nothing more until there is another one, which comes with the next refresh.
func (a *agents) registry(t *testing.T) {
	const (
		catalog = "charts/application-sets/catalogs/resources.yaml"
		on      = "resources/tenants/payments/clusters/" + agent + "/application-sets/resources.yaml"
		values  = "fleet/registration/" + agent + "/fleet/fleet-secret/values.yaml"
	)
	push := func(version string) {
		archive, err := chartserver.Package(chartserver.Chart{Name: third, Version: version})
		must(t, err)
		must(t, a.ecr.Push(t.Context(), "charts/"+third, version, archive))
	}
	runs := func(version string) func() string {
		return func() string {
			app := a.ledger.get(engine, "Application", third+"-"+agent)
			if s := state(app); s != good {
				return s + " " + fmt.Sprint(app)
			}
			if is, _, _ := unstructured.NestedString(app.Object, "status", "sync", "revision"); is != version {
				return "it has " + is
			}
			o := a.ledger.get(agent, "Deployment", third)
			if o == nil {
				return missing(o)
			}
			if is := o.GetLabels()["helm.sh/chart"]; is != third+"-"+version {
				// Argo CD compares with what it knew before it could not pull (useDiffCache).
				must(t, a.agent.ArgoCD.Refresh(t.Context(), third+"-"+agent, true))
				return "Argo CD says that it is synced, and runs " + is
			}
			return ""
		}
	}
	push("0.1.0")
	a.write(t, values, a.read(t, values)+fmt.Sprintf("ecr: {registries: [{endpoint: %q}]}\n", ociregistry.ECRHost))
	a.write(t, catalog, a.read(t, catalog)+fmt.Sprintf("\n  %s: {enabled: false, chart: {repoURL: %q, name: %[1]s, version: 0.1.0}, namespace: default}\n", third, ociregistry.ECRHost+"/charts"))
	a.write(t, on, a.read(t, on)+third+": {enabled: true}\n")
	mark := a.ledger.mark()
	began := a.push(t, "A chart of a registry for "+agent)
	a.within(t, 2*patience, "Argo CD has pulled it", runs("0.1.0"))
	a.timed("agents", "push to a chart of a registry on "+agent, began)

	a.ecr.Expire()
	push("0.2.0")
	a.replace(t, catalog, "name: "+third+", version: 0.1.0", "name: "+third+", version: 0.2.0")
	began = a.push(t, "Another version of the chart")
	a.eventually(t, "Argo CD pulls nothing with a token that has expired", func() string {
		return lacks(a.ledger.get(engine, "Application", third+"-"+agent), "401")
	})
	if a.ecr.Refused() == 0 {
		t.Error("the registry has refused nobody")
	}
	secret := agent + "-ecr-" + strings.ReplaceAll(ociregistry.ECRHost, ".", "-")
	for _, operator := range []*externalsecrets.Operator{a.agent.Secrets, a.Secrets} {
		must(t, operator.Sync(t.Context(), hub.Namespace, secret)) // as ecr.refreshInterval does
	}
	a.password(t, a.agent.Kube, hub.Namespace, secret, "token-1")
	must(t, a.agent.ArgoCD.Refresh(t.Context(), third+"-"+agent, true))
	a.within(t, 2*patience, "Argo CD has pulled it with the next token", runs("0.2.0"))
	a.timed("agents", "push to another version of the chart, by way of a token that has expired", began)
	a.owned(t, "addons", "resources")
	a.undeleted(t, mark, func(change) bool { return false })
}
