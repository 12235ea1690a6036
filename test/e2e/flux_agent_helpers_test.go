package e2e

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

const (
	// fluxHub is the hub that is not there.
	fluxHub = "hub-eu"
	// fluxService is the release of charts/generator-plugin, and what its objects are called.
	fluxService = "generator-plugin"
	// fluxPatience is how long anything may take on two busy cores.
	fluxPatience = 3 * time.Minute
)

// fluxAgent is a member's cluster with Flux, and what it reads.
type fluxAgent struct {
	*testcluster.Cluster
	flux    *flux.Flux
	git     *gitserver.Server
	fleet   *fleetrepo.Repo
	service *process.Process
	ledger  *ledger
	spans   []string

	checkout string
	port     int // of the service
	token    string
}

// fluxComponent is a component of the hub's answer.
type fluxComponent struct {
	Group, Component, ReleaseName, Namespace, HelmValues string
	Chart                                                struct{ Path string }
}

// startFluxAgent starts Git, charts, and a cluster with Flux.
func startFluxAgent(t *testing.T) *fluxAgent {
	t.Helper()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	began := time.Now()
	// Helm is built with Argo CD's component.
	cluster := testcluster.Start(t, append(flux.Components(), "argocd-v2")...)
	m := &fluxAgent{Cluster: cluster, ledger: newLedger(), checkout: checkout}
	charts, err := fleetrepo.Charts(t.Context(), checkout)
	must(t, err)
	server, err := chartserver.Start(t.Context(), charts)
	must(t, err)
	m.git, err = gitserver.Start(t.Context(), filepath.Join(m.Dir, "git"))
	must(t, err)
	_, err = m.git.Create("fleet")
	must(t, err)
	m.fleet, err = fleetrepo.New(t.Context(), fleetrepo.Options{
		Source: checkout, Remote: m.git.URL("fleet"), ChartRepo: server.URL(), Hub: fluxHub, Members: []string{fluxMember},
		Dir: filepath.Join(m.Dir, "fleet"),
	})
	must(t, err)
	m.flux, err = flux.Start(t.Context(), flux.Options{
		Binaries: m.Binaries, Group: m.Group, Cluster: m.Cluster.Cluster, Client: m.Client, Dir: filepath.Join(m.Dir, "flux"),
	})
	must(t, err)
	m.port, err = process.FreePort()
	must(t, err)
	m.timed("cluster, Flux, Git and charts running", began)
	return m
}

// agentSet is the hub's answer for the member (view agents), as its Argo CD would have it, with the facts that Terraform
// writes onto cluster Secrets.
func (m *fluxAgent) agentSet(t *testing.T) (helmValues string, components []fluxComponent) {
	t.Helper()
	text := m.command(t, filepath.Join(m.checkout, "bin", "argosy"), "params", "--repo", m.fleet.Path(), "--hub", fluxHub, "--view", "agents",
		"--facts", filepath.Join(m.checkout, "examples", "facts.yaml"))
	var answer struct {
		Output struct {
			Parameters []struct {
				Name, HelmValues string
				Components       []fluxComponent
			}
		}
	}
	must(t, json.Unmarshal(text, &answer))
	for _, s := range answer.Output.Parameters {
		if s.Name == fluxMember {
			return s.HelmValues, s.Components
		}
	}
	t.Fatalf("the hub's answer has no %s", fluxMember)
	return "", nil
}

// answered are the components that the hub says the member runs, by the name of Application and HelmRelease.
func (m *fluxAgent) answered(t *testing.T) map[string]fluxComponent {
	t.Helper()
	_, components := m.agentSet(t)
	out := map[string]fluxComponent{}
	for _, c := range components {
		out[c.Component+"-"+fluxMember] = c
	}
	return out
}

