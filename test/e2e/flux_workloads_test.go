package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

const (
	// fluxTeam is the team of the example fleet whose applications Flux deploys.
	fluxTeam = "checkout"
	// fluxTenant is the team's.
	fluxTenant = "payments"
	// fluxOrders is the team's application, with an overlay for each environment.
	fluxOrders = "checkout-orders"
	// fluxOrdersKey is the key of the credentials of its repository in the secret store.
	fluxOrdersKey = "github/payments/orders"
)

// fluxTeamRepository is the repository of a team's application, which Flux reads for a member.
type fluxTeamRepository struct {
	*fluxEngine
	repo          *fleetrepo.Repo
	url           string
	team, cluster string
	app           string // the application's name on the cluster
}

// account is whom Flux impersonates for the team.
func (w *fluxTeamRepository) account() string {
	return "system:serviceaccount:" + flux.Namespace + ":team-" + w.team
}

// level is where the fleet switches applications on for a cluster of a tenant.
func (w *fluxTeamRepository) level(tenant string) string {
	return "workloads/tenants/" + tenant + "/clusters/" + w.cluster + "/application-sets/workloads.yaml"
}

// fluxHubWorkloads deploys a team's application from its own private repository. Flux applies it as
// the team's ServiceAccount, and the member's API server refuses what leaves the team's bounds
// (T4). Added, updated, moved and removed, the application changes nothing else.
func fluxHubWorkloads(t *testing.T, m *fluxEngine) {
	w := &fluxTeamRepository{fluxEngine: m, team: fluxTeam, cluster: neighbour, app: fluxOrders + "-" + neighbour}
	w.add(t)
	w.update(t)
	t.Run("bounds", w.bounds)
	t.Run("chart", w.chart)
	w.join(t)
	w.move(t)
	w.remove(t)
}

// of is an object of the team's namespace on the member, nil where it is not there.
func (w *fluxTeamRepository) of(t *testing.T, kind string) *unstructured.Unstructured {
	t.Helper()
	resource := kube.Deployments
	switch kind {
	case "Queue":
		resource = queues
	case "Table":
		resource = tables
	}
	o, err := w.client(t, w.cluster).Get(t.Context(), resource, w.team, fluxOrders)
	must(t, err)
	return o
}

// serve serves the repository, which asks for credentials.
func (w *fluxTeamRepository) serve(t *testing.T) {
	t.Helper()
	name := w.team + "/orders"
	must(t, w.client(t, w.cluster).Apply(t.Context(), "", hub.ACKKinds()))
	_, err := w.git.Create(name)
	must(t, err)
	clone, err := w.git.Private(name, "reader", "of the team")
	must(t, err)
	w.url = strings.TrimSuffix(w.git.URL(name), ".git")
	w.repo, err = fleetrepo.NewTeam(t.Context(), w.checkout, "orders", clone, filepath.Join(w.Dir, "orders-"+w.team))
	must(t, err)
}

// credentials has the registration of the cluster name the credentials of the repository.
func (w *fluxTeamRepository) credentials(t *testing.T, key string) {
	t.Helper()
	must(t, w.fleet.Write("fleet/registration/"+w.cluster+"/fleet/fleet-secret/values.yaml",
		"gitCredentials: {orders: {type: http, kind: repository, url: '"+w.url+"', secretName: "+key+"}}\n"))
}

