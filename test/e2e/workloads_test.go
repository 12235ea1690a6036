package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

const (
	// workload is the flow's application: a kustomization with an overlay for each environment.
	workload  = "store-orders"
	staging   = hub.Spare
	prod      = "retail-prod-eu-1"
	storeRepo = "storefront/web"
)

// storeTeam is the flow's team, on the tenant's clusters of staging and prod.
const storeTeam = `name: store
tenant: retail
owners: [retail-store]
clusters: {matchExpressions: [{key: environment, operator: In, values: [staging, prod]}]}
namespaces: [{name: store, preset: small}]
repositories: [%q]
`

var (
	queues = schema.GroupVersionResource{Group: "sqs.services.k8s.aws", Version: "v1alpha1", Resource: "queues"}
	tables = schema.GroupVersionResource{Group: "dynamodb.services.k8s.aws", Version: "v1alpha1", Resource: "tables"}
	dbs    = schema.GroupVersionResource{Group: "rds.services.k8s.aws", Version: "v1alpha1", Resource: "dbinstances"}
)

// workloads: a team's repository, which asks for credentials, says which application is on which
// cluster. Added, updated, moved and removed there, it changes on that cluster, and nothing else
// does anywhere (T4, U3). Each environment gets its overlay, built by Argo CD's repo-server with
// kustomize. While the repository is away everything stays, and the fleet goes on without it (U2).
func workloads(t *testing.T, e *environment) {
	w := &workloadsFlow{e, e.Teams[storeRepo]}
	catalog := e.read(t, "fleet/workloads.yaml")
	layout := e.read(t, "fleet/layout.yaml")
	w.onboard(t, catalog, layout)
	w.app(t, "add", map[string]bool{staging: true})
	w.update(t)
	w.app(t, "move", map[string]bool{staging: false, prod: true})
	t.Run("the repository is away", w.away)
	w.app(t, "remove", map[string]bool{prod: false})

	e.write(t, "fleet/workloads.yaml", catalog)
	e.write(t, "fleet/layout.yaml", layout)
	e.push(t, "Without the workloads of store")
	const set = "workloads-default-" + workload
	e.eventually(t, "no release has the application", func() string {
		spec := fmt.Sprint(e.app("application-sets-workloads-default").Object["spec"])
		if strings.Contains(spec, workload) {
			return "one has"
		}
		return w.notServed(t)
	})
	// What a release no longer has stays, without an Application: nothing of that kind is pruned.
	must(t, e.Kube.Delete(t.Context(), kube.ApplicationSets, hub.Namespace, set, "Background"))
	e.eventually(t, "the ApplicationSet is gone", func() string {
		if e.ledger.get(hub.Name, "ApplicationSet", set) != nil {
			return "it is there"
		}
		return ""
	})
}

type workloadsFlow struct {
	*environment
	repo *hub.TeamRepository
}

