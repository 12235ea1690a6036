package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

func capi(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: resource}
}

// clusterAPI is Cluster API with its machines in memory. Their API servers are in memory, too, and
// none that Argo CD can read: the API server of hub.Spare takes their place as soon as Cluster API
// has written a kubeconfig.
type clusterAPI struct {
	*environment
	kubeconfig   string
	controlPlane *process.Process // which makes control planes

	mu     sync.Mutex
	events []string
	was    map[string]string
}

func startClusterAPI(ctx context.Context, e *environment) (cloud, []*process.Process, error) {
	programs, err := e.StartClusterAPI(ctx)
	if err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(e.Spokes[hub.Spare].Kubeconfig)
	var all []*process.Process
	for _, program := range programs {
		all = append(all, program)
	}
	return &clusterAPI{environment: e, kubeconfig: string(text), controlPlane: programs["control-plane"]}, all, err
}

// Start notes what becomes of machines, and connects clusters, until it is stopped.
func (c *clusterAPI) Start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			c.step(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() { cancel(); running.Wait() }
}

// step fails where the API server is away; the next one does it.
func (c *clusterAPI) step(ctx context.Context) {
	c.note()
	connection := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": hub.MadeSecret, "namespace": hub.ClassNamespace},
		"stringData": map[string]any{"value": c.kubeconfig},
	}}
	if o, err := c.Kube.Get(ctx, kube.Secrets, hub.ClassNamespace, made+"-kubeconfig"); err == nil && o != nil {
		_ = c.Kube.ApplyObject(ctx, hub.ClassNamespace, connection)
	}
}

// note adds an event where something is on another version, as a whole, than before.
func (c *clusterAPI) note() {
	now := c.Things()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, thing := range []string{"nodes " + made, "cluster " + made} { // the control plane may go on in between
		if version := now[thing]; version != "" && version != c.was[thing] && !strings.Contains(version, " ") {
			c.events = append(c.events, thing+" is on "+version)
		}
	}
	c.was = now
}

// Stick stops what makes control planes, or starts it.
func (c *clusterAPI) Stick(_ string, is bool) {
	var err error
	if is {
		err = c.controlPlane.Kill()
	} else {
		err = c.controlPlane.Restart(context.Background())
	}
	if err != nil {
		panic(err)
	}
}

func (c *clusterAPI) Events() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.events...)
}

// Things are the clusters and their machines: the versions of a cluster's control plane, and of its
// nodes, apart by spaces where they differ.
func (c *clusterAPI) Things() map[string]string {
	things := map[string]string{}
	clusters, err := c.Kube.List(context.Background(), capi("clusters"), hub.ClassNamespace, "")
	machines, problem := c.Kube.List(context.Background(), capi("machines"), hub.ClassNamespace, "")
	if err != nil || problem != nil {
		return map[string]string{"unknown": fmt.Sprint(err, problem)}
	}
	for name := range clusters {
		things["cluster "+name] = ""
	}
	for _, m := range machines {
		kind := "nodes "
		if _, is := m.GetLabels()["cluster.x-k8s.io/control-plane"]; is {
			kind = "cluster "
		}
		thing := kind + m.GetLabels()["cluster.x-k8s.io/cluster-name"]
		version := strings.TrimSuffix(strings.TrimPrefix(fluxText(m, "spec", "version"), "v"), ".0")
		if !strings.Contains(" "+things[thing]+" ", " "+version+" ") {
			things[thing] = strings.TrimSpace(things[thing] + " " + version)
		}
	}
	return things
}

// inMemory makes the class one of machines in memory.
func (p *provisioningFlow) inMemory(t *testing.T) {
	t.Helper()
	const machine = `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, spec: {template: {spec: {backend: {inMemory: {` +
		`vm: {provisioning: {startupDuration: 1s}}, node: {provisioning: {startupDuration: 1s}}, apiServer: {provisioning: {startupDuration: 1s}}, etcd: {provisioning: {startupDuration: 1s}}}}}}}}`
	p.write(t, "addons/control-plane/clusters/"+hub.Name+"/fleet/cluster-api/values.yaml", `workers: machineDeployments
templates:
  infrastructure: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, spec: {template: {spec: {backend: {inMemory: {}}}}}}
  controlPlane: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, spec: {template: {spec: {endpointAccess: null, kubeadmConfigSpec: {clusterConfiguration: {apiServer: {certSANs: [127.0.0.1]}}}}}}}
  controlPlaneMachine: `+machine+`
  machine: `+machine+`
  machinePool: null
  bootstrap: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, spec: {template: {spec: {joinConfiguration: {nodeRegistration: {criSocket: "unix:///run/containerd/containerd.sock"}}}}}}
patches: []
`)
	p.write(t, hub.ClassValues(p.class), "versions: [\"1.33\", \"1.34\"]\nworkers: machineDeployments\n"+region+"inputs: {nodeCount: 2}\n")
}
