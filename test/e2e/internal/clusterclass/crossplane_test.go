package clusterclass_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/clusterclass"
	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

var (
	xClusters     = schema.GroupVersionResource{Group: "provision.argosy.dev", Version: "v1alpha1", Resource: "xeksclusters"}
	xNodes        = schema.GroupVersionResource{Group: "provision.argosy.dev", Version: "v1alpha1", Resource: "xeksnodes"}
	upjetClusters = schema.GroupVersionResource{Group: "eks.aws.upbound.io", Version: "v1beta2", Resource: "clusters"}
	upjetNodes    = schema.GroupVersionResource{Group: "eks.aws.upbound.io", Version: "v1beta2", Resource: "nodegroups"}
	upjetAuths    = schema.GroupVersionResource{Group: "eks.aws.upbound.io", Version: "v1beta1", Resource: "clusterauths"}
)

// isolated skips a test that `make clusters` has not asked for. It runs in a network of its own,
// since Crossplane listens on all addresses; the components are built before.
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

// TestClassOfCrossplane proves charts/cluster-crossplane with Crossplane's own core and function on
// a real API server, and a stand-in for its provider: from one member file to a kubeconfig, broken
// definitions that hold what comes later, an upgrade of six clusters, what admission refuses, and
// the removal of twenty while Crossplane, its function and the provider are killed (C1, C2, C3).
func TestClassOfCrossplane(t *testing.T) {
	components := append([]string{"argocd-" + argocd.Newest}, clusterclass.CrossplaneComponents...) // whose helm renders the charts
	isolated(t, components...)
	began := time.Now()
	c := &class{
		T: t, Cluster: testcluster.Start(t, components...), chart: "cluster-crossplane", clusters: xClusters, nodes: xNodes,
		active: ready, removal: metav1.DeletePropagationForeground, // as Argo CD deletes
	}
	c.waits = func(cluster, version string) string {
		if asked := text(c.get(upjetClusters, cluster), "spec", "forProvider", "version"); asked != version {
			return "the provider is asked for " + asked
		}
		return ""
	}
	var token atomic.Value
	token.Store(c.AdminToken)
	c.cloud = &clusterclass.ProviderStandIn{
		Client: c.Client, Crossplane: true,
		Endpoint: func(string) (string, []byte) { return c.URL, c.CAData },
		Token:    func(string) string { text, _ := token.Load().(string); return text },
	}
	c.must(c.Client.Namespace(t.Context(), namespace))
	c.must(c.Client.Apply(t.Context(), "", clusterclass.Upjet))
	core, function, err := clusterclass.StartCrossplane(t.Context(), clusterclass.Options{Binaries: c.Binaries, Group: c.Group, Cluster: c.Cluster.Cluster}, t.TempDir())
	c.must(err)
	stop := c.cloud.Start(t.Context())
	defer func() { stop() }()
	t.Logf("%.1fs: running", time.Since(began).Seconds())

	c.fromMemberFile(&token)
	t.Logf("%.1fs: from one member file to a kubeconfig and nodes", time.Since(began).Seconds())

	clusters := []string{"c1", "c2", "c3", "c4", "c5", "c6"}
	c.refusedNodesFirst()
	for _, name := range clusters {
		c.must(c.apply("control-plane", name, "1.31"))
	}
	c.seen(xClusters, "1.31", clusters...)
	for _, name := range clusters {
		c.eventually("nodes of "+name, func() string { return message(c.apply("nodes", name, "1.31")) })
	}
	c.seen(xNodes, "1.31", clusters...)
	t.Logf("%.1fs: six clusters", time.Since(began).Seconds())

	c.refused(c.apply("control-plane", "c1", "1.33"), "expected one minor version at a time")
	c.refused(c.apply("control-plane", "c1", "1.30"), "expected no version before the one that is there")
	c.refused(c.apply("nodes", "c1", "1.32"), "is ahead of the control plane")
	c.refused(c.apply("nodes", "c1", "1.30"), "expected no version before the one that is there")
	c.upgrade(clusters)
	t.Logf("%.1fs: upgraded from 1.31 to 1.34", time.Since(began).Seconds())
	c.nodesAfter("after")
	c.remove(20, &stop, core, function)
	c.nothingOf("gone")
	t.Logf("%.1fs: twenty clusters made and removed", time.Since(began).Seconds())
	c.onlyHas(clusters)
	c.orphaned("kept")
}