// onboard commits what the platform says of the team: its file, its application, its repository,
// and the credentials for it. The repository has the kustomization and what a mount says of it.
func (w *workloadsFlow) onboard(t *testing.T, catalog, layout string) {
	t.Helper()
	for _, file := range []string{
		"base/kustomization.yaml", "base/worker.yaml", "base/queue.yaml", "base/table.yaml", "base/database.yaml",
		overlayOf("staging"), overlayOf("prod"),
	} {
		text, err := w.Teams["checkout/orders"].Read(file)
		must(t, err)
		must(t, w.repo.Write(file, text))
	}
	for _, file := range []string{"defaults", "tenants/retail/environments/staging", "tenants/retail/environments/prod"} {
		must(t, w.repo.Remove(file+"/workloads/storefront-web/values.yaml")) // of an application of another team
	}
	w.commit(t, "The kustomization")
	response, err := http.Get(w.repo.URL + "/info/refs?service=git-upload-pack")
	must(t, err)
	must(t, response.Body.Close())
	if response.StatusCode != http.StatusUnauthorized {
		t.Fatalf("the repository shows itself to everybody: %s", response.Status)
	}
	mark := w.ledger.mark()
	w.write(t, "fleet/teams/store.yaml", fmt.Sprintf(storeTeam, w.repo.URL))
	w.write(t, "fleet/workloads.yaml", catalog+fmt.Sprintf("  %s: {team: store, kind: manifests, chart: {repoURL: %q, path: 'overlays/{{ .environment }}', version: main}, namespace: store}\n", workload, w.repo.URL))
	w.write(t, "fleet/layout.yaml", layout+fmt.Sprintf("\nmounts:\n  %s: {url: %q, team: store, credentials: %s}\n", w.repo.Mount, w.repo.URL, w.repo.Secret))
	w.write(t, "fleet/registration/"+prod+"/fleet/fleet-secret/values.yaml",
		fmt.Sprintf("gitCredentials:\n  storefront: {type: http, kind: repository, url: %q, secretName: %s}\n", w.repo.URL, hub.StorefrontKey))
	began := w.push(t, "Onboard the team store with its repository")
	for _, cluster := range []string{staging, prod} {
		w.eventually(t, "the team on "+cluster, func() string {
			if s := state(w.environment.app("team-store-" + cluster)); s != good {
				return s
			}
			return ""
		})
	}
	w.eventually(t, "the credentials of its repository", func() string {
		secret, err := w.Kube.Get(t.Context(), kube.Secrets, hub.Namespace, hub.StorefrontSecret)
		if err != nil || secret == nil {
			return fmt.Sprint("there are none: ", err)
		}
		value, _, _ := unstructured.NestedString(secret.Object, "data", "username")
		if name, err := base64.StdEncoding.DecodeString(value); string(name) != "reader" {
			return fmt.Sprintf("they are of %q: %v", name, err)
		}
		return ""
	})
	must(t, w.Plugin.Sync(t.Context())) // as the kubelet does within a minute
	w.eventually(t, "the mount is read", func() string {
		must(t, w.Plugin.Pushed(t.Context())) // the service looks for credentials at intervals
		return w.stale(t)
	})
	w.timed("workloads", "push to the team and its repository", began)
	w.calm(t)
	w.only(t, mark, func(c change) bool {
		return strings.Contains(c.name, "store") || strings.HasPrefix(c.name, "application-sets-") || c.name == "fleet-secret-"+prod || c.name == prod && c.kind == "ExternalSecret"
	})
}

// commit commits what was changed in the team's repository and pushes it.
func (w *workloadsFlow) commit(t *testing.T, message string) time.Time {
	t.Helper()
	began := time.Now()
	_, err := w.repo.Commit(t.Context(), message)
	must(t, err)
	return began
}

// app has the team's repository say on which clusters the application is, and waits until it is
// so. Nothing else has changed.
func (w *workloadsFlow) app(t *testing.T, what string, clusters map[string]bool) {
	t.Helper()
	mark := w.ledger.mark()
	for cluster, is := range clusters {
		must(t, w.repo.Write("tenants/retail/clusters/"+cluster+"/application-sets/workloads.yaml", fmt.Sprintf("%s: {enabled: %t}\n", workload, is)))
	}
	began := w.commit(t, fmt.Sprintf("%s %s: %v", what, workload, clusters))
	for cluster, is := range clusters {
		w.eventually(t, fmt.Sprintf("%s: the application on %s: %t", what, cluster, is), func() string {
			differs := ""
			if is {
				differs = w.overlay(t, cluster)
			}
			if app := w.environment.app(workload + "-" + cluster); (app != nil) != is || is && state(app) != good {
				return "its Application is " + state(app)
			}
			if is {
				return differs
			}
			return w.pruned(t, cluster)
		})
	}
	w.timed("workloads", what+": push to what runs", began)
	w.calm(t)
	w.only(t, mark, func(c change) bool {
		_, concerns := clusters[c.cluster]
		return concerns && c.kind == "Deployment" && c.name == "checkout-orders" ||
			c.cluster == hub.Name && (strings.HasPrefix(c.name, "application-sets-workloads-") || c.kind == "ApplicationSet" && strings.HasSuffix(c.name, workload) || w.isOf(c.name, clusters))
	})
}

