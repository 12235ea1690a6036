package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
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
	documentedCharts = "ghcr.io/argosy-hub/charts"

	newHub, newMember = "hub", "shop-dev-1"

	installDocument   = "docs/how-to/install-a-hub.md"
	upgradeDocument   = "docs/how-to/upgrade-a-hub.md"
	uninstallDocument = "docs/how-to/uninstall-a-hub.md"
)

// installed versions of the charts: the first, and those that the hub is upgraded to.
var chartVersions = []string{"0.1.0", "0.1.1", "0.1.2"}

// installation is a stranger's: a cluster with Argo CD, an empty repository, and the documents.
type installation struct {
	hub, member *testcluster.Cluster
	checkout    string
	dir         string // of the user
	charts      *chartserver.Server
	components  []chartserver.Chart // that the example enables
	repository  string              // its URL
	environment string              // a values file: what is particular here
	hubProxy    *services.Proxy
	argocd      *argocd.ArgoCD
}

// TestInstall: on a cluster with Argo CD and nothing else, the commands of README.md and of
// docs/how-to/install-a-hub.md make a hub. Argo CD has the installed service's responses, the hub
// is registered, its own component and its member's are deployed, and no file is edited that is
// not the user's. `helm upgrade` and a commit upgrade it, helm and a revert go back, and nothing is
// made anew. Uninstalled, the hub keeps the Applications.
func TestInstall(t *testing.T) {
	hubs.beside(t, 55)
	i := newInstallation(t)
	began := time.Now()
	i.run(t, i.dir, i.localised(command(t, i.checkout, "README.md", "helm install argosy"), "0.1.0"))
	installed := i.identities(t)
	i.run(t, i.dir, i.localised(command(t, i.checkout, upgradeDocument, "helm upgrade argosy"), "0.1.1"))
	i.same(t, installed, "helm upgrade")
	i.run(t, i.dir, command(t, i.checkout, upgradeDocument, "helm rollback argosy"))
	i.same(t, installed, "helm rollback")
	if chart := i.chart(t); chart != "hub-0.1.0" {
		t.Errorf("after helm rollback the roots are those of %s", chart)
	}
	t.Logf("%5.1fs  installed, upgraded and rolled back with helm", time.Since(began).Seconds())

	fleet := i.pushFleet(t)
	i.startService(t)
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

	applications := i.applications(t)
	i.kubectl(t, command(t, i.checkout, upgradeDocument, "kubectl --namespace argocd delete secrets"))
	i.run(t, fleet, command(t, i.checkout, upgradeDocument, "sed -i")+" && "+command(t, i.checkout, upgradeDocument, "git commit"))
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
	})
	must(t, err)
	_, err = externalsecrets.Start(t.Context(), externalsecrets.Options{Binaries: i.hub.Binaries, Group: i.hub.Group, Cluster: i.hub.Cluster})
	must(t, err)
	i.hubProxy = proxy

	// External Secrets runs outside of the cluster here, where no DNS knows its API server.
	i.environment = filepath.Join(i.dir, "environment.yaml")
	must(t, os.WriteFile(i.environment, i.environmentValues(t), 0o600))
	return i
}

// environmentValues are what a user's own cluster needs no value for.
func (i *installation) environmentValues(t *testing.T) []byte {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"secretStore": map[string]any{"kubernetes": map[string]any{"server": map[string]any{"url": i.hub.URL, "caBundle": i.hub.CAData}}},
	})
	must(t, err)
	return text
}

// serveCharts packages the charts as a release does, and serves them beside stand-ins for the
// components'.
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
	helm, err := i.hub.Binaries.Find("helm")
	must(t, err)
	for _, chart := range []string{"hub", "application-sets", "fleet-secret"} {
		for _, version := range chartVersions {
			pack := exec.CommandContext(t.Context(), helm, "package", filepath.Join(i.checkout, "charts", chart), "--version", version, "--destination", i.dir)
			if out, err := pack.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", pack, err, out)
			}
			archive, err := os.ReadFile(filepath.Join(i.dir, chart+"-"+version+".tgz"))
			must(t, err)
			must(t, i.charts.Put(chartserver.Chart{Name: chart, Version: version}, archive))
			if chart != "hub" {
				break // one version is enough
			}
		}
	}
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
		must(t, replaceIn(filepath.Join(folder, file), documentedCharts, i.charts.URL()))
	}
	must(t, replaceIn(filepath.Join(folder, "fleet/bootstrap/hub/argosy.yaml"), "targetRevision: 0.1.0", "targetRevision: 0.1.1"))
	must(t, replaceIn(filepath.Join(folder, "fleet/bootstrap/hub/argosy.yaml"), "        projects:\n", "        "+
		strings.ReplaceAll(string(i.environmentValues(t)), "\n", "\n        ")+"projects:\n"))
	for _, chart := range i.components {
		group := map[string]string{"metrics-server": "addons", "external-secrets": "fleet"}[chart.Name]
		file := filepath.Join(folder, "addons/defaults/application-sets", group+".yaml")
		must(t, replaceIn(file, "    enabled: true", fmt.Sprintf("    enabled: true\n    chart: {repoURL: %q, name: %s, version: %s}", i.charts.URL(), chart.Name, chart.Version)))
	}
	i.run(t, folder, command(t, i.checkout, installDocument, "git init"))
	return folder
}

// startService runs the installed Deployment's container as a process, and leads its Service there.
func (i *installation) startService(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	program := plugin.FromImage(i.checkout)
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
