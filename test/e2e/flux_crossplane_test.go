package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/clusterclass"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// The names of the flow: a cluster of a team, whose application claims what it needs of the cloud.
const (
	fluxMade     = "payments-staging-eu-9"
	fluxClass    = "eks-crossplane"
	fluxBuilders = "builders"
)

// fluxCrossplane is a hub with Flux and Crossplane.
type fluxCrossplane struct {
	*fluxEngine
	cloud      *clusterclass.Cloud
	packages   hub.Packages
	crossplane *clusterclass.Crossplane // of the hub
	cluster    *testcluster.Cluster     // that the hub makes
}

// fluxHubCrossplane: from a hub with Flux to an application on a cluster that it has made, which
// has a Flux and a Crossplane of its own. A stand-in is the provider and the cloud; all else is
// real. (C2, M2, T4)
func fluxHubCrossplane(t *testing.T, m *fluxEngine) {
	f := &fluxCrossplane{fluxEngine: m, packages: hub.Packages{Binaries: m.Binaries}, cluster: m.Beside(t, fluxMade)}
	f.cloud = &clusterclass.Cloud{
		Endpoint: func(string) (string, []byte) { return f.cluster.URL, f.cluster.CAData },
		Token:    func(string) string { return f.cluster.AdminToken },
		Issuer:   controlplane.Issuer,
	}
	f.cloud.Trust(controlplane.Issuer(fluxHub), m.Client, fluxHub+"-crossplane", "system:serviceaccount:crossplane-system:provider-aws")
	f.cloud.Know(controlplane.Issuer(fluxMade), f.cluster.Client)
	must(t, f.packages.Serve(t.Context(), m.charts))
	f.crossplane = f.run(t, m.Cluster)
	f.stages(t)
	f.make(t)
	a := f.bootstrap(t)
	f.application(t, a)
}

// run runs what of Crossplane is deployed on a cluster.
func (f *fluxCrossplane) run(t *testing.T, on *testcluster.Cluster) *clusterclass.Crossplane {
	t.Helper()
	provider := &clusterclass.ProviderStandIn{Cloud: f.cloud, Client: on.Client, Crossplane: true}
	c, err := clusterclass.RunCrossplane(t.Context(), clusterclass.Options{Binaries: f.Binaries, Group: f.Group, Cluster: on.Cluster}, provider, f.packages.Port, filepath.Join(f.Dir, "crossplane-"+on.Name))
	must(t, err)
	t.Cleanup(func() {
		for _, program := range c.Programs() {
			must(t, program.Kill())
		}
	})
	t.Cleanup(provider.Start(t.Context()))
	return c
}

func (f *fluxCrossplane) write(t *testing.T, files map[string]string) {
	t.Helper()
	for file, text := range files {
		must(t, f.fleet.Write(file, text))
	}
}

// ready says why a component of a cluster is not ready by the hub's Flux.
func (f *fluxCrossplane) ready(t *testing.T, component, cluster string) func() string {
	return func() string {
		return fluxReady(f.get(t, flux.HelmReleases, component+"-"+cluster)) + f.crossplane.Problem()
	}
}

// waits says how a component does not wait for another.
func (f *fluxCrossplane) waits(t *testing.T, component, cluster string) func() string {
	return func() string {
		if said := fluxReady(f.get(t, flux.HelmReleases, component+"-"+cluster)); !strings.HasPrefix(said, "DependencyNotReady") {
			return component + " is " + said
		}
		return ""
	}
}

// stages: the hub gets Crossplane in stages, each held by Flux until the one before is healthy.
func (f *fluxCrossplane) stages(t *testing.T) {
	t.Helper()
	began := time.Now()
	stages := []string{"crossplane", "crossplane-provider", "crossplane-provider-config", "cluster-crossplane"}
	f.write(t, f.packages.Files("control-plane", fluxHub, stages[:3]...))
	must(t, f.fleet.Write("addons/control-plane/clusters/"+fluxHub+"/fleet/fleet-secret/values.yaml",
		"externalSecret: {labels: {enable_crossplane: 'true'}, annotations: {aws_role_crossplane: '"+clusterclass.ARN(fluxHub+"-crossplane")+"'}}\n"))
	f.push(t, "Crossplane on the hub")
	f.eventually(t, "the core", f.ready(t, stages[0], fluxHub))
	providers := schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: "v1", Resource: "providers"}
	f.eventually(t, "that a package that is not there is named", func() string {
		o, err := f.Client.Get(t.Context(), providers, "", "provider-aws-eks")
		if err != nil || o == nil {
			return "there is no provider"
		}
		if said := conditions(o); !strings.Contains(said, "cannot unpack package") {
			return said
		}
		return ""
	})
	for _, later := range stages[2:] {
		f.eventually(t, "that it waits", f.waits(t, later, fluxHub))
	}
	must(t, f.packages.Push(t.Context()))
	for _, stage := range stages[1:] {
		f.eventually(t, stage, f.ready(t, stage, fluxHub))
	}
	f.timed("push of Crossplane's label, to its definitions", began)
}

