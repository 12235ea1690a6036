package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/clusterclass"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

const (
	made    = hub.Made
	roleARN = "  roleARN: arn:aws:iam::111122223333:role/fleet-eks-cluster\n"

	// The component whose image is that of the Kubernetes version.
	versioned        = "addons/tenants/retail/clusters/" + made + "/addons/metrics-server/values.yaml.gotmpl"
	versionedCatalog = "addons/tenants/retail/clusters/" + made + "/application-sets/addons.yaml"
)

// A madeBy is a class with what it is made by.
type madeBy struct {
	class string
	// cluster and nodes are the kinds of a cluster and of its nodes. definition defines them on the
	// hub, by the name defines.
	cluster, nodes      string
	definition, defines string
	definitions         schema.GroupVersionResource
	objects             []schema.GroupVersionResource // of cluster and nodes
	// start runs what makes clusters, and stops it when the test ends. offered is what comes of the
	// offer while the class's provider is not there; early is said of the cluster then, and provide
	// brings the provider.
	start   func(t *testing.T, p *provisioningFlow)
	offered func(p *provisioningFlow) string
	early   func(p *provisioningFlow) string
	provide func(t *testing.T, p *provisioningFlow)
}

// classKind is a kind of the classes' own definitions.
func classKind(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "provision.argosy.dev", Version: "v1alpha1", Resource: resource}
}

// madeByName are the classes that take the flow, by the value of the environment's PROVISION_CLASS.
var madeByName = map[string]madeBy{
	"eks-kro": {
		class: "eks-kro", cluster: "EKSCluster", nodes: "EKSNodes",
		definition: "ResourceGraphDefinition", defines: "eksclusters.provision.argosy.dev",
		definitions: schema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "resourcegraphdefinitions"},
		objects:     []schema.GroupVersionResource{classKind("eksclusters"), classKind("eksnodes")},
		start: func(t *testing.T, p *provisioningFlow) {
			programs, err := p.StartKro(t.Context())
			must(t, err)
			t.Cleanup(func() {
				for _, program := range programs {
					must(t, program.Kill())
				}
			})
		},
		offered: func(p *provisioningFlow) string {
			return missing(p.ledger.get(hub.Name, "ResourceGraphDefinition", "eksclusters.provision.argosy.dev"))
		},
		early:   (*provisioningFlow).inactiveDefinition,
		provide: func(t *testing.T, p *provisioningFlow) { must(t, p.Kube.Apply(t.Context(), "", clusterclass.ACK)) },
	},
	"eks-crossplane": {
		class: "eks-crossplane", cluster: "XEKSCluster", nodes: "XEKSNodes",
		definition: "CompositeResourceDefinition", defines: "xeksclusters.provision.argosy.dev",
		definitions: schema.GroupVersionResource{Group: "apiextensions.crossplane.io", Version: "v1", Resource: "compositeresourcedefinitions"},
		objects:     []schema.GroupVersionResource{classKind("xeksclusters"), classKind("xeksnodes")},
		start: func(t *testing.T, p *provisioningFlow) {
			crossplane, err := p.StartCrossplane(t.Context(), p.cloud)
			must(t, err)
			t.Cleanup(func() {
				for _, program := range crossplane.Programs() {
					must(t, program.Kill())
				}
			})
		},
		offered: func(p *provisioningFlow) string {
			if s := state(p.app("crossplane-" + hub.Name)); s != "Synced/Healthy" {
				return s
			}
			return missing(p.ledger.get(hub.Name, "Application", "crossplane-provider-"+hub.Name))
		},
		early:   (*provisioningFlow).missingPackage,
		provide: func(t *testing.T, p *provisioningFlow) { must(t, p.PushPackages(t.Context())) },
	},
}

// parts are the components of the class, in the order of a removal.
func (m madeBy) parts() []string { return []string{m.class + "-nodes", m.class} }

