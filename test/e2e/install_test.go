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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/externalsecrets"
	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
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

	installDocument = "docs/how-to/install-a-hub.md"
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
}

// TestInstall: on a cluster with Argo CD and nothing else, the commands of README.md and of
// docs/how-to/install-a-hub.md make a hub. Argo CD has the installed service's responses, the hub
// is registered, its own component and its member's are deployed, and no file is edited that is
// not the user's. `helm upgrade` and a commit upgrade it, and nothing is made anew.
func TestInstall(t *testing.T) {
	i := newInstallation(t)
	began := time.Now()
	i.run(t, i.dir, i.localised(command(t, i.checkout, "README.md", "helm install argosy"), "0.1.0"))
	installed := i.identities(t)
	i.run(t, i.dir, i.localised(command(t, i.checkout, installDocument, "helm upgrade argosy"), "0.1.1"))
	i.same(t, installed, "helm upgrade")
	t.Logf("%5.1fs  installed, and upgraded with helm", time.Since(began).Seconds())

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
	file := filepath.Join(fleet, "fleet/bootstrap", newHub, "argosy.yaml")
	must(t, replaceIn(file, "targetRevision: 0.1.1", "targetRevision: 0.1.2"))
	i.run(t, fleet, "git commit --quiet --all --message 'Upgrade the hub' && git push --quiet URL main")
	i.until(t, "the upgrade by a commit", func() string {
		chart := i.get(t, i.hub, kube.ApplicationSets, argocd.Namespace, "members").GetLabels()["helm.sh/chart"]
		if chart != "hub-0.1.2" {
			return "the roots are those of " + chart
		}
		return i.unsettled(t)
	})
	t.Logf("%5.1fs  upgraded by a commit", time.Since(began).Seconds())
	i.same(t, installed, "the upgrade by a commit")
	if list := i.listed(t); len(list) != len(applications) {
		t.Errorf("%s lists %d Applications; there are %d", installDocument, len(list), len(applications))
	}
	now := i.applications(t)
	for name, uid := range applications {
		if now[name] != uid {
			t.Errorf("Application %s was made anew by the upgrade", name)
		}
	}
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
	_, err = argocd.Start(t.Context(), argocd.Options{
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

// command is a command of a document's console blocks, by what it begins with, with its continued
// lines.
func command(t *testing.T, checkout, document, begins string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(checkout, document))
	must(t, err)
	_, rest, found := strings.Cut(string(text), "$ "+begins)
	if !found {
		t.Fatalf("%s has no command %q", document, begins)
	}
	out := begins
	for line := range strings.Lines(rest) {
		part, continued := strings.CutSuffix(strings.TrimSpace(line), `\`)
		out += " " + part
		if !continued {
			break
		}
	}
	return out
}

// localised is a documented command of helm with the charts and the values of this environment.
func (i *installation) localised(helm, version string) string {
	helm = strings.ReplaceAll(helm, "--version VERSION", "")
	helm = strings.ReplaceAll(helm, "oci://"+documentedCharts+"/hub", fmt.Sprintf("hub --repo %s --version %s", i.charts.URL(), version))
	return strings.ReplaceAll(helm, documentedURL, i.repository) + " --values " + i.environment
}

// run runs a documented command as a shell does, URL being the user's own.
func (i *installation) run(t *testing.T, dir, script string) string {
	t.Helper()
	helm, err := i.hub.Binaries.Find("helm")
	must(t, err)
	sh := exec.CommandContext(t.Context(), "sh", "-euc", strings.ReplaceAll(script, "URL", i.repository))
	sh.Dir = dir
	sh.Env = []string{
		"HOME=" + i.dir, "KUBECONFIG=" + i.hub.Kubeconfig, "PATH=" + strings.Join([]string{filepath.Join(i.checkout, "bin"), filepath.Dir(helm), os.Getenv("PATH")}, ":"),
		"GIT_AUTHOR_NAME=user", "GIT_AUTHOR_EMAIL=user@example.com", "GIT_COMMITTER_NAME=user", "GIT_COMMITTER_EMAIL=user@example.com",
	}
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	t.Logf("$ %s\n%s", script, out)
	return string(out)
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
	p, err := plugin.Delivered(ctx, plugin.Options{
		Name: "generator-plugin", Binary: filepath.Join(i.checkout, "bin", "generator-plugin"),
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

// listed are the Applications that the document's step 4 shows as synced and healthy.
func (i *installation) listed(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(i.checkout, installDocument))
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "$ kubectl --namespace argocd get applications\n")
	block, _, _ := strings.Cut(rest, "```")
	for line := range strings.Lines(block) {
		if f := strings.Fields(line); len(f) == 3 && f[1] == "Synced" && f[2] == "Healthy" {
			names = append(names, f[0])
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s lists no Applications", installDocument)
	}
	return names
}

// unsettled names what is missing or not yet synced and healthy.
func (i *installation) unsettled(t *testing.T) string {
	t.Helper()
	apps, err := i.hub.Client.List(t.Context(), kube.Applications, argocd.Namespace, "")
	must(t, err)
	var out []string
	for _, name := range i.listed(t) {
		if s := state(apps[name]); s != good {
			out = append(out, name+" "+s)
		}
	}
	return strings.Join(out, ", ")
}

// applications are the UIDs of the Applications by name.
func (i *installation) applications(t *testing.T) map[string]string {
	t.Helper()
	apps, err := i.hub.Client.List(t.Context(), kube.Applications, argocd.Namespace, "")
	must(t, err)
	out := map[string]string{}
	for name, app := range apps {
		out[name] = string(app.GetUID())
	}
	return out
}

var clusterSecretStores = schema.GroupVersionResource{Group: "external-secrets.io", Version: "v1", Resource: "clustersecretstores"}

// identities are the UIDs of what the chart installs, and the service's token.
func (i *installation) identities(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, o := range []struct {
		resource        schema.GroupVersionResource
		namespace, name string
	}{
		{kube.Deployments, argocd.Namespace, "generator-plugin"},
		{schema.GroupVersionResource{Version: "v1", Resource: "services"}, argocd.Namespace, "generator-plugin"},
		{kube.ConfigMaps, argocd.Namespace, "generator-plugin"},
		{kube.Secrets, argocd.Namespace, "generator-plugin-token"},
		{kube.Secrets, argocd.Namespace, "hub-cluster"},
		{kube.ApplicationSets, argocd.Namespace, "members"},
		{kube.ApplicationSets, argocd.Namespace, "addons"},
		{kube.Applications, argocd.Namespace, hub.Root},
		{kube.AppProjects, argocd.Namespace, "platform"},
		{clusterSecretStores, "", "fleet-secrets"},
	} {
		object := i.get(t, i.hub, o.resource, o.namespace, o.name)
		if object == nil {
			t.Fatalf("the chart installs no %s %s", o.resource.Resource, o.name)
		}
		out[o.resource.Resource+" "+o.name] = string(object.GetUID())
		if o.name == "generator-plugin-token" {
			out["the token"], _, _ = unstructured.NestedString(object.Object, "data", "token")
		}
	}
	return out
}

// same fails where something was made anew.
func (i *installation) same(t *testing.T, before map[string]string, after string) {
	t.Helper()
	for what, uid := range i.identities(t) {
		if before[what] != uid {
			t.Errorf("%s is another one after %s", what, after)
		}
	}
}

func (i *installation) get(t *testing.T, c *testcluster.Cluster, r schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := c.Client.Get(t.Context(), r, namespace, name)
	must(t, err)
	return o
}

// until waits until pending has nothing to say any more, and says what Argo CD says if it never is.
func (i *installation) until(t *testing.T, what string, pending func() string) {
	t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, 2*patience, true, func(context.Context) (bool, error) {
		last = pending()
		return last == "", nil
	})
	if err == nil {
		return
	}
	for _, r := range []schema.GroupVersionResource{kube.Applications, kube.ApplicationSets, kube.ExternalSecrets} {
		list, err := i.hub.Client.Dynamic.Resource(r).List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
		if err != nil {
			t.Log(err)
			continue
		}
		for _, o := range list.Items {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			operation, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "message")
			t.Logf("%s %s: %s %v", o.GetKind(), o.GetName(), operation, conditions)
		}
	}
	t.Fatalf("%s: not within %s: %s", what, 2*patience, last)
}

// replaceIn replaces a text that a file has.
func replaceIn(file, old, with string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), old) {
		return fmt.Errorf("%s has no %q", file, old)
	}
	return os.WriteFile(file, []byte(strings.ReplaceAll(string(text), old, with)), 0o600)
}
