package clusterclass_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/argosy-hub/argosy/test/e2e/internal/clusterclass"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

var (
	eksClusters = schema.GroupVersionResource{Group: "provision.argosy.dev", Version: "v1alpha1", Resource: "eksclusters"}
	eksNodes    = schema.GroupVersionResource{Group: "provision.argosy.dev", Version: "v1alpha1", Resource: "eksnodes"}
	definitions = schema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "resourcegraphdefinitions"}
)

// TestClassOfKro proves charts/cluster-kro with kro's own controller on a real API server: stages
// in order, an upgrade of six clusters, what admission refuses, and the removal of twenty while kro
// and the provider are killed (C2, C3).
func TestClassOfKro(t *testing.T) {
	began := time.Now()
	c := &class{
		T: t, Cluster: testcluster.Start(t, "kro"), chart: "cluster-kro", clusters: eksClusters, nodes: eksNodes,
		removal: metav1.DeletePropagationForeground,
		active:  func(o *unstructured.Unstructured) bool { return text(o, "status", "state") == "ACTIVE" },
	}
	c.waits = func(cluster, _ string) string {
		if o := c.get(eksClusters, cluster); c.active(o) {
			return "it is active"
		}
		return ""
	}
	c.cloud = &clusterclass.ProviderStandIn{
		Cloud: &clusterclass.Cloud{Endpoint: func(string) (string, []byte) { return c.URL, c.CAData }}, Client: c.Client,
	}
	c.must(c.Client.Namespace(t.Context(), namespace))
	kro, err := clusterclass.StartKro(t.Context(), clusterclass.Options{Binaries: c.Binaries, Group: c.Group, Cluster: c.Cluster.Cluster})
	c.must(err)
	stop := c.cloud.Start(t.Context())
	defer func() { stop() }()
	t.Logf("%.1fs: running", time.Since(began).Seconds())

	// Definitions wait for what they name, and say so; then they go on by themselves.
	c.must(c.Client.Apply(t.Context(), namespace, []byte(c.rendered("definitions"))))
	c.eventually("that a definition without ACK's kinds is refused", func() string {
		o := c.get(definitions, "eksclusters.provision.argosy.dev")
		if said := fmt.Sprint(o.Object["status"]); text(o, "status", "state") != "Inactive" || !strings.Contains(said, "eks.services.k8s.aws") {
			return said
		}
		return ""
	})
	if crd, err := c.Client.Get(t.Context(), kube.CustomResourceDefinitions, "", "eksclusters.provision.argosy.dev"); err != nil || crd != nil {
		t.Errorf("there is a kind of a definition that is broken: %v, %v", crd, err)
	}
	c.must(c.Client.Apply(t.Context(), "", clusterclass.ACK))
	for _, name := range []string{"eksclusters.provision.argosy.dev", "eksnodes.provision.argosy.dev"} {
		c.eventually("the definition "+name, func() string {
			o := c.get(definitions, name)
			if text(o, "status", "state") != "Active" {
				return fmt.Sprint(o.Object["status"])
			}
			return ""
		})
	}
	t.Logf("%.1fs: definitions are active", time.Since(began).Seconds())

	clusters := []string{"c1", "c2", "c3", "c4", "c5", "c6"}
	c.refusedNodesFirst()
	for _, name := range clusters {
		c.must(c.apply("control-plane", name, "1.31"))
	}
	c.seen(eksClusters, "1.31", clusters...)
	t.Logf("%.1fs: six control planes", time.Since(began).Seconds())
	c.connection("c1")
	for _, name := range clusters {
		c.eventually("nodes of "+name, func() string { return message(c.apply("nodes", name, "1.31")) })
	}
	c.seen(eksNodes, "1.31", clusters...)
	t.Logf("%.1fs: nodes", time.Since(began).Seconds())

	c.refused(c.apply("control-plane", "c1", "1.33"), "skips from 1.31 to 1.33")
	c.refused(c.apply("control-plane", "c1", "1.30"), "goes back from 1.31 to 1.30")
	c.refused(c.apply("nodes", "c1", "1.32"), "is ahead of the control plane")
	c.upgrade(clusters)
	t.Logf("%.1fs: upgraded from 1.31 to 1.34", time.Since(began).Seconds())
	c.nodesAfter("after")
	c.remove(20, &stop, kro)
	t.Logf("%.1fs: twenty clusters made and removed", time.Since(began).Seconds())
	c.onlyHas(clusters)
}

// connection: the Secret that charts/fleet-secret reads is a kubeconfig of the cluster, without a
// user that ACK could not make.
func (c *class) connection(cluster string) {
	c.Helper()
	c.eventually("the kubeconfig of "+cluster, func() string {
		o := c.get(kube.Secrets, cluster+"-kubeconfig")
		data, _, _ := unstructured.NestedString(o.Object, "data", "value")
		if data == "" {
			return "there is none"
		}
		secret, err := c.Client.Typed.CoreV1().Secrets(namespace).Get(c.Context(), cluster+"-kubeconfig", metav1.GetOptions{})
		c.must(err)
		config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
		if err != nil {
			return err.Error()
		}
		if config.Host != c.URL || !bytes.Equal(config.CAData, c.CAData) || config.BearerToken != "" {
			return "it leads to " + config.Host
		}
		return ""
	})
}