// provisioning: one member file makes a cluster, by kro and a stand-in for its provider. The
// cluster is registered by the kubeconfig that its class writes, and gets its components, without
// another commit or a Secret by hand. Definitions, cluster, registration and components come in
// this order. A missing variable, broken definitions and a control plane that is not ready hold
// later stages, which go on when they are fixed (C1, C2). An upgrade takes the control plane first,
// and a removal that is approved takes the cluster last (C3).
func provisioning(t *testing.T, e *environment) {
	by, ok := madeByName[cmp.Or(os.Getenv("PROVISION_CLASS"), "eks-kro")]
	if !ok {
		t.Fatalf("PROVISION_CLASS is %q; expected one of %v", os.Getenv("PROVISION_CLASS"), slices.Sorted(maps.Keys(madeByName)))
	}
	p := &provisioningFlow{environment: e, madeBy: by, mark: e.ledger.mark()}
	p.pages(t)
	p.cloud = e.Cloud(p.class)
	by.start(t, p)
	stop := p.cloud.Start(t.Context())
	t.Cleanup(stop)

	began := time.Now()
	p.offer(t)
	p.cloud.Stick("cluster "+made, true)
	_, created := p.next(t)
	p.heldByVariable(t)
	p.heldByProvider(t)
	p.watch(t, by.objects...)
	p.heldByControlPlane(t)
	p.arrives(t, created)
	p.upgrade(t)
	p.remove(t)
	e.timed("provisioning", "the whole flow", began)
}

type provisioningFlow struct {
	*environment
	madeBy
	walk  *walk
	cloud *clusterclass.ProviderStandIn
	mark  int

	values string // the class's, with all variables
}

// offer commits what the platform says once: the definitions of the class on the hub, its values,
// and where the connection is read. A variable of the class is missing.
func (p *provisioningFlow) offer(t *testing.T) {
	t.Helper()
	must(t, p.OfferClass(p.class))
	p.values = p.read(t, hub.ClassValues(p.class))
	p.replace(t, hub.ClassValues(p.class), roleARN, "")
	p.write(t, versionedCatalog, "components: {metrics-server: {dependsOn: [provisioning/"+p.class+"]}}\n")
	p.write(t, versioned, "image: {tag: 'for-{{ .member.provision.version }}'}\n")
	// Argo CD would wait minutes after some tries.
	p.replace(t, "charts/application-sets/catalogs/provisioning.yaml", "retry: {limit: -1}", "retry: {limit: -1, backoff: {duration: 2s, factor: 1, maxDuration: 2s}}")
	p.push(t, "Offer clusters of the class "+p.class)
	p.watch(t, p.definitions)
	p.eventually(t, "what is offered", func() string { return p.offered(p) })
}

// watch has the ledger note what becomes of kinds, once they are there.
func (p *provisioningFlow) watch(t *testing.T, kinds ...schema.GroupVersionResource) {
	t.Helper()
	for _, kind := range kinds {
		p.eventually(t, "the kind "+kind.Resource, func() string {
			o, err := p.Kube.Get(t.Context(), kube.CustomResourceDefinitions, "", kind.GroupResource().String())
			must(t, err)
			if o == nil || !strings.Contains(fmt.Sprint(o.Object["status"]), "Established") {
				return "it is not established"
			}
			return ""
		})
	}
	p.ledger.watch(t.Context(), t, hub.Name, p.Kube, func(*unstructured.Unstructured) bool { return true }, kinds...)
}

// pages are the sections of three pages that say what one does on `make hub`, walked in one clone.
func (p *provisioningFlow) pages(t *testing.T) {
	t.Helper()
	for _, page := range []string{"provision", "upgrade", "remove"} {
		w := p.walkOf(t, "docs/how-to/"+page+"-a-cluster.md", "Try it on `make hub`", "FLEET="+p.Git.URL(hub.Repository))
		if p.walk != nil {
			w.blocks = append(p.walk.blocks, w.blocks...)
		}
		p.walk = w
	}
	for i := range p.walk.blocks {
		p.walk.blocks[i] = strings.ReplaceAll(p.walk.blocks[i], "eks-kro", p.class)
	}
}