// deliver applies charts/agent-flux as the hub does (fleet/bootstrap/hub-eu/agents-flux.yaml), but for two things: what
// would be asked for each minute is asked for every 5 seconds, and the service's address is not that of its Service,
// as no container runs here, but one of this machine, with a Secret of its own for it.
func (m *fluxAgent) deliver(t *testing.T) {
	t.Helper()
	given, _ := m.agentSet(t)
	values, err := yaml.Marshal(map[string]any{
		"plugin": map[string]any{
			"values":      given,
			"chart":       map[string]any{"url": m.git.URL("fleet"), "ref": map[string]any{"branch": fleetrepo.Main}},
			"extraValues": map[string]any{"replicas": 1, "drainDelay": "0s", "logFormat": "text", "source": map[string]any{"git": map[string]any{"interval": "5s"}}},
		},
		"artifact": map[string]any{
			"url": fmt.Sprintf("oci://127.0.0.1:%d/flux/%s/%s", m.port, fluxHub, fluxMember), "insecure": true, "interval": "5s",
			"secretName": fluxService + "-local",
		},
	})
	must(t, err)
	file := filepath.Join(m.Dir, "agent-flux.yaml")
	must(t, os.WriteFile(file, values, 0o600))
	version, err := m.Client.Typed.Discovery().ServerVersion()
	must(t, err)
	manifests := m.command(t, m.Binaries.Path("helm"), "template", "agent-flux", filepath.Join(m.fleet.Path(), "charts", "agent-flux"),
		"--namespace", flux.Namespace, "--values", file, "--kube-version", version.GitVersion)
	must(t, m.Client.Apply(t.Context(), flux.Namespace, manifests))
}

// startService waits for Flux to have installed charts/generator-plugin and stands in for the kubelet: it starts the
// program with the container's arguments, whose volumes are folders here.
func (m *fluxAgent) startService(t *testing.T) {
	t.Helper()
	m.eventually(t, "HelmRelease "+fluxService+" ready", func() string { return fluxReady(m.get(t, flux.HelmReleases, fluxService)) })
	var pod corev1.PodSpec
	template, _, err := unstructured.NestedMap(m.get(t, kube.Deployments, fluxService).Object, "spec", "template", "spec")
	must(t, err)
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod))
	dir := filepath.Join(m.Dir, "service")
	for _, v := range pod.Volumes {
		folder := filepath.Join(dir, v.Name)
		must(t, os.MkdirAll(folder, 0o700))
		switch {
		case v.Secret != nil:
			for key, value := range m.data(t, kube.Secrets, v.Secret.SecretName) {
				text, err := base64.StdEncoding.DecodeString(value)
				must(t, err)
				must(t, os.WriteFile(filepath.Join(folder, key), text, 0o600))
			}
		case v.ConfigMap != nil:
			for key, value := range m.data(t, kube.ConfigMaps, v.ConfigMap.Name) {
				must(t, os.WriteFile(filepath.Join(folder, key), []byte(value), 0o600))
			}
		}
	}
	mounts := slices.SortedFunc(slices.Values(pod.Containers[0].VolumeMounts), func(a, b corev1.VolumeMount) int {
		return cmp.Compare(len(b.MountPath), len(a.MountPath)) // /tmp last: the folders here may be below it
	})
	local := func(text string) string {
		for _, v := range mounts {
			if i := strings.Index(text, v.MountPath); i >= 0 {
				return text[:i] + filepath.Join(dir, v.Name) + text[i+len(v.MountPath):]
			}
		}
		return text
	}
	spec := process.Spec{
		Name: fluxService, Path: filepath.Join(m.checkout, "bin", fluxService), Ports: []int{m.port}, Dir: dir,
		Ready: process.WaitHTTP(m.url("/readyz"), nil), ReadyTimeout: fluxPatience,
	}
	for _, a := range pod.Containers[0].Args {
		if strings.HasPrefix(a, "--listen=") {
			a = fmt.Sprintf("--listen=127.0.0.1:%d", m.port)
		}
		spec.Args = append(spec.Args, local(a))
	}
	spec.Args = append(spec.Args, "--kubeconfig="+m.serviceAccount(t, pod.ServiceAccountName))
	for _, e := range pod.Containers[0].Env {
		spec.Env = append(spec.Env, e.Name+"="+local(e.Value))
	}
	token, err := os.ReadFile(filepath.Join(dir, "token", "token"))
	must(t, err)
	m.token = string(token)
	auths, err := json.Marshal(map[string]any{"auths": map[string]any{
		fmt.Sprintf("127.0.0.1:%d", m.port): map[string]any{"username": "flux", "password": m.token},
	}})
	must(t, err)
	must(t, m.Client.Apply(t.Context(), flux.Namespace, fmt.Appendf(nil,
		"{apiVersion: v1, kind: Secret, metadata: {name: %s-local}, type: kubernetes.io/dockerconfigjson, data: {.dockerconfigjson: %s}}",
		fluxService, base64.StdEncoding.EncodeToString(auths))))
	m.service, err = m.Group.Start(t.Context(), spec)
	must(t, err)
}

