package clusterclass_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/argosy-hub/argosy/test/e2e/internal/clusterclass"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

var (
	capiClusters = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	machines     = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machines"}
)

// isolated skips a test that `make clusters` has not asked for. It runs in a network of its own,
// since Cluster API's webhooks listen on all addresses; the components are built before.
func isolated(t *testing.T, components ...string) {
	t.Helper()
	switch os.Getenv("CLUSTERS") {
	case "build":
		testcluster.Start(t, components...)
		t.SkipNow()
	case "run":
	default:
		t.Skip("`make clusters` runs it")
	}
}

// TestClassOfClusterAPI proves charts/cluster-api with Cluster API's own programs and its provider
// of machines in memory: a class and its clusters, the kubeconfig, an upgrade that takes the
// control plane before the nodes, what admission refuses, and twenty removals while a program is
// killed.
func TestClassOfClusterAPI(t *testing.T) {
	isolated(t, clusterclass.ClusterAPIComponents...)
	began := time.Now()
	c := &class{T: t, Cluster: testcluster.Start(t, clusterclass.ClusterAPIComponents...), cloud: &clusterclass.ProviderStandIn{}}
	c.must(c.Client.Namespace(t.Context(), namespace))
	programs, err := clusterclass.StartClusterAPI(t.Context(), clusterclass.Options{Binaries: c.Binaries, Group: c.Group, Cluster: c.Cluster.Cluster}, t.TempDir())
	c.must(err)
	t.Logf("%.1fs: running", time.Since(began).Seconds())

	c.eventually("the class", func() string {
		return message(c.Client.Apply(t.Context(), namespace, []byte(c.golden("cluster-api", "definitions-in-memory"))))
	})
	c.machineCluster("c1", "1.33.0")
	c.reconciled("c1", "v1.33.0")
	t.Logf("%.1fs: a cluster", time.Since(began).Seconds())
	c.writesKubeconfig("c1")

	c.refused(c.applyMachineCluster("c1", "1.35.0"), "1.35.0")
	c.refused(c.applyMachineCluster("c1", "1.32.0"), "1.32.0")
	c.machineCluster("c1", "1.34.0")
	c.controlPlaneFirst("c1", "v1.34.0")
	c.reconciled("c1", "v1.34.0")
	t.Logf("%.1fs: upgraded", time.Since(began).Seconds())

	var names []string
	for i := range 20 { // most go while they are being made
		names = append(names, fmt.Sprintf("gone%d", i))
		c.machineCluster(names[i], "1.33.0")
		if i == 1 {
			c.reconciled(names[0], "v1.33.0")
			c.reconciled(names[1], "v1.33.0")
		}
	}
	for i, name := range names {
		c.must(c.Client.Delete(t.Context(), capiClusters, namespace, name, metav1.DeletePropagationBackground))
		if i%5 == 0 {
			c.must(programs["core"].Kill())
			c.must(programs["core"].Restart(t.Context()))
		}
	}
	for _, name := range names {
		c.eventually("that "+name+" is gone", func() string {
			if o := c.get(capiClusters, name); o.GetName() != "" {
				return fmt.Sprint(o.Object["status"])
			}
			return ""
		})
	}
	left, err := c.Client.List(t.Context(), machines, namespace, "")
	c.must(err)
	for name := range left {
		if !strings.HasPrefix(name, "c1-") {
			t.Errorf("the machine %s is left", name)
		}
	}
	if len(left) != 3 {
		t.Errorf("%d machines are left; expected the three of c1", len(left))
	}
	t.Logf("%.1fs: twenty clusters made and removed", time.Since(began).Seconds())
}

// applyMachineCluster applies a cluster of the class; the error is the API server's.
func (c *class) applyMachineCluster(name, version string) error {
	text := strings.NewReplacer("shop-prod-1", name, "v1.33.0", "v"+version).Replace(c.golden("cluster-api", "cluster-in-memory"))
	return c.Client.Apply(c.Context(), namespace, []byte(text))
}

func (c *class) machineCluster(name, version string) {
	c.Helper()
	c.eventually("the cluster "+name, func() string { return message(c.applyMachineCluster(name, version)) })
}

// machinesOf are the versions of a cluster's machines, of its control plane or its nodes.
func (c *class) machinesOf(cluster string, controlPlane bool) (versions []string) {
	c.Helper()
	all, err := c.Client.List(c.Context(), machines, namespace, "cluster.x-k8s.io/cluster-name="+cluster)
	c.must(err)
	for _, m := range all {
		if _, is := m.GetLabels()["cluster.x-k8s.io/control-plane"]; is == controlPlane && m.GetDeletionTimestamp() == nil {
			versions = append(versions, text(m, "spec", "version"))
		}
	}
	slices.Sort(versions)
	return versions
}

// reconciled waits until a cluster is what health.lua takes for healthy: available, with a topology
// that is reconciled, on its version.
func (c *class) reconciled(name, version string) {
	c.Helper()
	c.eventually(name+" on "+version, func() string {
		o := c.get(capiClusters, name)
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		want := map[string]string{"Available": "True", "TopologyReconciled": "True", "RollingOut": "False"}
		for _, one := range conditions {
			condition, _ := one.(map[string]any)
			if kind, _ := condition["type"].(string); want[kind] != "" && condition["status"] != want[kind] {
				return fmt.Sprint(condition)
			}
		}
		if of := append(c.machinesOf(name, true), c.machinesOf(name, false)...); len(of) != 3 || slices.ContainsFunc(of, func(v string) bool { return v != version }) {
			return fmt.Sprint("its machines are on ", of)
		}
		if len(conditions) == 0 {
			return "it has no conditions"
		}
		return ""
	})
}

// controlPlaneFirst watches an upgrade: nodes are never ahead of their control plane.
func (c *class) controlPlaneFirst(name, version string) {
	c.Helper()
	c.eventually("nodes of "+name+" on "+version, func() string {
		nodes, planes := c.machinesOf(name, false), c.machinesOf(name, true) // in this order: the control plane may go on in between
		if slices.Contains(nodes, version) && slices.ContainsFunc(planes, func(v string) bool { return v != version }) {
			c.Fatalf("nodes are on %v, the control plane on %v", nodes, planes)
		}
		if !slices.Contains(nodes, version) {
			return fmt.Sprint("nodes ", nodes, ", control plane ", planes)
		}
		return ""
	})
}

// writesKubeconfig: the Secret that charts/fleet-secret reads is a kubeconfig that logs in.
func (c *class) writesKubeconfig(cluster string) {
	c.Helper()
	secret, err := c.Client.Typed.CoreV1().Secrets(namespace).Get(c.Context(), cluster+"-kubeconfig", metav1.GetOptions{})
	c.must(err)
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	c.must(err)
	if !strings.HasPrefix(config.Host, "https://127.0.0.1:") || len(config.CertData) == 0 || config.ExecProvider != nil || config.AuthProvider != nil {
		c.Errorf("the kubeconfig leads to %s with a certificate of %d bytes", config.Host, len(config.CertData))
	}
}
