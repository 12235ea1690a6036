package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/externalsecrets"
	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
	"github.com/argosy-hub/argosy/test/e2e/internal/services"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// What the documents name, in place of what is the user's own.
const (
	documentedURL    = "https://git.example.com/platform/fleet.git"
	documentedCharts = documentedRegistry + "/charts"

	newHub, newMember = "hub", "shop-dev-1"

	installDocument   = "docs/how-to/install-a-hub.md"
	upgradeDocument   = "docs/how-to/upgrade-a-hub.md"
	uninstallDocument = "docs/how-to/uninstall-a-hub.md"
)

// installation is a stranger's: a cluster with Argo CD, an empty repository, and the documents.
type installation struct {
	hub, member *testcluster.Cluster
	checkout    string
	dir         string // of the user
	forge       *forge
	charts      *chartserver.Server // of the components
	components  []chartserver.Chart // that the example enables
	repository  string              // its URL
	environment string              // a values file: what is particular here
	hubProxy    *services.Proxy
	argocd      *argocd.ArgoCD
}

// TestInstall: on a cluster with Argo CD and nothing else, the commands of README.md and of
// docs/how-to/install-a-hub.md make a hub, from an OCI registry that has one release. cosign
// verifies the image and the charts there, as SECURITY.md says. Argo CD has the installed service's
// responses, the hub is registered, its own component and its member's are deployed, and no file is
// edited that is not the user's. `helm upgrade` and a commit upgrade it to the next releases, helm
// and a revert go back, and nothing is made anew. Uninstalled, the hub keeps the Applications.
func TestInstall(t *testing.T) {
	hubs.beside(t, 150)
	i := newInstallation(t)
	began := time.Now()
	i.forge.publish(t, "0.1.0", "hub", "application-sets", "fleet-secret")
	i.verifyRelease(t)
	t.Logf("%5.1fs  a release is published and verified", time.Since(began).Seconds())
	i.run(t, i.dir, i.localised(command(t, i.checkout, "README.md", "helm install argosy"), "0.1.0"))
	installed, program := i.identities(t), i.program(t)
	i.forge.publish(t, "0.1.1", "hub")
	i.run(t, i.dir, i.localised(command(t, i.checkout, upgradeDocument, "helm upgrade argosy"), "0.1.1"))
	i.same(t, installed, "helm upgrade")
	i.run(t, i.dir, command(t, i.checkout, upgradeDocument, "helm rollback argosy"))
	i.same(t, installed, "helm rollback")
	if chart := i.chart(t); chart != "hub-0.1.0" {
		t.Errorf("after helm rollback the roots are those of %s", chart)
	}
	t.Logf("%5.1fs  installed, upgraded and rolled back with helm", time.Since(began).Seconds())

	fleet := i.pushFleet(t)
	i.startService(t, program)
	t.Logf("%5.1fs  the fleet is pushed, and the service ready", time.Since(began).Seconds())
	i.registerMember(t)
	i.until(t, "the hub's Applications and the member's", func() string { return i.unsettled(t) })
	t.Logf("%5.1fs  all Applications synced and healthy", time.Since(began).Seconds())
	if o := i.get(t, i.member, kube.Deployments, "kube-system", "metrics-server"); o == nil {
		t.Error("the member has no metrics-server")
	}
	if o := i.get(t, i.hub, kube.Deployments, "external-secrets", "external-secrets"); o == nil {
		t.Error("the hub has no component of its own")
	}
	i.same(t, installed, "taking over by the hub's own Application")
	i.checkPlan(t, fleet)
	must(t, replaceIn(filepath.Join(fleet, "fleet/bootstrap/hub/argosy.yaml"), "targetRevision: 0.1.0", "targetRevision: 0.1.1"))
	i.run(t, fleet, "git commit --quiet --all --message 'As helm has upgraded it before' && git push --quiet '"+i.repository+"' HEAD:main")
	i.untilChart(t, "hub-0.1.1")

	applications := i.applications(t)
	i.forge.publish(t, "0.1.2", "hub")
	i.kubectl(t, command(t, i.checkout, upgradeDocument, "kubectl --namespace argocd delete secrets"))
	i.run(t, fleet, command(t, i.checkout, upgradeDocument, "perl -pi -e")+" && "+command(t, i.checkout, upgradeDocument, "git commit"))
	i.untilChart(t, "hub-0.1.2")
	t.Logf("%5.1fs  upgraded by a commit", time.Since(began).Seconds())
	i.same(t, installed, "the upgrade by a commit")
	i.run(t, fleet, command(t, i.checkout, upgradeDocument, "git revert"))
	i.untilChart(t, "hub-0.1.1")
	t.Logf("%5.1fs  rolled back by a commit", time.Since(began).Seconds())
	i.same(t, installed, "the rollback by a commit")
	if list := i.listed(t); len(list) != len(applications) {
		t.Errorf("%s lists %d Applications; there are %d", installDocument, len(list), len(applications))
	}
	now := i.applications(t)
	for name, uid := range applications {
		if now[name] != uid {
			t.Errorf("Application %s was made anew by the upgrade", name)
		}
	}
	i.uninstall(t, now)
	t.Logf("%5.1fs  uninstalled", time.Since(began).Seconds())
}

