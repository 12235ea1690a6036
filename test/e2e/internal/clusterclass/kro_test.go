package clusterclass_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

const namespace = "argocd" // that of the charts' goldens

var (
	eksClusters = schema.GroupVersionResource{Group: "provision.argosy.dev", Version: "v1alpha1", Resource: "eksclusters"}
	eksNodes    = schema.GroupVersionResource{Group: "provision.argosy.dev", Version: "v1alpha1", Resource: "eksnodes"}
	definitions = schema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "resourcegraphdefinitions"}
)

// class is a hub with the class eks-kro, without an engine: the test applies what the chart
// renders.
type class struct {
	*testing.T
	*testcluster.Cluster
	cloud *clusterclass.ProviderStandIn
}

// rendered is what charts/cluster-kro renders, by a golden of its tests.
func (c *class) rendered(name string) string {
	c.Helper()
	return c.golden("cluster-kro", name)
}

func (c *class) golden(chart, name string) string {
	c.Helper()
	archive, err := os.ReadFile(filepath.Join("..", "..", "..", "charts", "testdata", chart, name+".txtar"))
	c.must(err)
	_, out, is := strings.Cut(string(archive), "-- want.yaml --\n")
	if !is {
		c.Fatalf("the golden %s has no want.yaml", name)
	}
	return out
}

// apply applies the control plane or the nodes of a cluster at a version; the error is the API
// server's.
func (c *class) apply(part, cluster, version string) error {
	text := strings.NewReplacer("shop-prod-1", cluster, `version: "1.33"`, `version: "`+version+`"`, `version: "1.32"`, `version: "`+version+`"`).Replace(c.rendered(part))
	return c.Client.Apply(c.Context(), namespace, []byte(text))
}

func (c *class) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// eventually waits until pending says nothing.
func (c *class) eventually(what string, pending func() string) {
	c.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	late := time.After(90 * time.Second)
	for {
		left := pending()
		if left == "" {
			return
		}
		select {
		case <-late:
			c.Fatalf("%s: %s\nthe cloud: %s", what, left, strings.Join(c.cloud.Events(), "\n"))
		case <-tick.C:
		}
	}
}

// get is an object, empty where there is none.
func (c *class) get(r schema.GroupVersionResource, name string) *unstructured.Unstructured {
	c.Helper()
	o, err := c.Client.Get(c.Context(), r, map[bool]string{true: namespace}[r != definitions], name)
	c.must(err)
	if o == nil {
		return &unstructured.Unstructured{Object: map[string]any{}}
	}
	return o
}

func text(o *unstructured.Unstructured, path ...string) string {
	v, _, _ := unstructured.NestedString(o.Object, path...)
	return v
}

func kindOf(r schema.GroupVersionResource) string {
	if r == eksNodes {
		return "nodes"
	}
	return "cluster"
}

// seen waits until objects are seen on their version.
func (c *class) seen(r schema.GroupVersionResource, version string, clusters ...string) {
	c.Helper()
	for _, name := range clusters {
		c.eventually(r.Resource+" "+name+" on "+version, func() string {
			if o := c.get(r, name); text(o, "status", "version") != version || text(o, "status", "state") != "ACTIVE" || c.cloud.Things()[kindOf(r)+" "+name] != version {
				return fmt.Sprint(o.Object["status"])
			}
			return ""
		})
	}
}

// refused fails unless the API server refuses with a reason.
func (c *class) refused(err error, reason string) {
	c.Helper()
	if err == nil || !strings.Contains(err.Error(), reason) {
		c.Errorf("%v; expected %q", err, reason)
	}
}