// next does what the pages say next, and pushes it.
func (p *provisioningFlow) next(t *testing.T) (printed string, began time.Time) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(p.walk.dir, "fleet")); err == nil {
		p.walk.pull(t)
	}
	printed, began = p.walk.next(t)
	p.follow(t)
	return printed, began
}

// heldByVariable: the class cannot be rendered, and nothing of the cluster is made.
func (p *provisioningFlow) heldByVariable(t *testing.T) {
	t.Helper()
	p.eventually(t, "that the missing variable is named", func() string {
		if said := conditions(p.app(p.class + "-" + made)); !strings.Contains(said, "inputs.roleARN is required") {
			return said
		}
		return ""
	})
	p.nothingAfter(t, "definitions")
	p.write(t, hub.ClassValues(p.class), p.values)
	p.push(t, "The variable that was missing")
}

// heldByProvider: without the class's provider nothing of a cluster is made, and what lacks is
// named.
func (p *provisioningFlow) heldByProvider(t *testing.T) {
	t.Helper()
	p.eventually(t, "that a cluster without its provider is refused", func() string {
		if said := p.unknownKind(); said != "" {
			return said
		}
		return p.early(p)
	})
	p.nothingAfter(t, "definitions")
	p.provide(t, p)
}

// unknownKind: the kind of the cluster is not known while its definition is not in force.
func (p *provisioningFlow) unknownKind() string {
	app := p.app(p.class + "-" + made)
	if app == nil {
		return "there is no Application"
	}
	operation, _, _ := unstructured.NestedMap(app.Object, "status", "operationState")
	said := fmt.Sprint(operation)
	unknown := strings.Contains(said, "could not find") || strings.Contains(said, "no matches for kind") // as 2.14 and 3.2 say it
	if !unknown || !strings.Contains(said, p.cluster) {
		return said
	}
	return ""
}

// inactiveDefinition: kro does not take definitions whose kinds of ACK are not there.
func (p *provisioningFlow) inactiveDefinition() string {
	if o := p.ledger.get(hub.Name, p.definition, p.defines); fluxText(o, "status", "state") != "Inactive" {
		return "the definition is " + fluxText(o, "status", "state")
	}
	return ""
}

// missingPackage: the stage of the provider is not healthy, by Argo CD's own check of Crossplane's
// kinds, while its packages are not there; so neither its configuration nor the definitions come.
func (p *provisioningFlow) missingPackage() string {
	app := p.app("crossplane-provider-" + hub.Name)
	if s := state(app); s == "Synced/Healthy" {
		return s
	}
	provider, err := p.Kube.Get(context.Background(), schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: "v1", Resource: "providers"}, "", "provider-aws-eks")
	if err != nil || provider == nil {
		return fmt.Sprint("there is no provider: ", err)
	}
	if said := fmt.Sprint(provider.Object["status"]); !strings.Contains(said, "cannot unpack package") {
		return said
	}
	for _, later := range []string{"crossplane-provider-config-", "cluster-crossplane-"} {
		if p.app(later+hub.Name) != nil {
			return later + hub.Name + " is there already"
		}
	}
	return ""
}

// heldByControlPlane: a control plane that is there and not seen on its version is not Healthy, by
// the class's health check, and holds nodes, registration and components.
func (p *provisioningFlow) heldByControlPlane(t *testing.T) {
	t.Helper()
	p.eventually(t, "that the control plane is not ready", func() string {
		if s := state(p.app(p.class + "-" + made)); s != "Synced/Progressing" && s != "Synced/Degraded" { // without a token yet, kro says so
			return s
		}
		return missing(p.ledger.get(hub.Name, p.cluster, made))
	})
	p.nothingAfter(t, "cluster")
	p.cloud.Stick("cluster "+made, false)
}