// newInstallation starts what a user has before the first command.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	clusters := testcluster.StartNamed(t, []string{newHub, newMember}, "external-secrets", "argocd-"+argoCD())
	i := &installation{hub: clusters[0], member: clusters[1], checkout: checkout, dir: t.TempDir()}
	git, err := gitserver.Start(t.Context(), filepath.Join(i.hub.Dir, "git"))
	must(t, err)
	t.Cleanup(func() { _ = git.Close() })
	_, err = git.Create("fleet")
	must(t, err)
	i.repository = git.URL("fleet")
	i.serveCharts(t)
	i.forge = newForge(t, checkout, filepath.Join(i.dir, "forge"))

	proxy, err := services.Start(t.Context(), i.hub.Client)
	must(t, err)
	t.Cleanup(func() { _ = proxy.Close() })
	address, err := url.Parse(i.member.URL)
	must(t, err)
	port, err := strconv.Atoi(address.Port())
	must(t, err)
	i.argocd, err = argocd.Start(t.Context(), argocd.Options{
		Binaries: i.hub.Binaries, Group: i.hub.Group, Version: argoCD(), Cluster: i.hub.Cluster, Forward: []int{port},
		Dir: filepath.Join(i.hub.Dir, "argocd"), HTTPProxy: proxy.URL,
		Env: []string{"SSL_CERT_FILE=" + i.forge.certificate},
	})
	must(t, err)
	_, err = externalsecrets.Start(t.Context(), externalsecrets.Options{Binaries: i.hub.Binaries, Group: i.hub.Group, Cluster: i.hub.Cluster, NoStore: true})
	must(t, err)
	i.hubProxy = proxy

	// External Secrets runs outside of the cluster here, where no DNS knows its API server.
	i.environment = filepath.Join(i.dir, "environment.yaml")
	must(t, os.WriteFile(i.environment, []byte("service:\n"+i.image()+i.environmentValues(t)), 0o600))
	return i
}

// environmentValues are what a user's own cluster needs no value for, and the registry of charts as
// a mirror.
func (i *installation) environmentValues(t *testing.T) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"charts":      map[string]any{"repoURL": i.forge.charts()},
		"secretStore": map[string]any{"kubernetes": map[string]any{"server": map[string]any{"url": i.hub.URL, "caBundle": i.hub.CAData}}},
	})
	must(t, err)
	return string(text)
}

// image is the registry of images as a mirror, below the key `service`.
func (i *installation) image() string {
	return fmt.Sprintf("  image: {repository: %s/generator-plugin}\n", i.forge.host)
}

