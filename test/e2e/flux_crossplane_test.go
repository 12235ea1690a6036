package e2e

import (
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
)

// fluxHubCrossplane: a hub with Flux gets Crossplane in stages, each held by Flux until the one
// before is healthy, by the health checks of charts/agent-flux. Then a member file makes a network
// and a cluster, whose nodes Flux holds until the control plane is seen on its version, and a
// kubeconfig (C2).
func fluxHubCrossplane(t *testing.T, m *fluxEngine) {
	const made, class = "payments-staging-eu-9", "eks-crossplane"
	spoke := m.others[0]
	cloud := &clusterclass.Cloud{
		Endpoint: func(string) (string, []byte) { return spoke.URL, spoke.CAData },
		Token:    func(string) string { return spoke.AdminToken },
		Issuer:   controlplane.Issuer,
	}
	cloud.Trust(controlplane.Issuer(fluxHub), m.Client, fluxHub+"-crossplane", "system:serviceaccount:crossplane-system:provider-aws")
	provider := &clusterclass.ProviderStandIn{Cloud: cloud, Client: m.Client, Crossplane: true}
	packages := hub.Packages{Binaries: m.Binaries}
	must(t, packages.Serve(t.Context(), m.charts))
	crossplane, err := clusterclass.RunCrossplane(t.Context(), clusterclass.Options{Binaries: m.Binaries, Group: m.Group, Cluster: m.Cluster.Cluster}, provider, packages.Port, filepath.Join(m.Dir, "crossplane"))
	must(t, err)
	t.Cleanup(func() {
		for _, program := range crossplane.Programs() {
			must(t, program.Kill())
		}
	})
	t.Cleanup(provider.Start(t.Context()))

	began := time.Now()
	for file, text := range packages.Files(fluxHub) {
		must(t, m.fleet.Write(file, text))
	}
	must(t, m.fleet.Write("addons/control-plane/clusters/"+fluxHub+"/fleet/fleet-secret/values.yaml",
		"externalSecret: {labels: {enable_crossplane: 'true'}, annotations: {aws_role_crossplane: '"+clusterclass.ARN(fluxHub+"-crossplane")+"'}}\n"))
	m.push(t, "Crossplane on the hub")
	stages := []string{"crossplane", "crossplane-provider", "crossplane-provider-config", "cluster-crossplane"}
	ready := func(component, cluster string) func() string {
		return func() string {
			return fluxReady(m.get(t, flux.HelmReleases, component+"-"+cluster)) + crossplane.Problem()
		}
	}
	waits := func(component, cluster string) func() string {
		return func() string {
			if said := fluxReady(m.get(t, flux.HelmReleases, component+"-"+cluster)); !strings.HasPrefix(said, "DependencyNotReady") {
				return component + " is " + said
			}
			return ""
		}
	}
	m.eventually(t, "the core", ready(stages[0], fluxHub))
	providers := schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: "v1", Resource: "providers"}
	m.eventually(t, "that a package that is not there is named", func() string {
		o, err := m.Client.Get(t.Context(), providers, "", "provider-aws-eks")
		if err != nil || o == nil {
			return "there is no provider"
		}
		if said := conditions(o); !strings.Contains(said, "cannot unpack package") {
			return said
		}
		return ""
	})
	for _, later := range stages[2:] {
		m.eventually(t, "that it waits", waits(later, fluxHub))
	}
	must(t, packages.Push(t.Context()))
	for _, stage := range stages[1:] {
		m.eventually(t, stage, ready(stage, fluxHub))
	}
	m.timed("push of Crossplane's label, to its definitions", began)

	began = time.Now()
	for _, file := range []string{hub.ClassValues(class), hub.ClassValues(class + "-nodes"), hub.ClassCatalog} {
		text, err := os.ReadFile(filepath.Join(m.checkout, file))
		must(t, err)
		must(t, m.fleet.Write(file, string(text)))
	}
	cloud.Stick("cluster "+made, true)
	m.command(t, filepath.Join(m.checkout, "bin", "argosy"), "new", "cluster", "--repo", m.fleet.Path(), "--hub", fluxHub, "--class", class, "--version", "1.33",
		"--name", made, "--tenant", "payments", "--environment", "staging", "--account", clusterclass.Account, "--label", "region=eu-west-1")
	m.push(t, "A cluster by a member file")
	m.eventually(t, "the network, before the control plane is there", func() string {
		if _, has := cloud.Resources()["natgateway "+made+"-1"]; !has {
			return crossplane.Problem() + " there is no gateway: " + fluxReady(m.get(t, flux.HelmReleases, class+"-"+made))
		}
		return ""
	})
	m.eventually(t, "that its nodes wait", waits(class+"-nodes", made))
	if things := cloud.Things(); len(things) > 0 {
		t.Errorf("the cloud has %v while the control plane is not there", things)
	}
	cloud.Stick("cluster "+made, false)
	for _, component := range []string{class, class + "-nodes"} {
		m.eventually(t, component, ready(component, made))
	}
	if events := slices.DeleteFunc(cloud.Events(), func(e string) bool { return !strings.Contains(e, " is on ") }); strings.Join(events, ", ") != "cluster "+made+" is on 1.33, nodes "+made+" is on 1.33" {
		t.Errorf("the cloud: %v", events)
	}
	secret, err := m.Client.Typed.CoreV1().Secrets(hub.ClassNamespace).Get(t.Context(), made+"-kubeconfig", metav1.GetOptions{})
	must(t, err)
	if !strings.Contains(string(secret.Data["value"]), spoke.URL) {
		t.Errorf("the kubeconfig does not lead to %s", spoke.URL)
	}
	m.timed("push of a member file, to a network, a cluster with nodes, and its kubeconfig", began)
}
