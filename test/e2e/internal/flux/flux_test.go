package flux_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// limit of what is waited for. It takes seconds, but two processors may be shared.
const limit = 2 * time.Minute

// Flux deploys from Git, from a Helm repository and from an OCI registry, all over plain HTTP;
// takes away what is deleted; and goes on where it was after each of its controllers was killed.
func TestFlux(t *testing.T) {
	e := start(t)
	t.Run("git", e.git)
	t.Run("helm", e.helm)
	t.Run("oci", e.oci)
	t.Run("source-controller killed", e.sourceKilled)
	t.Run("kustomize-controller killed", e.kustomizeKilled)
	t.Run("helm-controller killed", e.helmKilled)
	t.Run("deleted", e.deleted)
}

type environment struct {
	client *kube.Client
	flux   *flux.Flux
	repo   *repository
	charts *chartserver.Server
}

func start(t *testing.T) *environment {
	t.Helper()
	cluster := testcluster.Start(t, flux.Components()...)
	e := &environment{client: cluster.Client, repo: newRepository(t)}
	var err error
	if e.charts, err = chartserver.Start(t.Context(), []chartserver.Chart{{Name: "web", Version: "1.2.3"}}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	e.flux, err = flux.Start(t.Context(), flux.Options{
		Binaries: cluster.Binaries, Group: cluster.Group, Cluster: cluster.Cluster, Client: e.client, Dir: filepath.Join(cluster.Dir, "flux"),
	})
	require.NoError(t, err)
	t.Logf("flux %v started in %s", e.flux.Versions, since(began))
	return e
}

func (e *environment) git(t *testing.T) {
	e.repo.push(t, map[string]string{"apps/apps.yaml": apps("hello")})
	e.apply(t, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet}
spec: {url: "`+e.repo.url+`", ref: {branch: main}, interval: 1h}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps}
spec: {sourceRef: {kind: GitRepository, name: fleet}, path: ./apps, prune: true, wait: true, interval: 1h}
`)
	e.ready(t, flux.GitRepositories, "fleet")
	e.ready(t, flux.Kustomizations, "apps")
	e.available(t, "apps", "pause", 2)
	e.repo.push(t, map[string]string{"apps/apps.yaml": apps("hello again")})
	e.reconcile(t, flux.GitRepositories, "fleet")
	e.greets(t, "apps", "greeting", "text", "hello again")
}

func (e *environment) helm(t *testing.T) {
	e.apply(t, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts}
spec: {url: "`+e.charts.URL()+`", interval: 1h}
`+release("hello"))
	e.ready(t, flux.HelmReleases, "web")
	e.available(t, "web", "web", 3)
	e.greets(t, "web", "web-values", "values.yaml", "greeting: hello\nreplicas: 3\n")
}

func (e *environment) oci(t *testing.T) {
	e.apply(t, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: artifact}
spec: {url: "oci://`+registry(t, map[string]string{"greeting.yaml": greeting("oci", "packed")})+`/fleet", insecure: true, ref: {tag: main}, interval: 1h}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: oci}
spec: {sourceRef: {kind: OCIRepository, name: artifact}, path: ./, prune: true, wait: true, interval: 1h}
`)
	e.ready(t, flux.OCIRepositories, "artifact")
	e.ready(t, flux.Kustomizations, "oci")
	e.greets(t, "oci", "greeting", "text", "packed")
}

// What was pushed meanwhile is deployed, and what failed to fetch artifacts meanwhile is tried
// again soon.
func (e *environment) sourceKilled(t *testing.T) {
	kill(t, e.flux.Source)
	e.repo.push(t, map[string]string{"apps/apps.yaml": apps("pushed meanwhile")})
	e.reconcile(t, flux.Kustomizations, "apps")
	e.becomes(t, flux.Kustomizations, flux.Namespace, "apps", "fails to fetch", func(o *unstructured.Unstructured) bool {
		return reason(o) == "ArtifactFailed"
	})
	restart(t, e.flux.Source)
	e.greets(t, "apps", "greeting", "text", "pushed meanwhile")
	e.ready(t, flux.Kustomizations, "apps")
}

func (e *environment) kustomizeKilled(t *testing.T) {
	kill(t, e.flux.Kustomize)
	revision := e.repo.push(t, map[string]string{"apps/apps.yaml": apps("fetched meanwhile")})
	e.reconcile(t, flux.GitRepositories, "fleet")
	e.becomes(t, flux.GitRepositories, flux.Namespace, "fleet", "has "+revision, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "artifact", "revision") == "main@sha1:"+revision
	})
	restart(t, e.flux.Kustomize)
	e.greets(t, "apps", "greeting", "text", "fetched meanwhile")
	e.ready(t, flux.Kustomizations, "apps")
}

func (e *environment) helmKilled(t *testing.T) {
	kill(t, e.flux.Helm)
	e.apply(t, release("changed meanwhile"))
	restart(t, e.flux.Helm)
	e.greets(t, "web", "web-values", "values.yaml", "greeting: changed meanwhile\nreplicas: 3\n")
	e.ready(t, flux.HelmReleases, "web")
}

func (e *environment) deleted(t *testing.T) {
	for _, o := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{
		{flux.HelmReleases, "web"},
		{flux.Kustomizations, "apps"},
	} {
		require.NoError(t, e.client.Delete(t.Context(), o.resource, flux.Namespace, o.name, metav1.DeletePropagationBackground))
	}
	for _, o := range []struct {
		resource        schema.GroupVersionResource
		namespace, name string
	}{
		{kube.Deployments, "web", "web"},
		{kube.ConfigMaps, "web", "web-values"},
		{flux.HelmReleases, flux.Namespace, "web"},
		{flux.HelmCharts, flux.Namespace, flux.Namespace + "-web"},
		{kube.Deployments, "apps", "pause"},
		{flux.Kustomizations, flux.Namespace, "apps"},
	} {
		e.waits(t, o.resource.Resource+" "+o.namespace+"/"+o.name+" goes", func(ctx context.Context) (bool, any, error) {
			found, err := e.client.Get(ctx, o.resource, o.namespace, o.name)
			return err == nil && found == nil, found, err
		})
	}
}