// isOf reports whether a name is that of the application's Application on one of the clusters.
func (w *workloadsFlow) isOf(name string, clusters map[string]bool) bool {
	for cluster := range clusters {
		if name == workload+"-"+cluster {
			return true
		}
	}
	return false
}

// overlay says what differs on a cluster from the overlay of its environment.
func (w *workloadsFlow) overlay(t *testing.T, cluster string) string {
	t.Helper()
	queue, replicas := map[string]any{"queueName": "checkout-orders-staging", "sqsManagedSSEEnabled": "true"}, int64(2)
	table := map[string]any{"tableName": "checkout-orders-staging", "billingMode": "PAY_PER_REQUEST"}
	db := map[string]any{"dbInstanceIdentifier": "checkout-orders-staging", "engine": "postgres"}
	if cluster == prod {
		db = map[string]any{"dbInstanceIdentifier": "checkout-orders-prod", "engine": "postgres", "multiAZ": true, "deletionProtection": true}
		queue, replicas = map[string]any{"queueName": "checkout-orders-prod", "sqsManagedSSEEnabled": "true", "messageRetentionPeriod": "1209600"}, 4
		table = map[string]any{"tableName": "checkout-orders-prod", "billingMode": "PAY_PER_REQUEST", "deletionProtectionEnabled": true}
	}
	for resource, want := range map[schema.GroupVersionResource]map[string]any{queues: queue, tables: table, dbs: db} {
		o, err := w.Spoke[cluster].Get(t.Context(), resource, "store", "checkout-orders")
		if err != nil || o == nil {
			return fmt.Sprintf("there are no %s: %v", resource.Resource, err)
		}
		spec, _, _ := unstructured.NestedMap(o.Object, "spec")
		delete(spec, "attributeDefinitions")
		delete(spec, "keySchema")
		for _, same := range []string{"dbInstanceClass", "allocatedStorage", "storageEncrypted", "masterUsername", "manageMasterUserPassword"} {
			delete(spec, same)
		}
		if !sameTree(spec, want) {
			return fmt.Sprintf("%s: %v; expected %v", resource.Resource, spec, want)
		}
	}
	deployment := w.ledger.get(cluster, "Deployment", "checkout-orders")
	if deployment == nil {
		return "there is no Deployment"
	}
	want := map[string]any{"QUEUE": queue["queueName"], "TABLE": table["tableName"], "DATABASE": db["dbInstanceIdentifier"]}
	if have := environmentOf(deployment); !sameTree(have, want) {
		return fmt.Sprintf("the container's environment is %v; expected %v", have, want)
	}
	if have, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas"); have != replicas {
		return fmt.Sprintf("%d replicas; expected %d", have, replicas)
	}
	return ""
}

// overlayOf is the file of an environment's overlay.
func overlayOf(environment string) string { return "overlays/" + environment + "/kustomization.yaml" }

// environmentOf is the environment of a Deployment's first container, which an overlay patches.
func environmentOf(deployment *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	for _, c := range containers[:min(1, len(containers))] {
		variables, _, _ := unstructured.NestedSlice(c.(map[string]any), "env")
		for _, v := range variables {
			variable := v.(map[string]any)
			out[fmt.Sprint(variable["name"])] = variable["value"]
		}
	}
	return out
}

// pruned says what of the application a cluster still has.
func (w *workloadsFlow) pruned(t *testing.T, cluster string) string {
	t.Helper()
	for _, resource := range []schema.GroupVersionResource{queues, tables, dbs, kube.Deployments} {
		if o, err := w.Spoke[cluster].Get(t.Context(), resource, "store", "checkout-orders"); err != nil || o != nil {
			return fmt.Sprintf("there are still %s: %v", resource.Resource, err)
		}
	}
	return ""
}

