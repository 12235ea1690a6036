package hub

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/argosy-hub/argosy/test/e2e/internal/clusterclass"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// Made is a member that the hub can make. Its control plane is the one of Spare: a cloud is not
// here.
const Made = "retail-staging-eu-2"

// MadeConnection is the file that says where the connection of Made is read.
const MadeConnection = "fleet/registration/" + Made + "/fleet/fleet-secret/values.yaml"

// ClassNamespace is where clusters are made.
const ClassNamespace = "clusters"

// Classes are the classes of clusters that the hub can make, with the ends of their charts' names.
var Classes = map[string]string{"eks-kro": "kro", "eks-crossplane": "crossplane"}

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
		"addons/control-plane/clusters/" + Name + "/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {enable_cluster_" + Classes[class] + ": 'true'}}\n",
		MadeConnection: string(connection) + "\n",
	}
	if class == "eks-kro" { // ACK makes no credentials
		files[ClassValues(class)+".gotmpl"] = "inputs: {tokenSecret: '{{ .cluster }}-token'}\n"
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

// Cloud is a stand-in for the provider of a class, and for its cloud: each cluster is Spare.
func (h *Hub) Cloud(class string) *clusterclass.ProviderStandIn {
	return &clusterclass.ProviderStandIn{
		Client: h.Kube, Crossplane: class == "eks-crossplane",
		Endpoint: func(string) (string, []byte) { return h.Spokes[Spare].URL, h.Spokes[Spare].CAData },
		Token:    func(string) string { return h.Spokes[Spare].AdminToken },
	}
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

// StartCrossplane builds Crossplane if need be, and starts it on the hub. It listens on all
// addresses.
func (h *Hub) StartCrossplane(ctx context.Context) ([]*process.Process, error) {
	binaries, err := Build(ctx, h.o.Checkout, h.o.Progress, clusterclass.CrossplaneComponents...)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(h.o.Dir, "crossplane")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	core, function, err := clusterclass.StartCrossplane(ctx, clusterclass.Options{Binaries: binaries, Group: h.group, Cluster: h.Control}, dir)
	return []*process.Process{core, function}, err
}