// watch has the ledger note what happens to HelmReleases and to what their charts made. But the service's Deployment: as
// its chart is in the fleet's repository, each commit is a version of it, which is in a label.
func (m *fluxAgent) watch(t *testing.T) {
	t.Helper()
	m.ledger.watch(t.Context(), t, fluxMember, m.Client, func(o *unstructured.Unstructured) bool {
		return isDeployed(o) && o.GetName() != fluxService
	}, flux.HelmReleases, kube.ConfigMaps, kube.Deployments,
		schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"},
		schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"})
}

// allReady waits until the HelmReleases of all components are ready. One whose chart needs another's definitions fails
// until those are there, and is tried again after half a minute: this has it tried again as soon as the others are ready.
func (m *fluxAgent) allReady(t *testing.T, components map[string]fluxComponent) {
	t.Helper()
	asked := false
	m.eventually(t, "all HelmReleases ready", func() string {
		var pending, failed []string
		for name := range components {
			o := m.get(t, flux.HelmReleases, name)
			state := fluxReady(o)
			if state == "" {
				continue
			}
			pending = append(pending, name+": "+state)
			if strings.HasPrefix(state, "InstallFailed") {
				failed = append(failed, name)
			}
		}
		if !asked && len(failed) > 0 && len(failed) == len(pending) {
			asked = true
			t.Logf("tried again: %v", pending)
			for _, name := range failed {
				must(t, m.flux.Reconcile(t.Context(), flux.HelmReleases, flux.Namespace, name))
			}
		}
		slices.Sort(pending)
		return strings.Join(pending, "\n")
	})
}

// hasValues compares what the stand-in charts were given with the hub's answer. Charts in Git are real and do not show
// their values.
func (m *fluxAgent) hasValues(t *testing.T, components map[string]fluxComponent) {
	t.Helper()
	for name, c := range components {
		if c.Chart.Path != "" {
			continue
		}
		var want map[string]any
		must(t, yaml.Unmarshal([]byte(c.HelmValues), &want))
		if got := m.values(t, c.Component); !reflect.DeepEqual(got, want) {
			t.Errorf("%s was given %v; expected %v", name, got, want)
		}
	}
}

// values are what a component's chart was given; value is one of them.
func (m *fluxAgent) values(t *testing.T, component string) map[string]any {
	t.Helper()
	all, err := m.Client.List(t.Context(), kube.ConfigMaps, "", "app.kubernetes.io/instance="+component)
	must(t, err)
	var out map[string]any
	must(t, yaml.Unmarshal([]byte(fluxText(all[component+"-values"], "data", "values.yaml")), &out))
	return out
}

func (m *fluxAgent) value(t *testing.T, component string, path ...string) any {
	t.Helper()
	out, _, _ := unstructured.NestedFieldNoCopy(m.values(t, component), path...)
	return out
}

// push commits what was changed in the fleet, and gives the moment before.
func (m *fluxAgent) push(t *testing.T, message string) time.Time {
	t.Helper()
	began := time.Now()
	_, err := m.fleet.Commit(t.Context(), message)
	must(t, err)
	return began
}

// pulled is the revision of the artifact that Flux has: its digest.
func (m *fluxAgent) pulled(t *testing.T) string {
	t.Helper()
	return fluxText(m.get(t, flux.OCIRepositories, "argosy"), "status", "artifact", "revision")
}

// reconcile has Flux ask the service now, and waits until it has.
func (m *fluxAgent) reconcile(t *testing.T) {
	t.Helper()
	must(t, m.flux.Reconcile(t.Context(), flux.OCIRepositories, flux.Namespace, "argosy"))
	m.eventually(t, "Flux has asked the service", func() string {
		o := m.get(t, flux.OCIRepositories, "argosy")
		if asked := o.GetAnnotations()["reconcile.fluxcd.io/requestedAt"]; fluxText(o, "status", "lastHandledReconcileAt") != asked {
			return "not since " + asked
		}
		return fluxReady(o)
	})
}

// served waits until the service answers from the last commit.
func (m *fluxAgent) served(t *testing.T) {
	t.Helper()
	head, err := m.fleet.Head(t.Context())
	must(t, err)
	m.eventually(t, "the service takes the last commit", func() string {
		answer := m.ask(t, fmt.Sprintf("/v2/flux/%s/%s/manifests/latest", fluxHub, fluxMember))
		if now := answer.header.Get("X-Argosy-Revision"); now != head {
			return "it answers " + answer.text + " from " + now
		}
		return ""
	})
}

// refuses waits until the service refuses the last commit, and goes on with the one before.
func (m *fluxAgent) refuses(t *testing.T) {
	t.Helper()
	head, err := m.fleet.Head(t.Context())
	must(t, err)
	m.eventually(t, "the service refuses the last commit", func() string {
		text := m.ask(t, "/readyz").text
		var says struct {
			Ready    bool
			Revision string
			Refused  []struct{ Revision string }
		}
		must(t, json.Unmarshal([]byte(text), &says))
		if says.Ready && says.Revision != head && len(says.Refused) == 1 && says.Refused[0].Revision == head {
			return ""
		}
		return text
	})
}

func (m *fluxAgent) url(path string) string {
	return fmt.Sprintf("http://127.0.0.1:%d%s", m.port, path)
}

// fluxAnswer is the service's to a request.
type fluxAnswer struct {
	header http.Header
	text   string
}

func (m *fluxAgent) ask(t *testing.T, path string) fluxAnswer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url(path), http.NoBody)
	must(t, err)
	request.SetBasicAuth("flux", m.token)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	must(t, err)
	return fluxAnswer{response.Header, string(body)}
}