// A stage is something that a new cluster gets.
type stage struct {
	name string
	is   func(change) bool
}

// stages are what a new cluster gets, in order.
func (p *provisioningFlow) stages() []stage {
	return []stage{
		{"definitions", func(c change) bool { return c.kind == p.definition && c.name == p.defines }},
		{"cluster", func(c change) bool { return c.kind == p.cluster && c.name == made }},
		{"registration", func(c change) bool { return c.kind == "Secret" && c.name == made }},
		{"component", func(c change) bool { return c.kind == "Application" && c.name == "metrics-server-"+made }},
		{"workload", func(c change) bool { return c.cluster == hub.Spare && c.name == "metrics-server-values" }},
	}
}

// nothingAfter fails if something of a later stage than the named one was ever there.
func (p *provisioningFlow) nothingAfter(t *testing.T, name string) {
	t.Helper()
	stages := p.stages()
	last := slices.IndexFunc(stages, func(s stage) bool { return s.name == name })
	for _, c := range p.ledger.since(p.mark) {
		for _, later := range stages[last+1:] {
			if later.is(c) {
				t.Errorf("%s, before the %s was ready", c, name)
			}
		}
		if c.name == p.class+"-nodes-"+made || c.kind == p.nodes {
			t.Errorf("%s, before its control plane was ready", c)
		}
	}
}

// arrives waits for the components on the new cluster, and compares the order of all writes.
func (p *provisioningFlow) arrives(t *testing.T, created time.Time) {
	t.Helper()
	p.eventually(t, "its registration", func() string { return missing(p.ledger.get(hub.Name, "Secret", made)) })
	p.timed("provisioning", "member file to registered", created)
	p.eventually(t, "its nodes", func() string { return missing(p.ledger.get(hub.Name, p.nodes, made)) })
	p.eventually(t, "its first component", func() string { return missing(p.ledger.get(hub.Spare, "ConfigMap", "metrics-server-values")) })
	p.calm(t)
	p.timed("provisioning", "member file to all components synced", created)
	p.expected(t)
	stages := p.stages()
	p.inOrder(t, "added", stages[0].is, stages[1].is, stages[2].is, stages[3].is, stages[4].is)
	p.inOrder(t, "added", stages[1].is, func(c change) bool { return c.kind == p.nodes && c.name == made })
	for _, c := range p.ledger.since(p.mark) {
		if strings.HasPrefix(c.cluster, "retail-") && c.cluster != hub.Spare || strings.HasPrefix(c.cluster, "payments-") {
			t.Errorf("another cluster changed: %s", c)
		}
	}
}

// inOrder fails unless changes of a kind happened one after the other.
func (p *provisioningFlow) inOrder(t *testing.T, what string, steps ...func(change) bool) {
	t.Helper()
	changes := slices.DeleteFunc(p.ledger.since(p.mark), func(c change) bool { return c.what != what })
	last := -1
	for i, is := range steps {
		at := slices.IndexFunc(changes, is)
		if at <= last {
			t.Errorf("step %d of %d is change %d, the one before is %d:\n%s", i+1, len(steps), at, last, lines(changes))
			return
		}
		last = at
	}
}

// image is what the component on the cluster that follows its version was given.
func (p *provisioningFlow) image() string {
	o := p.ledger.get(hub.Spare, "ConfigMap", "metrics-server-values")
	return regexp.MustCompile(`for-[0-9.]+`).FindString(fmt.Sprint(o))
}