// add switches the application on. With a wrong password Flux reads nothing; with the one that the
// store has then it deploys.
func (w *fluxTeamRepository) add(t *testing.T) {
	t.Helper()
	w.serve(t)
	must(t, w.secrets.Put(t.Context(), fluxOrdersKey, `{"username": "reader", "password": "of somebody else"}`))
	w.settle(t)
	mark, before := w.ledger.mark(), w.uids()
	w.credentials(t, fluxOrdersKey)
	must(t, w.fleet.Replace("fleet/teams/"+fluxTeam+".yaml", "repositories:\n", "deniedKinds:\n  - {group: batch, kind: CronJob}\nrepositories:\n"))
	must(t, w.fleet.Write(w.level(fluxTenant), fluxOrders+": {enabled: true}\n"))
	began := w.push(t, "Switch on "+fluxOrders+" on "+neighbour)
	w.eventually(t, "a wrong password is refused", func() string {
		if state := fluxReady(w.get(t, flux.GitRepositories, w.app)); !strings.Contains(state, "authentication") {
			return state
		}
		return ""
	})
	if w.of(t, "Deployment") != nil {
		t.Error("the application is there without its repository")
	}
	secret := fluxText(w.get(t, flux.GitRepositories, w.app), "spec", "secretRef", "name")
	must(t, w.secrets.Put(t.Context(), fluxOrdersKey, `{"username": "reader", "password": "of the team"}`))
	must(t, w.secrets.Sync(t.Context(), flux.Namespace, secret))
	w.fetch(t)
	w.eventually(t, "the application", func() string { return fluxReady(w.get(t, flux.Kustomizations, w.app)) })
	w.timed("push of a team's application, to its objects", began)
	spec, _, _ := unstructured.NestedMap(w.get(t, flux.Kustomizations, w.app).Object, "spec")
	if spec["serviceAccountName"] != "team-"+fluxTeam || spec["targetNamespace"] != fluxTeam || spec["kubeConfig"] == nil {
		t.Errorf("the Kustomization is %v; expected the ServiceAccount and the namespace of the team, with the member's kubeconfig", spec)
	}
	queue, table := w.of(t, "Queue"), w.of(t, "Table")
	if fluxText(queue, "spec", "queueName") != "checkout-orders-dev" || fluxText(table, "spec", "tableName") != "checkout-orders-dev" {
		t.Errorf("queue %v and table %v; expected those of the overlay dev", queue, table)
	}
	w.settle(t)
	w.only(t, mark, func(c change) bool {
		return c.cluster == neighbour && c.kind == "Deployment" && c.name == fluxOrders && c.what != "deleted" ||
			c.cluster == w.Name && c.kind == "HelmRelease" && c.what == "changed" && (c.name == "team-checkout-"+neighbour || c.name == "fleet-secret-"+neighbour)
	})
	w.notRecreated(t, before)
}

// fetch has Flux read the repository now: a source is asked for every 10 minutes.
func (w *fluxTeamRepository) fetch(t *testing.T) {
	t.Helper()
	must(t, w.flux.Reconcile(t.Context(), flux.GitRepositories, flux.Namespace, w.app))
}

// commit pushes to the team's repository, and has Flux read it.
func (w *fluxTeamRepository) commit(t *testing.T, message string) {
	t.Helper()
	_, err := w.repo.Commit(t.Context(), message)
	must(t, err)
	w.fetch(t)
}

// update changes the overlay of the member's environment.
func (w *fluxTeamRepository) update(t *testing.T) {
	t.Helper()
	mark, before := w.ledger.mark(), w.of(t, "Queue").GetUID()
	must(t, w.repo.Replace("overlays/dev/kustomization.yaml", "count: 1", "count: 2"))
	w.commit(t, "Two replicas")
	w.replicas(t, 2)
	w.calm(t)
	w.only(t, mark, func(c change) bool {
		return c.cluster == w.cluster && c.kind == "Deployment" && c.name == fluxOrders && c.what == "changed"
	})
	if now := w.of(t, "Queue").GetUID(); now != before {
		t.Errorf("the queue was %s and is %s", before, now)
	}
}

func (w *fluxTeamRepository) replicas(t *testing.T, want int64) {
	t.Helper()
	w.eventually(t, "the application is ready", func() string {
		o := w.of(t, "Deployment")
		if o == nil {
			return "it is not there: " + fluxReady(w.get(t, flux.Kustomizations, w.app))
		}
		if have, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); have != want {
			return "it has other replicas"
		}
		return fluxReady(w.get(t, flux.Kustomizations, w.app))
	})
}

// bounds commits to the team's repository what the team may not deploy. The member's API server
// refuses it, and what runs stays.
func (w *fluxTeamRepository) bounds(t *testing.T) {
	cannot := func(resource, name string) string {
		return resource + ` "` + name + `" is forbidden: User "` + w.account() + `" cannot`
	}
	for _, c := range []struct{ name, text, says string }{
		{"a cluster-scoped object", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: everything}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}", cannot("clusterroles.rbac.authorization.k8s.io", "everything")},
		{"rights everywhere", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: everywhere}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: payments-checkout}]}", cannot("clusterrolebindings.rbac.authorization.k8s.io", "everywhere")},
		{"rights", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: more}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: payments-checkout}]}", cannot("rolebindings.rbac.authorization.k8s.io", "more")},
		{"its quota", "{apiVersion: v1, kind: ResourceQuota, metadata: {name: team}, spec: {hard: {pods: '1000'}}}", cannot("resourcequotas", "team")},
		{"a denied kind", "{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}", "team checkout may not deploy the kind CronJob"},
	} {
		w.refused(t, c.name, c.text, c.says)
	}
	w.commit(t, "Within its bounds")
	w.replicas(t, 2)
}

