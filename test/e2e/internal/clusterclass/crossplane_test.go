package clusterclass_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/clusterclass"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

var (
	xClusters     = schema.GroupVersionResource{Group: "provision.argosy.dev", Version: "v1alpha1", Resource: "xeksclusters"}
	xNodes        = schema.GroupVersionResource{Group: "provision.argosy.dev", Version: "v1alpha1", Resource: "xeksnodes"}
	xNetworks     = schema.GroupVersionResource{Group: "provision.argosy.dev", Version: "v1alpha1", Resource: "xnetworks"}
	upjetClusters = schema.GroupVersionResource{Group: "eks.aws.upbound.io", Version: "v1beta2", Resource: "clusters"}
	providers     = schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: "v1", Resource: "providers"}
	xrds          = schema.GroupVersionResource{Group: "apiextensions.crossplane.io", Version: "v1", Resource: "compositeresourcedefinitions"}
	functions     = schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: "v1", Resource: "functions"}
)

// Names of the flow from a member file.
const (
	checkout = "../../../.."
	hub      = "hub-eu"
	made     = "retail-prod-9"
	account  = "system:serviceaccount:crossplane-system:provider-aws"
)

// TestClassOfCrossplane proves charts/cluster-crossplane with Crossplane's own chart, core, manager
// of rights and function on real API servers, and a stand-in for its provider: Crossplane in
// stages; from one member file to a network, a kubeconfig and nodes; on the new cluster a
// Crossplane with the role that the hub made, and what an application claims; the removal in order;
// broken definitions that hold what comes later, an upgrade of six clusters, what admission
// refuses, and the removal of twenty while Crossplane, its function and the provider are killed
// (C1, C2, C3).
func TestClassOfCrossplane(t *testing.T) {
	components := append([]string{"argocd-" + argocd.Newest}, clusterclass.CrossplaneComponents...) // whose helm renders the charts
	began := time.Now()
	both := testcluster.StartNamed(t, []string{hub, made}, components...)
	c := &class{
		T: t, Cluster: both[0], chart: "cluster-crossplane", clusters: xClusters, nodes: xNodes,
		active: ready, removal: metav1.DeletePropagationForeground, // as Argo CD deletes
	}
	c.waits = func(cluster, version string) string {
		if asked := text(c.get(upjetClusters, cluster), "spec", "forProvider", "version"); asked != version {
			return "the provider is asked for " + asked
		}
		return ""
	}
	var token atomic.Value
	token.Store(both[1].AdminToken)
	cloud := &clusterclass.Cloud{
		Endpoint: func(string) (string, []byte) { return both[1].URL, both[1].CAData },
		Token:    func(string) string { text, _ := token.Load().(string); return text },
		Issuer:   controlplane.Issuer,
	}
	// Terraform makes what the hub's own Crossplane logs in with.
	cloud.Trust(controlplane.Issuer(hub), c.Client, hub+"-crossplane", account)
	cloud.Know(controlplane.Issuer(made), both[1].Client)
	c.cloud = &clusterclass.ProviderStandIn{Cloud: cloud, Client: c.Client, Crossplane: true}
	c.must(c.Client.Namespace(t.Context(), namespace))
	registry, err := clusterclass.PackageRegistry(t.Context())
	c.must(err)
	f := &fleet{class: c, repo: c.TempDir(), member: both[1], registry: registry}
	f.runs(f.crossplane(c.Cluster, c.cloud))
	stop := c.cloud.Start(t.Context())
	defer func() { stop() }()
	t.Logf("%.1fs: running", time.Since(began).Seconds())

	f.offer()
	f.stages()
	t.Logf("%.1fs: Crossplane in stages", time.Since(began).Seconds())
	f.fromMemberFile(&token)
	t.Logf("%.1fs: from one member file to a network, a kubeconfig and nodes", time.Since(began).Seconds())
	f.workload()
	t.Logf("%.1fs: what an application claims, by the cluster's own Crossplane", time.Since(began).Seconds())
	f.remove()
	t.Logf("%.1fs: removed", time.Since(began).Seconds())

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
	c.refused(c.apply("control-plane-network", "c1", "1.32"), "a cluster stays in its network")
	c.refused(c.apply("nodes", "c1", "1.32"), "is ahead of the control plane")
	c.refused(c.apply("nodes", "c1", "1.30"), "expected no version before the one that is there")
	c.upgrade(clusters)
	t.Logf("%.1fs: upgraded from 1.31 to 1.34", time.Since(began).Seconds())
	c.nodesAfter("after")
	c.remove(20, &stop, f.programs()...)
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

// offer is what a platform commits once, and the member file: Crossplane on the hub and on the new
// cluster, with the packages of the test's registry.
func (f *fleet) offer() {
	f.Helper()
	f.copy()
	const on = "  crossplane: {enabled: true}\n  crossplane-claims: {enabled: true}\n  crossplane-provider: {enabled: true}\n  crossplane-provider-config: {enabled: true}\n"
	catalog, err := os.ReadFile(filepath.Join(f.repo, "addons/defaults/application-sets/addons.yaml"))
	f.must(err)
	f.write("addons/defaults/application-sets/addons.yaml", string(catalog)+on)
	f.write("addons/control-plane/clusters/"+hub+"/fleet/fleet-secret/values.yaml",
		"externalSecret: {labels: {enable_crossplane: 'true'}, annotations: {aws_account_id: '"+clusterclass.Account+"'}}\n")
	// A killed program would wait for its lease.
	f.write("addons/defaults/addons/crossplane/values.yaml", "args: [--sync-interval=5s]\nleaderElection: false\nrbacManager: {leaderElection: false}\n")
	f.write("addons/defaults/addons/crossplane-provider/values.yaml", fmt.Sprintf(
		"provider: {registry: 'localhost:%d/upbound', version: v1.21.1, functionPackage: 'localhost:%[1]d/crossplane-contrib/function-patch-and-transform:v0.5.0'}\n", f.registry))
	f.write(brokenLevel, "function: of-nobody\n")
	f.write("fleet/registration/"+made+"/provisioning/eks-crossplane/values.yaml",
		"inputs: {network: {cidr: 10.20.0.0/16}, policyARNs: ['arn:aws:iam::aws:policy/AmazonSQSFullAccess']}\n")
	f.argosy("new", "cluster", "--hub", hub, "--class", "eks-crossplane", "--version", "1.32", "--name", made, "--account", clusterclass.Account, "--region", "eu-west-1",
		"--tenant", "retail", "--environment", "prod", "--label", "region=eu-west-1", "--label", "enable_crossplane=true")
	f.render(hub)
}

const brokenLevel = "addons/defaults/fleet/cluster-crossplane/values.yaml"

// stages: Crossplane's core, its provider, how that logs in, and the definitions come one after the
// other, because each needs the kinds of the one before. A stage is healthy when Crossplane says
// so.
func (f *fleet) stages() {
	f.Helper()
	for _, later := range []string{"crossplane-provider", "crossplane-provider-config", "cluster-crossplane", "eks-crossplane"} {
		f.refused(f.deploy(later+"-"+map[bool]string{true: made, false: hub}[later == "eks-crossplane"]), "does not serve")
	}
	f.must(f.deploy("crossplane-" + hub))
	f.eventually("the provider is taken", func() string { return message(f.deploy("crossplane-provider-" + hub)) })
	f.eventually("that a package that is not there is named", func() string {
		if said := fmt.Sprint(f.get(providers, "provider-aws-eks").Object["status"]); !strings.Contains(said, "cannot unpack package") {
			return said
		}
		return ""
	})
	f.refused(f.deploy("crossplane-provider-config-"+hub), "does not serve")
	f.must(clusterclass.PushPackages(f.Context(), f.Binaries, f.registry, "upbound:v1.21.1", "crossplane-contrib/function-patch-and-transform:v0.5.0"))
	for _, name := range []string{"provider-family-aws", "provider-aws-ec2", "provider-aws-eks", "provider-aws-iam", "provider-aws-rds"} {
		f.healthy(f.Cluster, providers, name)
	}
	f.healthy(f.Cluster, functions, "function-patch-and-transform")
	f.eventually("the provider's configuration", func() string { return message(f.deploy("crossplane-provider-config-" + hub)) })
}

// healthy waits until a package is installed and healthy.
func (f *fleet) healthy(on *testcluster.Cluster, r schema.GroupVersionResource, name string) {
	f.Helper()
	f.condition(on, r, name, "Installed", "Healthy")
}

// condition waits until conditions of an object are true.
func (f *fleet) condition(on *testcluster.Cluster, r schema.GroupVersionResource, name string, want ...string) {
	f.Helper()
	f.eventually(name+" on "+on.Name, func() string {
		o, err := on.Client.Get(f.Context(), r, "", name)
		if err != nil || o == nil {
			return fmt.Sprint("it is not there: ", err)
		}
		is := map[string]bool{}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, one := range conditions {
			condition, _ := one.(map[string]any)
			kind, _ := condition["type"].(string)
			is[kind] = condition["status"] == "True"
		}
		if slices.ContainsFunc(want, func(kind string) bool { return !is[kind] }) {
			return fmt.Sprint(conditions, f.problems())
		}
		return ""
	})
}

// fromMemberFile takes a cluster from the file that the command line writes to its nodes, by the
// Applications of the hub. They are deployed as Argo CD would: again and again, in no order.
func (f *fleet) fromMemberFile(token *atomic.Value) {
	f.Helper()
	f.eventually("the definitions", func() string { return message(f.deploy("cluster-crossplane-" + hub)) })
	f.eventually("the composite of "+made, func() string { return message(f.deploy("eks-crossplane-" + made)) })
	f.eventually("that the broken composition is named", func() string {
		if said := fmt.Sprint(f.get(xClusters, made).Object["status"]); !strings.Contains(said, "of-nobody") || ready(f.get(xClusters, made)) {
			return said
		}
		return ""
	})
	f.eventually("that the nodes are refused", func() string {
		if err := f.deploy("eks-crossplane-nodes-" + made); err == nil || !strings.Contains(err.Error(), "is ahead of the control plane") {
			f.delete(xNodes, made) // the binding was too new
			return fmt.Sprint("not yet: ", err)
		}
		return ""
	})
	if things := f.cloud.Things(); len(things) > 0 || f.get(kube.Secrets, made+"-kubeconfig").GetName() != "" {
		f.Errorf("with a broken composition, the cloud has %v", things)
	}

	// Fixed, all of it goes on.
	f.must(os.Remove(filepath.Join(f.repo, brokenLevel)))
	f.render(hub)
	f.must(f.deploy("cluster-crossplane-" + hub))
	f.seen(xClusters, "1.32", made)
	f.network()
	f.eventually("the nodes", func() string { return message(f.deploy("eks-crossplane-nodes-" + made)) })
	f.seen(xNodes, "1.32", made)
	private := f.subnets("private")
	if in := f.get(upjetNodes, made).Object; fmt.Sprint(nested(in, "spec", "forProvider", "subnetIds")) != fmt.Sprint(private) {
		f.Errorf("the nodes are in %v; expected the private subnets %v", nested(in, "spec", "forProvider", "subnetIds"), private)
	}

	f.eventually("a kubeconfig that logs in", func() string { return message(f.logsIn("clusters", made)) })
	before, _ := token.Load().(string)
	token.Store("renewed")
	f.eventually("the renewed token", func() string {
		if secret, err := f.Client.Typed.CoreV1().Secrets("clusters").Get(f.Context(), made+"-kubeconfig", metav1.GetOptions{}); err != nil || !strings.Contains(string(secret.Data["value"]), "renewed") {
			return "it is the one before"
		}
		return ""
	})
	token.Store(before)
}

var queues = schema.GroupVersionResource{Group: "sqs.aws.upbound.io", Version: "v1beta1", Resource: "queues"}

var upjetNodes = schema.GroupVersionResource{Group: "eks.aws.upbound.io", Version: "v1beta2", Resource: "nodegroups"}

func nested(o map[string]any, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	return v
}

// subnets are the ids of the private or the public subnets of the network.
func (f *fleet) subnets(access string) (ids []any) {
	f.Helper()
	status, _, _ := unstructured.NestedMap(f.get(xClusters, made).Object, "status", access)
	for _, zone := range slices.Sorted(maps.Keys(status)) {
		ids = append(ids, status[zone])
	}
	return ids
}

// network: the cluster has a network of its own, in two zones, whose private subnets reach the
// internet by the NAT gateway of their own zone.
func (f *fleet) network() {
	f.Helper()
	things := f.cloud.Resources()
	at := func(thing, field string) string { return fmt.Sprint(things[thing][field]) }
	for subnet, want := range map[string]string{
		"private-0": "eu-west-1a 10.20.0.0/19", "private-1": "eu-west-1b 10.20.32.0/19", "public-0": "eu-west-1a 10.20.128.0/20", "public-1": "eu-west-1b 10.20.144.0/20",
	} {
		name := "subnet " + made + "-" + subnet
		if got := at(name, "availabilityZone") + " " + at(name, "cidrBlock"); got != want {
			f.Errorf("%s is %s; expected %s", name, got, want)
		}
	}
	ids := func(kind, name string) string {
		o := f.get(schema.GroupVersionResource{Group: "ec2.aws.upbound.io", Version: "v1beta1", Resource: kind}, made+name)
		return text(o, "status", "atProvider", "id")
	}
	for route, want := range map[string][2]string{
		"-private-0": {"natGatewayId", ids("natgateways", "-0")}, "-private-1": {"natGatewayId", ids("natgateways", "-1")}, "-public": {"gatewayId", ids("internetgateways", "")},
	} {
		name := "route " + made + route
		if got := at(name, want[0]); got != want[1] || got == "" || at(name, "routeTableId") != ids("routetables", route) {
			f.Errorf("%s leads to %s by %s; expected %s by %s", name, got, at(name, "routeTableId"), want[1], ids("routetables", route))
		}
	}
	for _, subnet := range []string{"-private-0", "-private-1", "-public-0", "-public-1"} {
		table := strings.TrimSuffix(strings.TrimSuffix(subnet, "-0"), "-1")
		if table == "-private" {
			table = subnet
		}
		name := "routetableassociation " + made + subnet
		if at(name, "subnetId") != ids("subnets", subnet) || at(name, "routeTableId") != ids("routetables", table) {
			f.Errorf("%s is %v; expected the route table of %s", name, things[name], table)
		}
	}
	for nat, subnet := range map[string]string{"-0": "-public-0", "-1": "-public-1"} {
		if name := "natgateway " + made + nat; at(name, "subnetId") != ids("subnets", subnet) || at(name, "allocationId") != ids("eips", nat) {
			f.Errorf("%s is %v; expected it in %s", name, things[name], subnet)
		}
	}
	all := append(f.subnets("private"), f.subnets("public")...)
	if in := nested(f.get(upjetClusters, made).Object, "spec", "forProvider", "vpcConfig", "subnetIds"); len(all) != 4 || fmt.Sprint(in) != fmt.Sprint(all) {
		f.Errorf("the cluster is in %v; expected all subnets, %v", in, all)
	}
	if got := at("subnetgroup "+made, "subnetIds"); got != fmt.Sprint(f.subnets("private")) {
		f.Errorf("databases are in %s; expected the private subnets", got)
	}
}

// workload: the new cluster gets Crossplane in the same stages. Its provider logs in with the role
// that the hub made with the cluster, and with no other one; it makes what an application claims.
func (f *fleet) workload() {
	f.Helper()
	f.runs(f.crossplane(f.member, nil))
	for _, stage := range []string{"crossplane", "crossplane-provider", "crossplane-provider-config", "crossplane-claims"} {
		f.eventually(stage+" on "+made, func() string { return message(f.deploy(stage+"-"+made)) + f.problems() })
	}
	for _, name := range []string{"provider-aws-dynamodb", "provider-aws-rds", "provider-aws-sqs"} {
		f.healthy(f.member, providers, name)
	}
	for _, name := range []string{"xqueues", "xtables", "xdatabases"} {
		f.condition(f.member, xrds, name+".resources.argosy.dev", "Established", "Offered")
	}
	const shop, application = "shop", "checkout-orders"
	f.must(f.member.Client.Namespace(f.Context(), shop))
	kinds := map[string][2]string{"queues": {"queue", "url"}, "tables": {"table", "name"}, "databases": {"instance", "address"}}
	claims, err := os.ReadFile(filepath.Join(checkout, "examples", "repositories", "orders", "overlays", "prod-crossplane", "claims.yaml"))
	f.must(err)
	f.eventually("the claims", func() string { return message(f.member.Client.Apply(f.Context(), shop, claims)) })
	for resource, want := range kinds {
		f.eventually("what is claimed as "+resource, func() string {
			r := schema.GroupVersionResource{Group: "resources.argosy.dev", Version: "v1alpha1", Resource: resource}
			o, err := f.member.Client.Get(f.Context(), r, shop, application)
			f.must(err)
			if !ready(o) {
				composite, err := f.member.Client.Get(f.Context(), schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: "x" + resource}, "", text(o, "spec", "resourceRef", "name"))
				if err != nil || composite == nil {
					return fmt.Sprint(o.Object["status"], err, f.problems())
				}
				return fmt.Sprint(composite.Object["spec"], composite.Object["status"], f.problems())
			}
			secret, err := f.member.Client.Typed.CoreV1().Secrets(shop).Get(f.Context(), application+"-"+strings.TrimSuffix(resource, "s"), metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			if len(secret.Data[want[1]]) == 0 {
				return fmt.Sprint("the connection has no ", want[1])
			}
			return ""
		})
	}
	made := map[string]map[string]any{}
	for thing, asked := range f.cloud.Resources() {
		for _, want := range kinds {
			if strings.HasPrefix(thing, want[0]+" "+application+"-") {
				made[want[0]] = asked
			}
		}
	}
	if made["instance"]["engine"] != "postgres" || made["instance"]["dbSubnetGroupName"] != "retail-prod-9" || made["table"]["hashKey"] != "order" || fmt.Sprint(made["queue"]["messageRetentionSeconds"]) != "1209600" {
		f.Errorf("the cloud has %v", made)
	}

	// With the role of another cluster, nothing is made.
	accounts := f.member.Client.Typed.CoreV1().ServiceAccounts("crossplane-system")
	other := fmt.Appendf(nil, `{"metadata":{"annotations":{"eks.amazonaws.com/role-arn":%q}}}`, clusterclass.ARN(hub+"-crossplane"))
	_, err = accounts.Patch(f.Context(), "provider-aws", types.MergePatchType, other, metav1.PatchOptions{})
	f.must(err)
	refused := func(claim string) func() string {
		return func() string {
			all, err := f.member.Client.List(f.Context(), queues, "", "crossplane.io/claim-name="+claim)
			f.must(err)
			for _, o := range all {
				if said := fmt.Sprint(o.Object["status"]); strings.Contains(said, "AccessDenied") && strings.Contains(said, "no statement trusts "+account) {
					return ""
				}
			}
			return fmt.Sprint(all)
		}
	}
	f.eventually("that the role of another cluster is refused", refused(application))
	f.must(f.member.Client.Apply(f.Context(), shop, []byte("{apiVersion: resources.argosy.dev/v1alpha1, kind: Queue, metadata: {name: late}, spec: {}}")))
	f.eventually("that a new claim is refused", refused("late"))
	for thing := range f.cloud.Resources() {
		if strings.HasPrefix(thing, "queue late-") {
			f.Errorf("the cloud has %s, which a role of another cluster made", thing)
		}
	}
}

// remove takes the cluster away, its nodes last: the network stays until the cluster is gone.
func (f *fleet) remove() {
	f.Helper()
	had := len(f.cloud.Resources())
	f.delete(xClusters, made)
	f.eventually("that a cluster with nodes is refused", func() string {
		if events := f.cloud.Events(); !slices.Contains(events, "refused: cluster "+made+" has nodes") {
			return strings.Join(events, "\n")
		}
		return ""
	})
	const gone = 3 // the identity provider, the role and the subnet group, which the cluster does not need
	f.eventually("that the network is in use", func() string {
		if left := len(f.cloud.Resources()); left > had-gone {
			return fmt.Sprint(left, " things are left of ", had)
		}
		return ""
	})
	time.Sleep(2 * time.Second) // in which nothing else may go
	if left := f.cloud.Resources(); len(left) != had-gone || left["vpc "+made] == nil {
		f.Errorf("%d of %d things are left while the cluster is there; expected all but %d: %v", len(left), had, gone, slices.Sorted(maps.Keys(left)))
	}
	f.delete(xNodes, made)
	f.nothingOf(made)
	order := []string{"nodes " + made + " is gone", "cluster " + made + " is gone", "subnet " + made + "-private-0 is gone", "vpc " + made + " is gone"}
	last := -1
	for _, event := range order {
		at := slices.Index(f.cloud.Events(), event)
		if at <= last {
			f.Errorf("%q is event %d, the one before is %d:\n%s", event, at, last, strings.Join(f.cloud.Events(), "\n"))
		}
		last = at
	}
	for thing := range f.cloud.Resources() {
		if strings.Contains(thing, " "+made) {
			f.Errorf("the cloud has %s still", thing)
		}
	}
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
	for _, r := range append(clusterclass.Managed(), kube.Secrets, xClusters, xNodes, xNetworks) {
		c.eventually("that no "+r.GroupResource().String()+" of "+prefix+" is left", func() string {
			all, err := c.Client.List(c.Context(), r, "", "")
			if apierrors.IsNotFound(err) { // a kind that this hub does not need
				return ""
			}
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
	member    *testcluster.Cluster // that the hub makes
	registry  int                  // the port of the packages' registry

	crossplanes []*clusterclass.Crossplane
}

// crossplane runs what is deployed in Crossplane's namespace of a cluster, with a provider that
// shares the cloud.
func (f *fleet) crossplane(on *testcluster.Cluster, provider *clusterclass.ProviderStandIn) *clusterclass.Crossplane {
	f.Helper()
	if provider == nil {
		provider = &clusterclass.ProviderStandIn{Cloud: f.cloud.Cloud, Client: on.Client, Crossplane: true}
		f.Cleanup(provider.Start(f.Context()))
	}
	c, err := clusterclass.RunCrossplane(f.Context(), clusterclass.Options{Binaries: f.Binaries, Group: f.Group, Cluster: on.Cluster}, provider, f.registry, filepath.Join(f.TempDir(), on.Name))
	f.must(err)
	return c
}

func (f *fleet) runs(c *clusterclass.Crossplane) { f.crossplanes = append(f.crossplanes, c) }

// problems are why something of a Crossplane does not run.
func (f *fleet) problems() (all string) {
	for _, c := range f.crossplanes {
		if p := c.Problem(); p != "" {
			all += " " + p
		}
	}
	return all
}

// programs are the core and the function of the hub.
func (f *fleet) programs() (out []*process.Process) {
	f.Helper()
	for name, p := range f.crossplanes[0].Programs() {
		if name == "crossplane" || strings.HasPrefix(name, "function-") {
			out = append(out, p)
		}
	}
	if len(out) != 2 {
		f.Fatalf("%d programs run; expected the core and a function: %s", len(out), f.problems())
	}
	return out
}

func (f *fleet) copy() {
	f.Helper()
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
	program := filepath.Join(checkout, "bin", "argosy")
	if out, err := exec.CommandContext(f.Context(), program, append(args, "--repo", f.repo)...).CombinedOutput(); err != nil {
		f.Fatalf("argosy %s: %v\n%s", args[0], err, out)
	}
}

func (f *fleet) render(hub string) {
	f.Helper()
	f.out = f.TempDir()
	f.argosy("render", "--hub", hub, "--out", f.out)
}

// deploy applies what an Application deploys to its cluster, as far as the API server takes it.
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
	to := f.Client
	if at("destination", "name") == made {
		to = f.member.Client
	}
	in := at("destination", "namespace")
	f.must(to.Namespace(f.Context(), in))
	values := filepath.Join(f.TempDir(), "values.yaml")
	f.must(os.WriteFile(values, []byte(at("source", "helm", "values")), 0o600))
	chart := filepath.Join(f.repo, at("source", "path"))
	if name := at("source", "chart"); name != "" {
		archive, err := clusterclass.CrossplaneChart(f.Binaries, at("source", "targetRevision"))
		f.must(err)
		chart = filepath.Join(f.TempDir(), name+".tgz")
		f.must(os.WriteFile(chart, archive, 0o600))
	}
	rendered, err := kube.Template(f.Context(), f.Binaries.Path("argocd-"+argocd.Newest+"/helm"), f.out, at("source", "helm", "releaseName"),
		chart, "--namespace", in, "--kube-version", "1.33", "--values", values)
	f.must(err)
	ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second) // a kind that is unknown is waited for
	defer cancel()
	for _, o := range rendered {
		if err := to.ApplyObject(ctx, in, o); err != nil {
			return err
		}
	}
	return nil
}
