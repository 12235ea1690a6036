package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/kubectl"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// uninstall follows the document: the ApplicationSets and the service go, and no Application of a
// component or a member does.
func (i *installation) uninstall(t *testing.T, before map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(i.checkout, uninstallDocument))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if c, is := strings.CutPrefix(strings.TrimSpace(line), "$ "); is && strings.Contains(c, " delete ") {
			i.kubectl(t, c)
		}
	}
	i.until(t, "no ApplicationSets", func() string {
		left, err := i.hub.Client.List(t.Context(), kube.ApplicationSets, argocd.Namespace, "")
		must(t, err)
		return strings.Join(slices.Sorted(maps.Keys(left)), ", ")
	})
	kept := tableOf(t, string(text))
	now, err := i.hub.Client.List(t.Context(), kube.Applications, argocd.Namespace, "")
	must(t, err)
	for name, app := range now {
		if !slices.Contains(kept, name) {
			t.Errorf("Application %s is there; %s does not list it", name, uninstallDocument)
		}
		if len(app.GetOwnerReferences()) > 0 || app.GetDeletionTimestamp() != nil {
			t.Errorf("Application %s is about to go: %v", name, app.Object["metadata"])
		}
	}
	for _, name := range kept {
		if app := now[name]; app == nil || string(app.GetUID()) != before[name] {
			t.Errorf("Application %s is lost", name)
		}
	}
	if i.get(t, i.hub, kube.Deployments, argocd.Namespace, "generator-plugin") != nil {
		t.Error("the service is still installed")
	}
}

// kubectl runs a documented command of kubectl.
func (i *installation) kubectl(t *testing.T, text string) {
	t.Helper()
	out, err := kubectl.Run(t.Context(), i.hub.Client, i.dir, text)
	must(t, err)
	t.Logf("$ %s\n%s", text, strings.Join(out, "\n"))
}

// chart is the one that the roots are of.
func (i *installation) chart(t *testing.T) string {
	t.Helper()
	return i.get(t, i.hub, kube.ApplicationSets, argocd.Namespace, "members").GetLabels()["helm.sh/chart"]
}

// untilChart waits for the roots of a chart, and until all is settled.
func (i *installation) untilChart(t *testing.T, want string) {
	t.Helper()
	must(t, i.argocd.Refresh(t.Context(), hub.Root, false)) // which it does every three minutes by itself
	i.until(t, want, func() string {
		if chart := i.chart(t); chart != want {
			return "the roots are those of " + chart
		}
		return i.unsettled(t)
	})
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

// localised is a documented command of helm with the registry and the values of this environment.
func (i *installation) localised(helm, version string) string {
	helm = strings.ReplaceAll(helm, "VERSION", version)
	helm = strings.ReplaceAll(helm, documentedCharts, i.forge.charts())
	return strings.ReplaceAll(helm, documentedURL, i.repository) + " --values " + i.environment
}

// run runs a documented command as a shell does, URL being the user's own.
func (i *installation) run(t *testing.T, dir, script string) string {
	t.Helper()
	out, err := i.output(t, dir, script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	t.Logf("$ %s\n%s", script, out)
	return out
}

// output is run for a command that may fail.
func (i *installation) output(t *testing.T, dir, script string) (string, error) {
	t.Helper()
	helm, err := i.hub.Binaries.Find("helm")
	must(t, err)
	sh := exec.CommandContext(t.Context(), "sh", "-euc", strings.ReplaceAll(script, "URL", i.repository))
	sh.Dir = dir
	path := []string{filepath.Join(i.checkout, "bin"), filepath.Dir(helm), filepath.Dir(i.forge.cosign), os.Getenv("PATH")}
	sh.Env = []string{
		"HOME=" + i.dir, "KUBECONFIG=" + i.hub.Kubeconfig, "PATH=" + strings.Join(path, ":"), "SSL_CERT_FILE=" + i.forge.certificate,
		"GIT_AUTHOR_NAME=user", "GIT_AUTHOR_EMAIL=user@example.com", "GIT_COMMITTER_NAME=user", "GIT_COMMITTER_EMAIL=user@example.com",
	}
	out, err := sh.CombinedOutput()
	return string(out), err
}

// imagesOf are the images of a Deployment's containers, each once.
func imagesOf(t *testing.T, deployment *unstructured.Unstructured) (images []string) {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	must(t, err)
	for _, c := range containers {
		image, _, err := unstructured.NestedString(c.(map[string]any), "image") //nolint:forcetypeassert // containers are maps
		must(t, err)
		images = append(images, image)
	}
	slices.Sort(images)
	return slices.Compact(images)
}

// listed are the Applications that the document's step 4 shows as synced and healthy.
func (i *installation) listed(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(i.checkout, installDocument))
	must(t, err)
	return tableOf(t, string(text))
}

// tableOf are the Applications that a document's `kubectl get applications` shows as synced and
// healthy.
func tableOf(t *testing.T, document string) (names []string) {
	t.Helper()
	_, rest, _ := strings.Cut(document, "$ kubectl --namespace argocd get applications\n")
	block, _, _ := strings.Cut(rest, "```")
	for line := range strings.Lines(block) {
		if f := strings.Fields(line); len(f) == 3 && f[1] == "Synced" && f[2] == "Healthy" {
			names = append(names, f[0])
		}
	}
	if len(names) == 0 {
		t.Fatal("the document lists no Applications")
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