// update changes the overlay of staging alone: what all environments have, and prod's, stay.
func (w *workloadsFlow) update(t *testing.T) {
	t.Helper()
	mark := w.ledger.mark()
	must(t, w.repo.Replace(overlayOf("staging"), "count: 2", "count: 3"))
	began := w.commit(t, "Three replicas in staging")
	must(t, w.ArgoCD.Refresh(t.Context(), workload+"-"+staging, false)) // as the forge's webhook of Argo CD does
	replicas := func(want int64) func() string {
		return func() string {
			deployment := w.ledger.get(staging, "Deployment", "checkout-orders")
			if have, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas"); have != want {
				return fmt.Sprintf("%d replicas", have)
			}
			return ""
		}
	}
	w.eventually(t, "three replicas in staging", replicas(3))
	w.timed("workloads", "update: push to what runs", began)
	w.calm(t)
	w.only(t, mark, func(c change) bool {
		return c.cluster == staging && c.kind == "Deployment" && c.name == "checkout-orders" && c.what == "changed"
	})
	must(t, w.repo.Replace(overlayOf("staging"), "count: 3", "count: 2"))
	w.commit(t, "Two again")
	must(t, w.ArgoCD.Refresh(t.Context(), workload+"-"+staging, false))
	w.eventually(t, "two replicas in staging", replicas(2))
	w.calm(t)
}

// away takes the repository away. A commit of the fleet arrives all the same, nothing of the team
// changes, and what the team's repository says then arrives when it is back.
func (w *workloadsFlow) away(t *testing.T) {
	mark := w.ledger.mark()
	w.Git.Away(storeRepo, true)
	w.write(t, "addons/tenants/retail/clusters/"+staging+"/addons/metrics-server/values.yaml", "podLabels: {away: 'true'}\n")
	began := w.push(t, "A label while the repository of the team store is away")
	w.eventually(t, "the fleet's commit on "+staging, func() string {
		if w.value(staging, "metrics-server", "podLabels", "away") != "true" {
			return "not there"
		}
		return ""
	})
	w.timed("workloads", "away: a push of the fleet to what runs", began)
	w.eventually(t, "the service reports the mount", func() string {
		if w.stale(t) == "" {
			return "it does not"
		}
		return ""
	})
	w.only(t, mark, func(c change) bool { return strings.HasPrefix(c.name, "metrics-server") })
	if state := w.overlay(t, prod); state != "" {
		t.Errorf("%s: %s", prod, state)
	}
	w.Git.Away(storeRepo, false)
	began = time.Now()
	must(t, w.Plugin.Pushed(t.Context()))
	w.eventually(t, "the mount is read again", func() string { return w.stale(t) })
	w.timed("workloads", "back: to a mount that is read", began)
	must(t, w.ArgoCD.Refresh(t.Context(), workload+"-"+prod, true))
	must(t, w.Fleet.Remove("addons/tenants/retail/clusters/"+staging+"/addons/metrics-server/values.yaml"))
	w.push(t, "Without the label")
	w.eventually(t, "no label on "+staging, func() string {
		if w.value(staging, "metrics-server", "podLabels", "away") != nil {
			return "there is one"
		}
		return ""
	})
	w.calm(t)
	w.only(t, mark, func(c change) bool { return strings.HasPrefix(c.name, "metrics-server") })
}

// stale is why the last commit of the team's repository is not served, empty where it is.
func (w *workloadsFlow) stale(t *testing.T) string {
	t.Helper()
	var out struct {
		Mounts []struct{ Path, Revision, Reason, Problem string }
	}
	w.ask(t, w.Plugin, http.MethodGet, "/readyz", nil, &out)
	head, err := w.repo.Head(t.Context())
	must(t, err)
	for _, m := range out.Mounts {
		if m.Path == w.repo.Mount && (m.Reason != "" || m.Revision != head) {
			return fmt.Sprintf("%s is at %q: %s %s", m.Path, m.Revision, m.Reason, m.Problem)
		}
		if m.Path == w.repo.Mount {
			return ""
		}
	}
	return "there is no such mount"
}

// notServed says whether a release still has the flow's application.
func (w *workloadsFlow) notServed(t *testing.T) string {
	t.Helper()
	for _, s := range w.components(t, "workloads") {
		if s.Component == workload {
			return "it is on " + s.Name
		}
	}
	return ""
}
