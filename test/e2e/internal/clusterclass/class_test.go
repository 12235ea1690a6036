package clusterclass_test

import (
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

	"github.com/argosy-hub/argosy/test/e2e/internal/clusterclass"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

const namespace = "argocd" // that of the charts' goldens

var clusterScoped = append(clusterclass.Managed(), definitions, xClusters, xNodes, xNetworks, providers, functions)

// class is a hub with a class of clusters, without an engine: the test applies what the chart
// renders.
type class struct {
	*testing.T
	*testcluster.Cluster
	cloud *clusterclass.ProviderStandIn

	chart           string // whose parts apply applies
	clusters, nodes schema.GroupVersionResource
	active          func(o *unstructured.Unstructured) bool // an object is as its status says
	waits           func(cluster, version string) string    // what lacks until the cluster waits for the cloud alone
	removal         metav1.DeletionPropagation              // of objects
}

// rendered is what the chart renders, by a golden of its tests.
func (c *class) rendered(name string) string {
	c.Helper()
	return c.golden(c.chart, name)
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
	require.NoError(c.T, err)
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
	o, err := c.Client.Get(c.Context(), r, map[bool]string{true: namespace}[!slices.Contains(clusterScoped, r)], name)
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

// delete deletes an object, and waits for nothing.
func (c *class) delete(r schema.GroupVersionResource, name string) {
	c.Helper()
	in := map[bool]string{true: namespace}[!slices.Contains(clusterScoped, r)]
	c.must(c.Client.Delete(c.Context(), r, in, name, c.removal))
}

// seen waits until objects are seen on their version.
func (c *class) seen(r schema.GroupVersionResource, version string, clusters ...string) {
	c.Helper()
	for _, name := range clusters {
		c.eventually(r.Resource+" "+name+" on "+version, func() string {
			thing := map[bool]string{true: "nodes ", false: "cluster "}[r == c.nodes] + name
			if o := c.get(r, name); text(o, "status", "version") != version || !c.active(o) || c.cloud.Things()[thing] != version {
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
		c.delete(c.nodes, "early") // the binding was too new
		return fmt.Sprint("not yet: ", err)
	})
	c.cloud.Stick("cluster early", false)
	c.seen(c.clusters, "1.31", "early")
	c.delete(c.clusters, "early")
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
		c.seen(c.nodes, version, waits...)
	}
	c.eventually("that "+stuck+" waits for the cloud", func() string { return c.waits(stuck, "1.34") })
	c.refused(c.apply("nodes", stuck, "1.34"), "is ahead of the control plane")
	c.cloud.Stick("cluster "+stuck, false)
	c.eventually("nodes of "+stuck, func() string { return message(c.apply("nodes", stuck, "1.34")) })
	c.seen(c.nodes, "1.34", stuck)

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

// remove makes clusters and removes them, nodes first, while programs and the provider are killed.
func (c *class) remove(n int, stop *func(), programs ...*process.Process) {
	c.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("gone%d", i))
		c.must(c.apply("control-plane", names[i], "1.33"))
	}
	c.seen(c.clusters, "1.33", names...)
	for _, name := range names {
		c.eventually("nodes of "+name, func() string { return message(c.apply("nodes", name, "1.33")) })
	}
	c.seen(c.nodes, "1.33", names...)
	random := rand.New(rand.NewPCG(19, 1))
	for i, name := range names {
		c.delete(c.nodes, name)
		if i%2 == 0 { // the other order, by another hand
			c.delete(c.clusters, name)
		}
		switch random.IntN(3) {
		case 0:
			p := programs[random.IntN(len(programs))]
			c.must(p.Kill())
			c.must(p.Restart(c.Context()))
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
			c.delete(c.clusters, name)
		}
	}
	for _, name := range names {
		c.eventually("that "+name+" is gone", func() string {
			if left := c.left(name); left != "" {
				return left
			}
			for _, r := range []schema.GroupVersionResource{c.nodes, c.clusters} {
				if c.get(r, name).GetName() != "" {
					return "its object of " + r.Resource + " is there"
				}
			}
			return ""
		})
	}
}

// nodesAfter: nodes whose control plane is gone already can be removed.
func (c *class) nodesAfter(name string) {
	c.Helper()
	const held = "argosy.dev/held"
	c.must(c.apply("control-plane", name, "1.33"))
	c.seen(c.clusters, "1.33", name)
	c.eventually("nodes of "+name, func() string { return message(c.apply("nodes", name, "1.33")) })
	c.seen(c.nodes, "1.33", name)
	finalizers := func(change func([]string) []string) string {
		o := c.get(c.nodes, name)
		o.SetFinalizers(change(o.GetFinalizers()))
		_, err := c.Client.Dynamic.Resource(c.nodes).Namespace(o.GetNamespace()).Update(c.Context(), o, metav1.UpdateOptions{})
		return message(err)
	}
	c.eventually("a finalizer of "+name, func() string {
		return finalizers(func(all []string) []string { return append(all, held) })
	})
	c.delete(c.nodes, name)
	c.delete(c.clusters, name)
	c.eventually("that the control plane of "+name+" is gone", func() string { return c.left(name) + c.get(c.clusters, name).GetName() })
	c.eventually("that the finalizer of "+name+" is taken", func() string {
		return finalizers(func(all []string) []string { return slices.DeleteFunc(all, func(f string) bool { return f == held }) })
	})
	c.eventually("that the nodes of "+name+" are gone", func() string { return c.get(c.nodes, name).GetName() })
}

// onlyHas: the cloud has clusters with their nodes, and nothing else.
func (c *class) onlyHas(clusters []string) {
	c.Helper()
	for thing := range c.cloud.Things() {
		if name := strings.Fields(thing)[1]; !slices.Contains(clusters, name) {
			c.Errorf("the cloud has %s still", thing)
		}
	}
	if got := len(c.cloud.Things()); got != 2*len(clusters) {
		c.Errorf("the cloud has %v; expected the six clusters with their nodes", c.cloud.Things())
	}
}
