package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/clusterclass"
	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
	"github.com/argosy-hub/argosy/test/e2e/internal/sealedsecrets"
)

// Made is a member that the hub can make. Its control plane is the one of Spare: a cloud is not
// here.
const Made = "retail-staging-eu-2"

// MadeConnection is the file that says where the connection of Made is read.
const MadeConnection = "fleet/registration/" + Made + "/fleet/fleet-secret/values.yaml"

// ClassNamespace is where clusters are made.
const ClassNamespace = "clusters"

// Classes are the classes of clusters that the hub can make, with the labels that select what they
// are made of.
var Classes = map[string]string{"eks-kro": "enable_cluster_kro", "eks-crossplane": "enable_crossplane"}

// crossplaneRole is the role of the hub's Crossplane, which Terraform makes.
const crossplaneRole = Name + "-crossplane"

// ClassValues is the file of a class's values.
func ClassValues(class string) string {
	return "provisioning/defaults/provisioning/" + class + "/values.yaml"
}

// ClassCatalog is the file that offers the classes.
const ClassCatalog = "provisioning/defaults/application-sets/provisioning.yaml"

// OfferClass writes what the platform says once of a class: its definitions on the hub, its values,
// and where the connection is read. The caller commits it.
func (h *Hub) OfferClass(class string) error {
	secret := map[string]any{"namespace": ClassNamespace, "server": map[string]any{"url": h.Control.URL, "caBundle": h.Control.CAData}}
	connection, err := json.Marshal(map[string]any{"externalSecret": map[string]any{"refreshInterval": "2s"}, "connectionSecret": secret})
	if err != nil {
		return err
	}
	files := map[string]string{
		"addons/control-plane/clusters/" + Name + "/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {" + Classes[class] + ": 'true'}, annotations: {aws_role_crossplane: '" + clusterclass.ARN(crossplaneRole) + "'}}\n",
		MadeConnection: string(connection) + "\n",
	}
	if class == "eks-kro" { // ACK makes no credentials
		files[ClassValues(class)+".gotmpl"] = "inputs: {tokenSecret: '{{ .cluster }}-token'}\n"
	}
	if class == "eks-crossplane" {
		maps.Copy(files, h.packages.Files("control-plane", Name, "crossplane", "crossplane-provider", "crossplane-provider-config"))
	}
	for _, file := range []string{ClassValues(class), ClassValues(class + "-nodes"), ClassCatalog} { // which the hub's fleet is without
		text, err := os.ReadFile(filepath.Join(h.o.Checkout, file))
		if err != nil {
			return err
		}
		files[file] = string(text)
	}
	for file, text := range files {
		if err := h.Fleet.Write(file, text); err != nil {
			return err
		}
	}
	return nil
}

// Packages are what a hub's Crossplane comes from: its chart, and a registry for its packages.
type Packages struct {
	Binaries component.Binaries // with those of clusterclass.CrossplaneComponents
	Port     int                // of the registry, once it is served
}

const (
	providerPackages = "upbound"
	providerVersion  = "v1.21.1"
	functionPackage  = "crossplane-contrib/function-patch-and-transform:v0.5.0"
)

// Serve serves Crossplane's own chart in the place of its stand-in, and an empty registry until the
// context ends.
func (p *Packages) Serve(ctx context.Context, charts *chartserver.Server) (err error) {
	for _, chart := range charts.Charts() {
		if chart.Name != "crossplane" {
			continue
		}
		archive, err := clusterclass.CrossplaneChart(p.Binaries, chart.Version)
		if err != nil {
			return err
		}
		if err := charts.Put(chart, archive); err != nil {
			return err
		}
	}
	p.Port, err = clusterclass.PackageRegistry(ctx)
	return err
}

// Push writes the packages into the registry.
func (p *Packages) Push(ctx context.Context) error {
	return clusterclass.PushPackages(ctx, p.Binaries, p.Port, providerPackages+":"+providerVersion, functionPackage)
}