// refused commits an object that the member's API server refuses: nothing else changes. The object
// is left out of what is committed next.
func (w *fluxTeamRepository) refused(t *testing.T, name, text, says string) {
	t.Helper()
	mark := w.ledger.mark()
	must(t, w.repo.Write("base/more.yaml", text+"\n"))
	must(t, w.repo.Replace("base/kustomization.yaml", "database.yaml]", "database.yaml, more.yaml]"))
	w.commit(t, "Try "+name)
	w.eventually(t, name+" is refused", func() string {
		if state := fluxReady(w.get(t, flux.Kustomizations, w.app)); !strings.Contains(state, says) {
			return state
		}
		return ""
	})
	w.only(t, mark, func(change) bool { return false })
	must(t, w.repo.Replace("base/kustomization.yaml", "database.yaml, more.yaml]", "database.yaml]"))
	must(t, w.repo.Remove("base/more.yaml"))
}

// chart has the application be a chart of the same repository whose templates choose a namespace.
// Flux's Helm is the team there, too.
func (w *fluxTeamRepository) chart(t *testing.T) {
	const name = "checkout-notes"
	release := name + "-" + neighbour
	notes := func(namespace string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}-note, namespace: " + namespace + "}}\n"
	}
	must(t, w.repo.Write("chart/Chart.yaml", "{apiVersion: v2, name: notes, version: 0.1.0}\n"))
	must(t, w.repo.Write("chart/templates/note.yaml", notes("kube-system")))
	w.commit(t, "A chart that leaves its namespace")
	catalog, err := w.fleet.Read("fleet/workloads.yaml")
	must(t, err)
	must(t, w.fleet.Write("fleet/workloads.yaml", catalog+"  "+name+": {team: checkout, chart: {repoURL: '"+w.url+"', path: chart, version: main}, namespace: checkout}\n"))
	must(t, w.fleet.Write(w.level(fluxTenant), fluxOrders+": {enabled: true}\n"+name+": {enabled: true}\n"))
	w.push(t, "Switch on "+name)
	w.eventually(t, "its HelmRelease is refused", func() string {
		o := w.get(t, flux.HelmReleases, release)
		if state := fluxReady(o); !strings.Contains(state, `User "`+w.account()+`" cannot`) || !strings.Contains(state, `namespace "kube-system"`) {
			return state
		}
		return ""
	})
	must(t, w.repo.Write("chart/templates/note.yaml", notes("checkout")))
	_, err = w.repo.Commit(t.Context(), "A chart that stays")
	must(t, err)
	must(t, w.flux.Reconcile(t.Context(), flux.GitRepositories, flux.Namespace, release))
	w.eventually(t, "the release", func() string { return fluxReady(w.get(t, flux.HelmReleases, release)) })
	must(t, w.fleet.Write(w.level(fluxTenant), fluxOrders+": {enabled: true}\n"+name+": {enabled: false}\n"))
	w.push(t, "Switch off "+name)
	w.eventually(t, "nothing of it is left", func() string { return w.leftOf(t, release) })
	must(t, w.fleet.Write("fleet/workloads.yaml", catalog))
	must(t, w.fleet.Write(w.level(fluxTenant), fluxOrders+": {enabled: true}\n"))
	w.push(t, "Without "+name)
}

// remove switches the application off for the member: what it runs goes, and nothing else (D3).
func (w *fluxTeamRepository) remove(t *testing.T) {
	t.Helper()
	w.settle(t)
	mark := w.ledger.mark()
	must(t, w.fleet.Write(w.level(fluxTenant), fluxOrders+": {enabled: false}\n"))
	began := w.push(t, "Switch off "+fluxOrders)
	w.eventually(t, "the application is gone", func() string { return w.gone(t) })
	w.timed("push to a team's application removed", began)
	w.settle(t)
	w.only(t, mark, func(c change) bool {
		return c.cluster == w.cluster && c.kind == "Deployment" && c.name == fluxOrders && c.what == "deleted"
	})
	if o := w.get(t, flux.Kustomizations, "checkout-api-"+w.cluster); fluxReady(o) != "" {
		t.Errorf("the team's other application is %s", fluxReady(o))
	}
}

// gone says what is left of the application on the cluster and in Flux.
func (w *fluxTeamRepository) gone(t *testing.T) string {
	t.Helper()
	for _, kind := range []string{"Deployment", "Queue", "Table"} {
		if w.of(t, kind) != nil {
			return "its " + kind + " is there"
		}
	}
	return w.leftOf(t, w.app)
}