// ready is health.lua's opinion of an object, but for the version: its condition is true, and not
// from before a change.
func ready(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		generation, has := condition["observedGeneration"].(int64)
		if condition["type"] == "Ready" {
			return condition["status"] == "True" && (!has || generation == o.GetGeneration())
		}
	}
	return false
}

// fromMemberFile takes a cluster from the file that the command line writes to its nodes, by the
// Applications of the hub. They are deployed as Argo CD would: again and again, in no order.
func (c *class) fromMemberFile(token *atomic.Value) {
	c.Helper()
	const name, hub, level = "retail-prod-9", "hub-eu", "addons/defaults/fleet/cluster-crossplane/values.yaml"
	f := &fleet{class: c, repo: c.TempDir()}
	f.copy()
	f.write("addons/control-plane/clusters/"+hub+"/fleet/fleet-secret/values.yaml", "externalSecret: {labels: {enable_cluster_crossplane: 'true'}}\n")
	f.write(level, "function: of-nobody\n")
	f.argosy("new", "cluster", "--hub", hub, "--class", "eks-crossplane", "--version", "1.32", "--name", name,
		"--tenant", "retail", "--environment", "prod", "--label", "region=eu-west-1", "--label", "aws_region=eu-west-1")
	f.render(hub)

	// Without definitions, nothing of the cluster can be made.
	c.refused(f.deploy("eks-crossplane-"+name), "does not serve")
	c.must(f.deploy("cluster-crossplane-" + hub))
	c.eventually("the composite of "+name, func() string { return message(f.deploy("eks-crossplane-" + name)) })
	c.eventually("that the broken composition is named", func() string {
		if said := fmt.Sprint(c.get(xClusters, name).Object["status"]); !strings.Contains(said, "of-nobody") || ready(c.get(xClusters, name)) {
			return said
		}
		return ""
	})
	c.eventually("that the nodes are refused", func() string {
		if err := f.deploy("eks-crossplane-nodes-" + name); err == nil || !strings.Contains(err.Error(), "is ahead of the control plane") {
			c.delete(xNodes, name) // the binding was too new
			return fmt.Sprint("not yet: ", err)
		}
		return ""
	})
	if things := c.cloud.Things(); len(things) > 0 || c.get(kube.Secrets, name+"-kubeconfig").GetName() != "" {
		c.Errorf("with a broken composition, the cloud has %v", things)
	}

	// Fixed, all of it goes on.
	c.must(os.Remove(filepath.Join(f.repo, level)))
	f.render(hub)
	c.must(f.deploy("cluster-crossplane-" + hub))
	c.seen(xClusters, "1.32", name)
	c.eventually("the nodes", func() string { return message(f.deploy("eks-crossplane-nodes-" + name)) })
	c.seen(xNodes, "1.32", name)

	c.eventually("a kubeconfig that logs in", func() string { return message(c.logsIn(f.namespace, name)) })
	token.Store("renewed")
	c.eventually("the renewed token", func() string {
		if secret, err := c.Client.Typed.CoreV1().Secrets(f.namespace).Get(c.Context(), name+"-kubeconfig", metav1.GetOptions{}); err != nil || !strings.Contains(string(secret.Data["value"]), "renewed") {
			return "it is the one before"
		}
		return ""
	})
	c.delete(xNodes, name)
	c.eventually("that the nodes are gone", func() string { return c.get(xNodes, name).GetName() })
	c.delete(xClusters, name)
	c.nothingOf(name)
}

