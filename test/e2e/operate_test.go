package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// TestOperate runs what is about the service alone on one control plane: its state, its alerts, its
// upgrades, a lost state, and its way to Git.
func TestOperate(t *testing.T) {
	hubs.beside(t, 90)
	cluster := testcluster.Start(t, "argocd-"+argoCD())
	t.Run("state", func(t *testing.T) { sharedState(t, cluster) })
	o := newOperated(t, cluster)
	t.Run("alerts", func(t *testing.T) { alerts(t, o) })
	t.Run("upgrade", func(t *testing.T) { rollingUpgrade(t, o) })
	t.Run("restore", func(t *testing.T) { restored(t, o) })
	t.Run("network", func(t *testing.T) { network(t, o) })
}

const (
	lastingNamespace = "fleet-state"
	memberA          = "fleet/fleet-members/hub/a.yaml"
	dnsValues        = "addons/defaults/addons/dns/values.yaml"
	dnsCatalog       = "addons/defaults/application-sets/addons.yaml"
)

// operated is the service as charts/generator-plugin installs it on a cluster, with its state in
// ConfigMaps, a Git server, and a small fleet.
type operated struct {
	cluster  *testcluster.Cluster
	checkout string
	dir      string
	git      *gitserver.Server
	objects  []*unstructured.Unstructured // that the chart renders
}

// operateValues are the chart's values: what a hub with monitoring sets.
const operateValues = `
hub: hub
source: {git: {url: %s, interval: 1s}}
token: {existingSecret: generator-plugin-token}
state: {type: kubernetes, namespace: fleet-state}
drainDelay: 2s
logFormat: text
serviceMonitor: {enabled: true}
prometheusRule: {enabled: true}
dashboard: {enabled: true}
`

func newOperated(t *testing.T, cluster *testcluster.Cluster) *operated {
	t.Helper()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	o := &operated{cluster: cluster, checkout: checkout, dir: t.TempDir()}
	o.git, err = gitserver.Start(t.Context(), filepath.Join(o.dir, "git"))
	must(t, err)
	t.Cleanup(func() { _ = o.git.Close() })
	_, err = o.git.Create("fleet")
	must(t, err)
	must(t, os.Mkdir(o.clone(), 0o700))
	_, err = gitcmd.Run(t.Context(), o.clone(), "init", "--quiet", "--initial-branch=main", "--template=")
	must(t, err)
	for name, text := range operatedFleet {
		o.write(t, name, text)
	}
	o.push(t)

	client := cluster.Client
	must(t, client.Define(t.Context(), filepath.Join(cluster.Binaries.Files("argocd-"+argoCD()), "crds")))
	for _, namespace := range []string{argocd.Namespace, lastingNamespace} {
		must(t, client.Namespace(t.Context(), namespace))
	}
	for _, name := range []string{"hub", "a", "b"} {
		must(t, client.Apply(t.Context(), argocd.Namespace, clusterSecret(name, "first")))
	}
	must(t, client.Apply(t.Context(), argocd.Namespace, []byte(operatedObjects)))
	o.install(t, o.values())
	return o
}

// operatedFleet has two members, and a component with a value from the facts of a cluster.
var operatedFleet = map[string]string{
	"fleet/fleet-members/hub/hub.yaml": "{clusterName: hub, tenant: p, environment: prod, fleet_member: hub-cluster}\n",
	memberA:                            "{clusterName: a, tenant: t, environment: dev, secretManagerSecretName: x}\n",
	"fleet/fleet-members/hub/b.yaml":   "{clusterName: b, tenant: t, environment: dev, secretManagerSecretName: x}\n",
	"versions/applicationSets.yaml":    "releases: {addons: [{type: default, version: v1, chartRepoUrl: r, chartRepo: c, ecrChartName: c}]}\n",
	"versions/fleetSecrets.yaml":       "releases: [{type: default, version: v1, chartRepoUrl: r, chartRepo: c, ecrChartName: c}]\n",
	dnsCatalog:                         "dns: {enabled: true, chart: {repoURL: r, name: dns, version: 1.0.0}}\n",
	dnsValues:                          "replicas: 1\n",
	dnsValues + ".gotmpl":              "zone: {{ .annotations.zone }}\n",
}

// operatedObjects are the token, and an ApplicationSet that asks the service.
const operatedObjects = `apiVersion: v1
kind: Secret
metadata: {name: generator-plugin-token, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {token: 0123456789abcdef0123456789abcdef}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: addons}
spec:
  goTemplate: true
  generators:
    - plugin:
        configMapRef: {name: generator-plugin}
        input: {parameters: {view: components, hub: hub, group: addons}}
        requeueAfterSeconds: 600
  template:
    metadata: {name: '{{ .applicationName }}'}
    spec: {project: default, destination: {name: '{{ .name }}', namespace: default}, source: {repoURL: https://charts.example.com, chart: dns, targetRevision: 1.0.0}}
`