// serveCharts serves stand-ins for the components' charts.
func (i *installation) serveCharts(t *testing.T) {
	t.Helper()
	all, err := fleetrepo.Charts(t.Context(), i.checkout)
	must(t, err)
	for _, c := range all {
		enabled := c.Name == "metrics-server" || c.Name == "external-secrets"
		if enabled && !slices.ContainsFunc(i.components, func(other chartserver.Chart) bool { return other.Name == c.Name }) {
			i.components = append(i.components, c)
		}
	}
	i.charts, err = chartserver.Start(t.Context(), i.components)
	must(t, err)
}

// pushFleet follows the document's step 2: a fleet to begin with, with the user's URL. Addresses of
// charts are this environment's, as nothing here reaches the network.
func (i *installation) pushFleet(t *testing.T) (folder string) {
	t.Helper()
	folder = filepath.Join(i.dir, "fleet")
	must(t, os.Mkdir(folder, 0o755))
	i.run(t, folder, command(t, i.checkout, installDocument, "argosy init"))

	if out := i.run(t, folder, command(t, i.checkout, installDocument, "argosy lint")); strings.TrimSpace(out) != "no problems: 2 clusters of 1 hub" {
		t.Errorf("the document says otherwise: %s", out)
	}

	for _, file := range []string{"versions/applicationSets.yaml", "versions/fleetSecrets.yaml", "fleet/bootstrap/hub/argosy.yaml"} {
		must(t, replaceIn(filepath.Join(folder, file), documentedCharts, i.forge.charts()))
	}
	must(t, replaceIn(filepath.Join(folder, "fleet/bootstrap/hub/argosy.yaml"), "        projects:\n", "        "+
		strings.ReplaceAll(i.environmentValues(t), "\n", "\n        ")+"projects:\n"))
	must(t, replaceIn(filepath.Join(folder, "fleet/bootstrap/hub/argosy.yaml"), "        service:\n", "        service:\n        "+i.image()))
	// The projects admit the repository of the stand-ins.
	must(t, replaceIn(filepath.Join(folder, "fleet/bootstrap/hub/argosy.yaml"), "https://kubernetes-sigs.github.io/metrics-server", i.charts.URL()))
	for _, chart := range i.components {
		from := fmt.Sprintf("    chart: {repoURL: %q, name: %s, version: %s}\n", i.charts.URL(), chart.Name, chart.Version)
		catalogs := filepath.Join(folder, "addons/defaults/application-sets")
		if chart.Name == "external-secrets" { // which the hub's flag brings
			must(t, os.WriteFile(filepath.Join(catalogs, "fleet.yaml"), []byte("components:\n  external-secrets:\n"+from), 0o600))
			continue
		}
		must(t, replaceIn(filepath.Join(catalogs, "addons.yaml"), "    enabled: true\n", "    enabled: true\n"+from))
	}
	i.run(t, folder, command(t, i.checkout, installDocument, "git init"))
	return folder
}

// startService runs the installed Deployment's containers as processes, and leads its Service
// there.
func (i *installation) startService(t *testing.T, program string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	t.Logf("the service is started by %s", program)
	p, err := plugin.Delivered(ctx, plugin.Options{
		Name: "generator-plugin", Binary: program,
		Group: i.hub.Group, Cluster: i.hub.Cluster, Client: i.hub.Client, Dir: filepath.Join(i.dir, "generator-plugin"),
	})
	must(t, err)
	i.hubProxy.Serve(p.URL, p.Labels())
}

// registerMember follows the document's step 3.
func (i *installation) registerMember(t *testing.T) {
	t.Helper()
	secret, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": newMember, "namespace": "fleet-secrets"},
		"stringData": map[string]any{"server": i.member.URL, "config": i.member.ArgoConfig()},
	})
	must(t, err)
	must(t, i.hub.Client.Apply(t.Context(), "", secret))
}