// logsIn reads the Secret that charts/fleet-secret reads, and asks the cluster something with it.
func (c *class) logsIn(namespace, cluster string) error {
	secret, err := c.Client.Typed.CoreV1().Secrets(namespace).Get(c.Context(), cluster+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		return err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().List(c.Context(), metav1.ListOptions{})
	return err
}

// nothingOf waits until there is nothing of the clusters that a text begins the names of: neither
// composites, nor what they are made of, nor Secrets.
func (c *class) nothingOf(prefix string) {
	c.Helper()
	for _, r := range []schema.GroupVersionResource{upjetNodes, upjetClusters, upjetAuths, kube.Secrets, xClusters, xNodes} {
		c.eventually("that no "+r.Resource+" of "+prefix+" is left", func() string {
			all, err := c.Client.List(c.Context(), r, "", "")
			c.must(err)
			for name, o := range all {
				if strings.HasPrefix(name, prefix) {
					return fmt.Sprint(name, o.GetFinalizers(), o.GetCreationTimestamp(), o.GetDeletionTimestamp(), o.Object["status"])
				}
			}
			return ""
		})
	}
}

// orphaned: with deletionPolicy Orphan, what is in the cloud stays when the objects go.
func (c *class) orphaned(name string) {
	c.Helper()
	text := strings.NewReplacer("shop-prod-1", name, "deletionPolicy: Delete", "deletionPolicy: Orphan").Replace(c.rendered("control-plane"))
	c.must(c.Client.Apply(c.Context(), namespace, []byte(text)))
	c.seen(xClusters, "1.33", name)
	c.delete(xClusters, name)
	c.nothingOf(name)
	if c.left(name) != "cluster "+name {
		c.Errorf("the cloud has %q of %s; expected its cluster", c.left(name), name)
	}
}

// fleet is a copy of the example, and the Applications that a hub makes of it.
type fleet struct {
	*class
	repo, out string
	namespace string // of the Application deployed last
}

func (f *fleet) copy() {
	f.Helper()
	checkout := filepath.Join("..", "..", "..", "..")
	for _, folder := range append(slices.Clone(fleetrepo.Folders), "provisioning") {
		if err := os.CopyFS(filepath.Join(f.repo, folder), os.DirFS(filepath.Join(checkout, folder))); !os.IsNotExist(err) {
			f.must(err)
		}
	}
	_, err := gitcmd.Run(f.Context(), f.repo, "init", "--quiet")
	f.must(err)
}

func (f *fleet) write(file, text string) {
	f.Helper()
	path := filepath.Join(f.repo, file)
	f.must(os.MkdirAll(filepath.Dir(path), 0o755))
	f.must(os.WriteFile(path, []byte(text), 0o600))
}

func (f *fleet) argosy(args ...string) {
	f.Helper()
	program := filepath.Join("..", "..", "..", "..", "bin", "argosy")
	if out, err := exec.CommandContext(f.Context(), program, append(args, "--repo", f.repo)...).CombinedOutput(); err != nil {
		f.Fatalf("argosy %s: %v\n%s", args[0], err, out)
	}
}

func (f *fleet) render(hub string) {
	f.Helper()
	f.out = f.TempDir()
	f.argosy("render", "--hub", hub, "--out", f.out)
}

// deploy applies what an Application deploys, as far as the API server takes it.
func (f *fleet) deploy(application string) error {
	f.Helper()
	text, err := os.ReadFile(filepath.Join(f.out, "applications", application+".yaml"))
	f.must(err)
	objects, err := kube.Decode(text)
	f.must(err)
	at := func(path ...string) string {
		v, _, _ := unstructured.NestedString(objects[0].Object, append([]string{"spec"}, path...)...)
		return v
	}
	f.namespace = at("destination", "namespace")
	f.must(f.Client.Namespace(f.Context(), f.namespace))
	values := filepath.Join(f.TempDir(), "values.yaml")
	f.must(os.WriteFile(values, []byte(at("source", "helm", "values")), 0o600))
	rendered, err := kube.Template(f.Context(), f.Binaries.Path("argocd-"+argocd.Newest+"/helm"), f.out, at("source", "helm", "releaseName"),
		filepath.Join(f.repo, at("source", "path")), "--namespace", f.namespace, "--kube-version", "1.33", "--values", values)
	f.must(err)
	ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second) // a kind that is unknown is waited for
	defer cancel()
	for _, o := range rendered {
		if err := f.Client.ApplyObject(ctx, f.namespace, o); err != nil {
			return err
		}
	}
	return nil
}