// Files switch components of Crossplane on for a cluster of a tenant, with the packages of the
// registry. A program that is killed would wait for its lease, hence no election.
func (p *Packages) Files(tenant, cluster string, components ...string) map[string]string {
	level := "addons/" + tenant + "/clusters/" + cluster + "/"
	return map[string]string{
		level + "application-sets/addons.yaml":  "components: {" + strings.Join(components, ": {enabled: true}, ") + ": {enabled: true}}\n",
		level + "addons/crossplane/values.yaml": "args: [--sync-interval=5s]\nleaderElection: false\nrbacManager: {leaderElection: false}\n",
		level + "addons/crossplane-provider/values.yaml": fmt.Sprintf("provider: {registry: 'localhost:%d/%s', version: %s, functionPackage: 'localhost:%[1]d/%[4]s'}\n",
			p.Port, providerPackages, providerVersion, functionPackage),
	}
}

// PushPackages writes the packages that the hub's Crossplane waits for.
func (h *Hub) PushPackages(ctx context.Context) error { return h.packages.Push(ctx) }

// Cloud is a stand-in for the provider of a class, and for its cloud: each cluster is Spare.
func (h *Hub) Cloud(class string) *clusterclass.ProviderStandIn {
	cloud := &clusterclass.Cloud{
		Endpoint: func(string) (string, []byte) { return h.Spokes[Spare].URL, h.Spokes[Spare].CAData },
		Token:    func(string) string { return h.Spokes[Spare].AdminToken },
		Issuer:   func(string) string { return controlplane.Issuer(Spare) },
	}
	cloud.Trust(controlplane.Issuer(Name), h.Kube, crossplaneRole, "system:serviceaccount:crossplane-system:provider-aws")
	cloud.Know(controlplane.Issuer(Spare), h.Spoke[Spare])
	return &clusterclass.ProviderStandIn{Cloud: cloud, Client: h.Kube, Crossplane: class == "eks-crossplane"}
}

// MakeClusters has the hub make clusters of the class eks-kro, until the hub stops.
func (h *Hub) MakeClusters(ctx context.Context) error {
	const class = "eks-kro"
	if err := h.Kube.Apply(ctx, "", clusterclass.ACK); err != nil {
		return err
	}
	if _, err := h.StartKro(ctx); err != nil {
		return err
	}
	h.Cloud(class).Start(ctx)
	if err := h.OfferClass(class); err != nil {
		return err
	}
	_, err := h.Fleet.Commit(ctx, "Offer clusters of the class "+class)
	return err
}

// StartKro builds kro if need be, and starts it on the hub.
func (h *Hub) StartKro(ctx context.Context) ([]*process.Process, error) {
	binaries, err := Build(ctx, h.o.Checkout, h.o.Progress, "kro")
	if err != nil {
		return nil, err
	}
	kro, err := clusterclass.StartKro(ctx, clusterclass.Options{Binaries: binaries, Group: h.group, Cluster: h.Control})
	return []*process.Process{kro}, err
}

// StartCrossplane builds Crossplane if need be, serves its chart and an empty registry of packages,
// and runs what of Crossplane is deployed on the hub until the context ends.
func (h *Hub) StartCrossplane(ctx context.Context, provider *clusterclass.ProviderStandIn) (*clusterclass.Crossplane, error) {
	binaries, err := Build(ctx, h.o.Checkout, h.o.Progress, clusterclass.CrossplaneComponents...)
	if err != nil {
		return nil, err
	}
	h.packages = Packages{Binaries: binaries}
	if err := h.packages.Serve(ctx, h.Charts); err != nil {
		return nil, err
	}
	return clusterclass.RunCrossplane(ctx, clusterclass.Options{Binaries: binaries, Group: h.group, Cluster: h.Control}, provider, h.packages.Port, filepath.Join(h.o.Dir, "crossplane"))
}

// StartSealedSecrets builds Sealed Secrets if need be, runs its controller for a spoke, and returns
// where its command is.
func (h *Hub) StartSealedSecrets(ctx context.Context, spoke string) (component.Binaries, error) {
	binaries, err := Build(ctx, h.o.Checkout, h.o.Progress, sealedsecrets.Component)
	if err != nil {
		return binaries, err
	}
	return binaries, sealedsecrets.Start(ctx, sealedsecrets.Options{
		Binaries: binaries, Group: h.group, Cluster: h.Spokes[spoke], Client: h.Spoke[spoke], Dir: h.o.Dir,
	})
}