// make: a member file makes a network and a cluster, whose nodes Flux holds until the control plane
// is seen on its version, and a kubeconfig.
func (f *fluxCrossplane) make(t *testing.T) {
	t.Helper()
	const key = "github/payments/fleet-read"
	must(t, f.secrets.Put(t.Context(), key, `{"username": "reader", "password": "pushed by the hub"}`))
	for _, file := range []string{hub.ClassValues(fluxClass), hub.ClassValues(fluxClass + "-nodes"), hub.ClassCatalog} {
		text, err := os.ReadFile(filepath.Join(f.checkout, file))
		must(t, err)
		must(t, f.fleet.Write(file, string(text)))
	}
	began := time.Now()
	f.cloud.Stick("cluster "+fluxMade, true)
	f.command(t, filepath.Join(f.checkout, "bin", "argosy"), "new", "cluster", "--repo", f.fleet.Path(), "--hub", fluxHub, "--class", fluxClass, "--version", "1.33",
		"--name", fluxMade, "--tenant", "payments", "--environment", "staging", "--account", clusterclass.Account, "--region", "eu-west-1", "--label", "region=eu-west-1",
		"--agent", "flux", "--enable-remote", "addons,teams,workloads")
	member := "fleet/fleet-members/" + fluxHub + "/" + fluxMade + ".yaml"
	text, err := f.fleet.Read(member)
	must(t, err)
	must(t, f.fleet.Write(member, text+"use_external_secrets: \"false\"\npush_argo_secrets: \"true\"\n"))
	f.write(t, f.packages.Files("tenants/payments", fluxMade, "crossplane", "crossplane-provider", "crossplane-provider-config", "crossplane-claims"))
	must(t, f.fleet.Write("fleet/registration/"+fluxMade+"/fleet/fleet-secret/values.yaml",
		"externalSecret: {refreshInterval: 5s, labels: {enable_crossplane: 'true'}}\n"+
			// No DNS of a cluster knows the hub's API server by its usual name here.
			fmt.Sprintf("connectionSecret: {namespace: %s, server: {url: %q, caBundle: %s}}\n", hub.ClassNamespace, f.URL, base64.StdEncoding.EncodeToString(f.CAData))+
			"gitCredentials: {fleet: {type: http, kind: repository, url: '"+f.git.URL("fleet")+"', secretName: "+key+"}}\n"))
	f.push(t, "A cluster by a member file")
	f.eventually(t, "the network, before the control plane is there", func() string {
		if _, has := f.cloud.Resources()["natgateway "+fluxMade+"-1"]; !has {
			return f.crossplane.Problem() + " there is no gateway: " + fluxReady(f.get(t, flux.HelmReleases, fluxClass+"-"+fluxMade))
		}
		return ""
	})
	f.eventually(t, "that its nodes wait", f.waits(t, fluxClass+"-nodes", fluxMade))
	if things := f.cloud.Things(); len(things) > 0 {
		t.Errorf("the cloud has %v while the control plane is not there", things)
	}
	f.cloud.Stick("cluster "+fluxMade, false)
	for _, component := range []string{fluxClass, fluxClass + "-nodes"} {
		f.eventually(t, component, f.ready(t, component, fluxMade))
	}
	if events := slices.DeleteFunc(f.cloud.Events(), func(e string) bool { return !strings.Contains(e, " is on ") }); strings.Join(events, ", ") != "cluster "+fluxMade+" is on 1.33, nodes "+fluxMade+" is on 1.33" {
		t.Errorf("the cloud: %v", events)
	}
	secret, err := f.Client.Typed.CoreV1().Secrets(hub.ClassNamespace).Get(t.Context(), fluxMade+"-kubeconfig", metav1.GetOptions{})
	must(t, err)
	if !strings.Contains(string(secret.Data["value"]), f.cluster.URL) {
		t.Errorf("the kubeconfig does not lead to %s", f.cluster.URL)
	}
	f.timed("push of a member file, to a network, a cluster with nodes, and its kubeconfig", began)
}

