package e2e

import (
	"path/filepath"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// fluxSpare is a further member of the team's tenant, in another environment.
const fluxSpare = "payments-staging-eu-1"

// join adds a member to the hub whose cluster has what its teams have there, and nothing else.
func (w *fluxTeamRepository) join(t *testing.T) {
	t.Helper()
	spare := w.Beside(t, fluxSpare)
	must(t, spare.Client.Apply(t.Context(), "", hub.ACKKinds()))
	w.record(t, spare)
	must(t, w.fleet.AddMember(fluxSpare))
	off := map[string]string{}
	for _, c := range w.answered(t) {
		root := map[string]string{"addons": "addons", "monitoring": "addons", "resources": "resources"}[c.Group]
		if c.Name == fluxSpare && root != "" {
			off[root+"/tenants/"+fluxTenant+"/clusters/"+fluxSpare+"/application-sets/"+c.Group+".yaml"] += c.Component + ": {enabled: false}\n"
		}
	}
	for path, text := range off {
		must(t, w.fleet.Write(path, text))
	}
	neighbours := w.cluster
	w.cluster = fluxSpare
	w.credentials(t, fluxOrdersKey)
	w.cluster = neighbours
	w.others = append(w.others, spare)
	began := w.push(t, "Add "+fluxSpare)
	w.registered(t)
	answered := w.answered(t)
	for name, c := range answered {
		if c.Name == fluxSpare { // at once: what had no kubeconfig yet is tried again after half a minute
			must(t, w.flux.Reconcile(t.Context(), fluxKind(c), flux.Namespace, name))
		}
	}
	w.allReady(t, answered)
	w.timed("push of a member, to what its teams have there", began)
	w.ledger.watch(t.Context(), t, fluxSpare, spare.Client, isDeployed, kube.ConfigMaps, kube.Deployments)
}

// move has `argosy move app` take the application to the team's cluster of another environment: it
// runs there with the overlay of that environment, and nowhere else, and nothing else has changed.
func (w *fluxTeamRepository) move(t *testing.T) {
	t.Helper()
	w.settle(t)
	mark, from := w.ledger.mark(), *w
	w.command(t, filepath.Join(w.checkout, "bin", "argosy"), "move", "app", fluxOrders, "--repo", w.fleet.Path(), "--to", fluxSpare)
	began := w.push(t, "Move "+fluxOrders+" to "+fluxSpare)
	w.cluster, w.app = fluxSpare, fluxOrders+"-"+fluxSpare
	w.replicas(t, 2)
	w.eventually(t, "the application is gone from "+neighbour, func() string { return from.gone(t) })
	w.timed("push to a team's application moved", began)
	queue, table := w.of(t, "Queue"), w.of(t, "Table")
	if fluxText(queue, "spec", "queueName") != "checkout-orders-staging" || fluxText(table, "spec", "tableName") != "checkout-orders-staging" {
		t.Errorf("queue %v and table %v; expected those of the overlay staging", queue, table)
	}
	w.settle(t)
	w.only(t, mark, func(c change) bool {
		return c.kind == "Deployment" && c.name == fluxOrders && (c.cluster == neighbour && c.what == "deleted" || c.cluster == fluxSpare && c.what != "deleted")
	})
	if o := from.get(t, flux.Kustomizations, "checkout-api-"+neighbour); fluxReady(o) != "" {
		t.Errorf("the team's other application is %s", fluxReady(o))
	}
}