// get is an object in Flux's namespace; an empty one when there is none.
func (m *fluxAgent) get(t *testing.T, r schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := m.Client.Get(t.Context(), r, flux.Namespace, name)
	must(t, err)
	if o == nil {
		o = &unstructured.Unstructured{Object: map[string]any{}}
	}
	return o
}

// data is that of a Secret or a ConfigMap.
func (m *fluxAgent) data(t *testing.T, r schema.GroupVersionResource, name string) map[string]string {
	t.Helper()
	data, _, err := unstructured.NestedStringMap(m.get(t, r, name).Object, "data")
	must(t, err)
	if len(data) == 0 {
		t.Fatalf("%s %s has no data; expected it of charts/generator-plugin", r.Resource, name)
	}
	return data
}

// eventually waits until pending has nothing to say any more.
func (m *fluxAgent) eventually(t *testing.T, what string, pending func() string) {
	t.Helper()
	deadline, tick := time.After(fluxPatience), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		missing := pending()
		if missing == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			for _, name := range []string{"argosy"} {
				t.Logf("OCIRepository %v, Kustomization %v", m.get(t, flux.OCIRepositories, name).Object["status"], m.get(t, flux.Kustomizations, name).Object["status"])
			}
			t.Fatalf("%s: not within %s: %s", what, fluxPatience, missing)
		}
	}
}

// settle waits until nothing has happened for longer than Flux takes to ask the service again and to apply what it gets.
func (m *fluxAgent) settle(t *testing.T) {
	t.Helper()
	const quiet = 3 * time.Second
	m.reconcile(t)
	began := time.Now()
	m.eventually(t, "nothing happening", func() string {
		if time.Since(m.ledger.last()) < quiet || time.Since(began) < quiet {
			return "something happens"
		}
		return ""
	})
}

// only fails for everything that happened since a mark and that allowed does not take.
func (m *fluxAgent) only(t *testing.T, mark int, allowed func(change) bool) {
	t.Helper()
	if wrong := slices.DeleteFunc(m.ledger.since(mark), allowed); len(wrong) > 0 {
		t.Errorf("these should not have happened:\n%s", lines(wrong))
	}
}

// notRecreated fails where an object has gone, or has been made anew, since its UID was taken.
func (m *fluxAgent) notRecreated(t *testing.T, before map[string]types.UID) {
	t.Helper()
	now := m.ledger.uids(fluxMember)
	for object, uid := range before {
		if now[object] != uid {
			t.Errorf("%s was recreated or deleted: its UID was %s and is %q", object, uid, now[object])
		}
	}
}

func (m *fluxAgent) command(t *testing.T, path string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), path, args...)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.Dir}
	out, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("%s: %s", command, exit.Stderr)
	}
	must(t, err)
	return out
}

// timed notes how long something took that began at a time.
func (m *fluxAgent) timed(span string, began time.Time) {
	m.spans = append(m.spans, fmt.Sprintf("%6.1f s  %s", time.Since(began).Seconds(), span))
}

// table is the measured times.
func (m *fluxAgent) table() string { return strings.Join(m.spans, "\n") }

// fluxReady says why an object of Flux is not ready; nothing if it is.
func fluxReady(o *unstructured.Unstructured) string {
	generation, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	ready := fluxCondition(o, "Ready")
	switch {
	case o.GetName() == "":
		return "there is none"
	case ready["status"] == "True" && generation == o.GetGeneration():
		return ""
	case ready == nil:
		return "it is new"
	}
	return fmt.Sprintf("%v: %v", ready["reason"], ready["message"])
}

func fluxCondition(o *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

// fluxText is a text of an object, empty when there is none of either.
func fluxText(o *unstructured.Unstructured, fields ...string) string {
	if o == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(o.Object, fields...)
	return text
}