// TestClassOfKro proves charts/cluster-kro with kro's own controller on a real API server: stages
// in order, an upgrade of six clusters, what admission refuses, and the removal of twenty while kro
// and the provider are killed (C2, C3).
func TestClassOfKro(t *testing.T) {
	began := time.Now()
	c := &class{T: t, Cluster: testcluster.Start(t, "kro")}
	c.cloud = &clusterclass.ProviderStandIn{Client: c.Client, Endpoint: func(string) (string, []byte) { return c.URL, c.CAData }}
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
	c.remove(20, kro.Kill, func() error { return kro.Restart(t.Context()) }, &stop)
	t.Logf("%.1fs: twenty clusters made and removed", time.Since(began).Seconds())
	for thing := range c.cloud.Things() {
		if name := strings.Fields(thing)[1]; !slices.Contains(clusters, name) {
			t.Errorf("the cloud has %s still", thing)
		}
	}
	if got := len(c.cloud.Things()); got != 2*len(clusters) {
		t.Errorf("the cloud has %v; expected the six clusters with their nodes", c.cloud.Things())
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// refusedNodesFirst: the API server refuses nodes until their control plane was seen, once the
// policy's binding names the cluster.
func (c *class) refusedNodesFirst() {
	c.Helper()
	c.cloud.Stick("cluster early", true)
	c.must(c.apply("control-plane", "early", "1.31"))
	c.eventually("that its nodes are refused", func() string {
		err := c.apply("nodes", "early", "1.31")
		if err != nil && strings.Contains(err.Error(), "is ahead of the control plane") {
			return ""
		}
		c.must(c.Client.Delete(c.Context(), eksNodes, namespace, "early", metav1.DeletePropagationForeground)) // the binding was too new
		return fmt.Sprint("not yet: ", err)
	})
	c.cloud.Stick("cluster early", false)
	c.seen(eksClusters, "1.31", "early")
	c.must(c.Client.Delete(c.Context(), eksClusters, namespace, "early", metav1.DeletePropagationForeground))
	c.eventually("that it is gone", func() string { return c.left("early") })
}

// left is what the cloud has of a cluster.
func (c *class) left(cluster string) string {
	var out []string
	for thing := range c.cloud.Things() {
		if strings.Fields(thing)[1] == cluster {
			out = append(out, thing)
		}
	}
	return strings.Join(out, ", ")
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

// upgrade takes all clusters to 1.34. The last control plane is stuck for a while: its own nodes
// wait, and no others.
func (c *class) upgrade(clusters []string) {
	c.Helper()
	mark := len(c.cloud.Events())
	stuck, others := clusters[len(clusters)-1], clusters[:len(clusters)-1]
	for minor := 32; minor <= 34; minor++ {
		version := fmt.Sprintf("1.%d", minor)
		if minor == 34 {
			c.cloud.Stick("cluster "+stuck, true)
		}
		for _, name := range clusters {
			c.must(c.apply("control-plane", name, version))
		}
		waits := clusters
		if minor == 34 {
			waits = others
		}
		for _, name := range waits {
			c.eventually("nodes of "+name+" on "+version, func() string { return message(c.apply("nodes", name, version)) })
		}
		c.seen(eksNodes, version, waits...)
	}
	c.eventually("that "+stuck+" is seen to be stuck", func() string {
		if state := text(c.get(eksClusters, stuck), "status", "state"); state == "ACTIVE" {
			return state
		}
		return ""
	})
	c.refused(c.apply("nodes", stuck, "1.34"), "is ahead of the control plane")
	c.cloud.Stick("cluster "+stuck, false)
	c.eventually("nodes of "+stuck, func() string { return message(c.apply("nodes", stuck, "1.34")) })
	c.seen(eksNodes, "1.34", stuck)

	events := c.cloud.Events()[mark:]
	for _, name := range clusters {
		var got []string
		for _, e := range events {
			if thing, is := strings.CutPrefix(e, "cluster "+name+" is on "); is {
				got = append(got, "cluster "+thing)
			} else if thing, is := strings.CutPrefix(e, "nodes "+name+" is on "); is {
				got = append(got, "nodes "+thing)
			}
		}
		if want := "cluster 1.32, nodes 1.32, cluster 1.33, nodes 1.33, cluster 1.34, nodes 1.34"; strings.Join(got, ", ") != want {
			c.Errorf("%s went %s; expected %s", name, strings.Join(got, ", "), want)
		}
	}
	if i := slices.IndexFunc(events, func(e string) bool { return strings.HasPrefix(e, "refused") }); i >= 0 {
		c.Errorf("the cloud had to refuse: %s", events[i])
	}
}

// remove makes clusters and removes them, nodes first, while kro and the provider are killed.
func (c *class) remove(n int, kill, restart func() error, stop *func()) {
	c.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("gone%d", i))
		c.must(c.apply("control-plane", names[i], "1.33"))
	}
	c.seen(eksClusters, "1.33", names...)
	for _, name := range names {
		c.eventually("nodes of "+name, func() string { return message(c.apply("nodes", name, "1.33")) })
	}
	c.seen(eksNodes, "1.33", names...)
	random := rand.New(rand.NewPCG(19, 1))
	for i, name := range names {
		c.must(c.Client.Delete(c.Context(), eksNodes, namespace, name, metav1.DeletePropagationForeground))
		if i%2 == 0 { // the other order, by another hand
			c.must(c.Client.Delete(c.Context(), eksClusters, namespace, name, metav1.DeletePropagationForeground))
		}
		switch random.IntN(6) {
		case 0:
			c.must(kill())
			c.must(restart())
		case 1:
			(*stop)()
			*stop = c.cloud.Start(c.Context())
		}
	}
	for i, name := range names {
		c.eventually("that the nodes of "+name+" are gone", func() string {
			if _, has := c.cloud.Things()["nodes "+name]; has {
				return "they are there"
			}
			return ""
		})
		if i%2 == 1 {
			c.must(c.Client.Delete(c.Context(), eksClusters, namespace, name, metav1.DeletePropagationForeground))
		}
	}
	for _, name := range names {
		c.eventually("that "+name+" is gone", func() string {
			if left := c.left(name); left != "" {
				return left
			}
			if c.get(eksClusters, name).GetName() != "" {
				return "its object is there"
			}
			return ""
		})
	}
}