// bootstrap: by that kubeconfig the hub's Flux installs the cluster's own, which deploys the
// cluster's tools: a Crossplane with the role that the hub made, among them.
func (f *fluxCrossplane) bootstrap(t *testing.T) *fluxEngine {
	t.Helper()
	began := time.Now()
	own := f.ownEngine(t, f.cluster)
	crossplane := f.run(t, f.cluster)
	answered := own.answered(t)
	for _, stage := range []string{"crossplane", "crossplane-provider", "crossplane-provider-config", "crossplane-claims"} {
		if _, is := answered[stage+"-"+fluxMade]; !is {
			t.Errorf("the cluster's own Flux does not deploy %s", stage)
		}
		f.eventually(t, stage+" on the cluster", func() string {
			return fluxReady(own.get(t, flux.HelmReleases, stage+"-"+fluxMade)) + crossplane.Problem()
		})
	}
	own.allReady(t, answered)
	for name := range answered {
		if fluxReady(f.get(t, flux.HelmReleases, name)) != "there is none" {
			t.Errorf("the hub has %s, too", name)
		}
	}
	f.timed("kubeconfig, to the cluster's own Flux with its tools, a Crossplane among them", began)
	return own
}

// application: a team's repository has an application with claims for a queue, a table and a
// database instance. The cluster's Flux applies it, and the cluster's Crossplane makes them.
func (f *fluxCrossplane) application(t *testing.T, own *fluxEngine) {
	t.Helper()
	w := &fluxTeamRepository{fluxEngine: own, team: fluxBuilders, cluster: fluxMade, app: fluxBuilders + "-orders-" + fluxMade}
	w.serve(t)
	const key = "github/payments/builders"
	must(t, f.secrets.Put(t.Context(), key, `{"username": "reader", "password": "of the team"}`))
	registration := "fleet/registration/" + fluxMade + "/fleet/fleet-secret/values.yaml"
	must(t, f.fleet.Replace(registration, "gitCredentials: {", "gitCredentials: {orders: {type: http, kind: repository, url: '"+w.url+"', secretName: "+key+"}, "))
	workloads, err := f.fleet.Read("fleet/workloads.yaml")
	must(t, err)
	f.write(t, map[string]string{
		"fleet/teams/" + w.team + ".yaml": fmt.Sprintf("name: %s\ntenant: payments\nowners: [payments-builders]\nclusters: {matchLabels: {environment: staging}}\nnamespaces: [{name: %[1]s, preset: small}]\nrepositories: [%[2]q]\n", w.team, w.url),
		"addons/tenants/payments/defaults/teams/team-" + w.team + "/values.yaml":// as kinds of operators are not a team's
		"operatorRules: {claims: {apiGroups: [resources.argosy.dev], resources: ['*'], verbs: ['*']}}\n",
		"fleet/workloads.yaml": workloads + fmt.Sprintf("  %s-orders: {team: %[1]s, kind: manifests, chart: {repoURL: %q, path: overlays/prod-crossplane, version: main}, namespace: %[1]s}\n", w.team, w.url),
		w.level("payments"):    w.team + "-orders: {enabled: true}\n",
	})
	began := f.push(t, "The team "+w.team+" with an application")
	f.eventually(t, "the application", func() string { return fluxReady(own.get(t, flux.Kustomizations, w.app)) })
	for resource, thing := range map[string][2]string{"queues": {"queue", "url"}, "tables": {"table", "name"}, "databases": {"instance", "address"}} {
		f.eventually(t, "the "+thing[0], func() string {
			secret, err := own.Client.Typed.CoreV1().Secrets(w.team).Get(t.Context(), fluxOrders+"-"+strings.TrimSuffix(resource, "s"), metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			if len(secret.Data[thing[1]]) == 0 {
				return "its connection has no " + thing[1]
			}
			for name := range f.cloud.Resources() {
				if strings.HasPrefix(name, thing[0]+" "+fluxOrders+"-") {
					return ""
				}
			}
			return fmt.Sprint("the cloud has none: ", f.cloud.Resources())
		})
	}
	if w.of(t, "Deployment") == nil {
		t.Error("the worker is not there")
	}
	f.timed("push of a team's application, to its queue, table and database", began)
}
