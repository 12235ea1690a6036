package clusterclass

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// ClusterAPIComponents are what StartClusterAPI runs.
var ClusterAPIComponents = []string{"cluster-api", "cluster-api-bootstrap"}

// managers are Cluster API's programs: the core, kubeadm's two providers, and the provider of
// infrastructure that has machines in memory.
var managers = map[string]struct{ command, component, files string }{
	"core":           {"capi-core", "cluster-api", "core"},
	"control-plane":  {"capi-control-plane", "cluster-api", "control-plane"},
	"infrastructure": {"capi-infrastructure", "cluster-api", "infrastructure"},
	"bootstrap":      {"capi-bootstrap", "cluster-api-bootstrap", "bootstrap"},
}

// StartClusterAPI installs Cluster API on the cluster, with its webhooks, and starts its programs
// (rule 5).
func StartClusterAPI(ctx context.Context, o Options, dir string) (map[string]*process.Process, error) {
	client, err := kube.New(o.Cluster.Config())
	if err != nil {
		return nil, err
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("certificate of webhooks: %w", err)
	}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(managers)) {
		m := managers[name]
		if err := defineContract(ctx, client, filepath.Join(o.Binaries.Files(m.component), m.files, "crds")); err != nil {
			return nil, fmt.Errorf("cluster api: %w", err)
		}
	}
	running := map[string]*process.Process{}
	for _, name := range slices.Sorted(maps.Keys(managers)) {
		m := managers[name]
		var ports [3]int // of webhooks, metrics and probes
		for i := range ports {
			if ports[i], err = process.FreePort(); err != nil {
				return nil, err
			}
		}
		path, err := o.Binaries.Find(m.command)
		if err != nil {
			return nil, err
		}
		running[name], err = o.Group.Start(ctx, process.Spec{
			Name: m.command, Path: path,
			Env: []string{"KUBECONFIG=" + o.Cluster.Kubeconfig, "POD_IP=127.0.0.1", "POD_NAMESPACE=default", "POD_NAME=" + m.command, "POD_UID=" + m.command},
			Args: []string{
				"--webhook-port", strconv.Itoa(ports[0]), "--webhook-cert-dir", dir, "--diagnostics-address", localhost + strconv.Itoa(ports[1]), "--insecure-diagnostics",
				"--health-addr", localhost + strconv.Itoa(ports[2]), "--feature-gates", "ClusterTopology=true,MachinePool=true",
				"--skip-crd-migration-phases", "StorageVersionMigration,CleanupManagedFields",
			},
			Ports: ports[:],
			Ready: process.WaitHTTP("http://"+localhost+strconv.Itoa(ports[2])+"/readyz", nil),
		})
		if err != nil {
			return nil, err
		}
		if err := webhooks(ctx, client, name, filepath.Join(o.Binaries.Files(m.component), m.files, "manifests.yaml"), ports[0], certificate); err != nil {
			return nil, fmt.Errorf("webhooks of %s: %w", m.command, err)
		}
	}
	return running, nil
}

// defineContract defines kinds with the label by which Cluster API finds the version of a contract.
func defineContract(ctx context.Context, client *kube.Client, dir string) error {
	if err := client.Define(ctx, dir); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		group, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
		labels := fmt.Appendf(nil, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.%s, labels: {cluster.x-k8s.io/v1beta2: v1beta2}}}", plural, group)
		if err := client.Apply(ctx, "", labels); err != nil {
			return err
		}
	}
	return nil
}

// webhooks has the API server call a program's webhooks at their port.
func webhooks(ctx context.Context, client *kube.Client, name, file string, port int, authority []byte) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	objects, err := kube.Decode(text)
	if err != nil {
		return err
	}
	for _, o := range objects {
		o.SetName(name + "-" + o.GetName())
		hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, hook := range hooks {
			fields, _ := hook.(map[string]any)
			path, _, _ := unstructured.NestedString(fields, "clientConfig", "service", "path")
			fields["clientConfig"] = map[string]any{
				"url": "https://" + localhost + strconv.Itoa(port) + path, "caBundle": base64.StdEncoding.EncodeToString(authority),
			}
		}
		if err := unstructured.SetNestedSlice(o.Object, hooks, "webhooks"); err != nil {
			return err
		}
		if err := client.ApplyObject(ctx, "", o); err != nil {
			return err
		}
	}
	return nil
}