func clusterSecret(name, zone string) []byte {
	annotation := fmt.Sprintf("annotations: {zone: %s}", zone)
	if zone == "" {
		annotation = ""
	}
	return fmt.Appendf(nil, `apiVersion: v1
kind: Secret
metadata:
  name: %[1]s
  labels: {argocd.argoproj.io/secret-type: cluster}
  %[2]s
stringData: {name: %[1]s, server: "https://%[1]s.example", config: "{}"}
`, name, annotation)
}

// install applies what the chart renders, but for the Prometheus Operator's kinds.
func (o *operated) install(t *testing.T, text string) {
	t.Helper()
	helm, err := o.cluster.Binaries.Find("helm")
	must(t, err)
	values := filepath.Join(o.dir, "values.yaml")
	must(t, os.WriteFile(values, []byte(text), 0o600))
	template := exec.CommandContext(t.Context(), helm, "template", "generator-plugin", filepath.Join(o.checkout, "charts/generator-plugin"),
		"--namespace", argocd.Namespace, "--values", values, "--kube-version", "1.33.0")
	template.Stderr = os.Stderr
	manifests, err := template.Output()
	must(t, err)
	o.objects, err = kube.Decode(manifests)
	must(t, err)
	for _, object := range o.objects {
		if object.GroupVersionKind().Group != "monitoring.coreos.com" {
			must(t, o.cluster.Client.ApplyObject(t.Context(), argocd.Namespace, object))
		}
	}
}

func (o *operated) values() string { return fmt.Sprintf(operateValues, o.git.URL("fleet")) }

// rendered is the one object of a kind that the chart renders, by its name's end.
func (o *operated) rendered(t *testing.T, kind, suffix string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range kube.ByKind(o.objects, kind) {
		if name := object.GetName(); len(name) >= len(suffix) && name[len(name)-len(suffix):] == suffix {
			return object
		}
	}
	t.Fatalf("the chart renders no %s %s", kind, suffix)
	return nil
}

// replica starts the containers of one pod, of a build.
func (o *operated) replica(t *testing.T, name, binary string) *plugin.Plugin {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := plugin.Delivered(ctx, plugin.Options{
		Name: name, Binary: binary, Group: o.cluster.Group, Cluster: o.cluster.Cluster, Client: o.cluster.Client, Dir: filepath.Join(o.dir, name),
	})
	must(t, err)
	return p
}

// build is the binary as the checkout has it.
func (o *operated) build() string { return plugin.Program(o.checkout) }

func (o *operated) clone() string { return filepath.Join(o.dir, "clone") }

func (o *operated) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(o.clone(), name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// push commits what is in the clone, and returns the commit.
func (o *operated) push(t *testing.T) string {
	t.Helper()
	for _, args := range [][]string{
		{"add", "--all"},
		{"-c", "user.name=user", "-c", "user.email=user@example.com", "commit", "--quiet", "--allow-empty", "--message", "Change"},
		{"push", "--quiet", o.git.URL("fleet"), "main"},
	} {
		_, err := gitcmd.Run(t.Context(), o.clone(), args...)
		must(t, err)
	}
	head, err := gitcmd.Run(t.Context(), o.clone(), "rev-parse", "HEAD")
	must(t, err)
	return string(bytes.TrimSpace([]byte(head)))
}

// restore makes the fleet again what it was, and pushes it.
func (o *operated) restore(t *testing.T) {
	t.Helper()
	for _, folder := range []string{"fleet", "addons"} {
		must(t, os.RemoveAll(filepath.Join(o.clone(), folder)))
	}
	for name, text := range operatedFleet {
		o.write(t, name, text)
	}
	o.push(t)
}

// queries are those of the test's questions.
var queries = []map[string]any{
	{"view": "components", "hub": "hub", "group": "addons"},
	{"view": "members", "hub": "hub"},
	{"view": "releases", "hub": "hub", "group": "addons"},
}

// query asks a replica as Argo CD does.
func query(ctx context.Context, url, token string, parameters map[string]any) (code int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	text, err := queryText(parameters)
	if err != nil {
		return 0, nil, err
	}
	return post(ctx, url, token, bytes.NewReader(text))
}

// queryText is a query as Argo CD writes it.
func queryText(parameters map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{"applicationSetName": "addons", "input": map[string]any{"parameters": parameters}})
}

// post sends a query's text to a service.
func post(ctx context.Context, url, token string, text io.Reader) (code int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/getparams.execute", text)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// eventually waits until pending has nothing to say any more.
func (o *operated) eventually(t *testing.T, what string, pending func() string) {
	t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = pending()
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %s", what, patience, last)
	}
}

// specOf is a part of an object's spec as YAML.
func specOf(t *testing.T, object *unstructured.Unstructured, fields ...string) []byte {
	t.Helper()
	value, found, err := unstructured.NestedFieldNoCopy(object.Object, fields...)
	must(t, err)
	if !found {
		t.Fatalf("%s %s has no %s", object.GetKind(), object.GetName(), slices.Concat(fields))
	}
	text, err := yaml.Marshal(value)
	must(t, err)
	return text
}