// upgrade: the nodes' Application, and that of a component whose image is the version's, stay as
// they are until the control plane is seen on its version.
func (p *provisioningFlow) upgrade(t *testing.T) {
	t.Helper()
	mark := len(p.cloud.Events())
	p.cloud.Stick("cluster "+made, true)
	printed, began := p.next(t)
	if !strings.Contains(printed, `version: "1.33" -> "1.34"`) || !strings.Contains(printed, "waits for provisioning/"+p.class) {
		t.Errorf("the plan is\n%s", printed)
	}
	p.eventually(t, "that the control plane is asked for", func() string {
		if v := fluxText(p.ledger.get(hub.Name, p.cluster, made), "spec", "version"); !strings.Contains(v, "1.34") {
			return "it is asked for " + v
		}
		if s := state(p.app(p.class + "-" + made)); s != "Synced/Progressing" {
			return s
		}
		return ""
	})
	if v := fluxText(p.ledger.get(hub.Name, p.nodes, made), "spec", "version"); v != "1.33" {
		t.Errorf("the nodes are asked for %s before their control plane is there", v)
	}
	if image := p.image(); image != "for-1.33" {
		t.Errorf("the component that follows the version has the image %q before its control plane is there; expected that of 1.33", image)
	}
	p.cloud.Stick("cluster "+made, false)
	p.eventually(t, "the nodes on 1.34", func() string {
		if got := p.cloud.Things()["nodes "+made]; got != "1.34" {
			return "they are on " + got
		}
		return ""
	})
	p.eventually(t, "the image of 1.34", func() string {
		if image := p.image(); image != "for-1.34" {
			return "it is " + image
		}
		return ""
	})
	p.calm(t)
	p.timed("provisioning", "upgrade: push to nodes upgraded", began)
	if got := strings.Join(p.cloud.Events()[mark:], ", "); got != "cluster "+made+" is on 1.34, nodes "+made+" is on 1.34" {
		t.Errorf("the cloud: %s", got)
	}
}

// remove retires the cluster with what it is made of, and takes its files away afterwards.
func (p *provisioningFlow) remove(t *testing.T) {
	t.Helper()
	printed, began := p.next(t)
	if !strings.Contains(printed, "all ") || !strings.Contains(printed, "of cluster "+made+" (retired)") {
		t.Errorf("the plan is\n%s", printed)
	}
	p.eventually(t, "that nothing is left in the cloud", func() string {
		if things := p.cloud.Things(); len(things) > 0 {
			return fmt.Sprint(things)
		}
		return present(p.environment, p.class+"-"+made)
	})
	p.timed("provisioning", "removal: push to nothing left in the cloud", began)
	app := func(name string) func(change) bool {
		return func(c change) bool { return c.kind == "Application" && c.name == name+"-"+made }
	}
	steps := []func(change) bool{app("metrics-server"), app("fleet-secret")}
	for _, component := range p.parts() {
		steps = append(steps, app(component))
	}
	p.inOrder(t, "deleted", steps...)
	if left := p.ledger.uids(hub.Spare); len(left) > 0 {
		t.Errorf("%d objects still run on the cluster, such as %v", len(left), left)
	}
	p.next(t)
	for _, file := range []string{hub.MadeConnection, versioned, versionedCatalog} {
		must(t, p.Fleet.Remove(file))
	}
	p.push(t, "Nothing of "+made)
	p.eventually(t, "no release has the class", func() string {
		if spec := fmt.Sprint(p.app("application-sets-provisioning-default").Object["spec"]); strings.Contains(spec, p.class) {
			return "one has"
		}
		return ""
	})
	// What a release no longer has stays, without an Application: nothing of that kind is pruned.
	for _, component := range p.parts() {
		must(t, p.Kube.Delete(t.Context(), kube.ApplicationSets, hub.Namespace, "provisioning-default-"+component, metav1.DeletePropagationBackground))
	}
	p.eventually(t, "the ApplicationSets are gone", func() string {
		for _, component := range p.parts() {
			if p.ledger.get(hub.Name, "ApplicationSet", "provisioning-default-"+component) != nil {
				return component
			}
		}
		return ""
	})
	p.calm(t)
	p.expected(t)
}

// conditions are what Argo CD says of an Application.
func conditions(app *unstructured.Unstructured) string {
	if app == nil {
		return "there is no Application"
	}
	list, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
	return fmt.Sprint(list)
}
