package clusterclass

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// CrossplaneComponents are what StartCrossplane runs.
var CrossplaneComponents = []string{crossplane, crossplaneFunction}

const (
	crossplane         = "crossplane"
	crossplaneFunction = "crossplane-function"
	function           = "function-patch-and-transform" // the name that charts/cluster-crossplane has
	crossplaneSystem   = "crossplane-system"
)

// StartCrossplane installs Crossplane on the cluster, with its webhooks and the function of the
// compositions, and starts both (rule 5).
func StartCrossplane(ctx context.Context, o Options, dir string) (core, patches *process.Process, err error) {
	client, err := kube.New(o.Cluster.Config())
	if err != nil {
		return nil, nil, err
	}
	if err := client.Define(ctx, filepath.Join(o.Binaries.Files(crossplane), "crds")); err != nil {
		return nil, nil, fmt.Errorf("install crossplane on %s: %w", o.Cluster.Name, err)
	}
	if err := client.Namespace(ctx, crossplaneSystem); err != nil {
		return nil, nil, err
	}
	certificate, err := selfSigned(dir)
	if err != nil {
		return nil, nil, err
	}
	if err := writePackage(o, dir); err != nil {
		return nil, nil, fmt.Errorf("package of %s: %w", function, err)
	}
	var ports [4]int // of the function, webhooks, metrics and probes
	for i := range ports {
		if ports[i], err = process.FreePort(); err != nil {
			return nil, nil, err
		}
	}
	endpoint := localhost + strconv.Itoa(ports[0])
	if patches, err = start(ctx, o, process.Spec{
		Name: function, Args: []string{"--address", endpoint, "--tls-certs-dir", dir}, Ports: ports[:1], Ready: process.WaitTCP(endpoint),
	}); err != nil {
		return nil, nil, err
	}
	if core, err = start(ctx, o, process.Spec{
		Name: crossplane, Env: []string{"KUBECONFIG=" + o.Cluster.Kubeconfig, "HOME=" + dir},
		Args: []string{
			"core", "start", "--namespace", crossplaneSystem, "--package-runtime", "External", "--cache-dir", dir,
			"--tls-server-certs-dir", dir, "--tls-client-certs-dir", dir, "--webhook-port", strconv.Itoa(ports[1]),
			"--metrics-port", strconv.Itoa(ports[2]), "--health-probe-port", strconv.Itoa(ports[3]),
		},
		Ports: ports[1:],
		Ready: process.WaitHTTP("http://"+localhost+strconv.Itoa(ports[3])+"/readyz", nil),
	}); err != nil {
		return nil, nil, err
	}
	if err := webhooks(ctx, client, filepath.Join(o.Binaries.Files(crossplane), "webhooks", "manifests.yaml"), ports[1], certificate); err != nil {
		return nil, nil, fmt.Errorf("webhooks of crossplane: %w", err)
	}
	return core, patches, installFunction(ctx, client, endpoint)
}

// start starts the program that has the name of the specification.
func start(ctx context.Context, o Options, s process.Spec) (p *process.Process, err error) {
	if s.Path, err = o.Binaries.Find(s.Name); err != nil {
		return nil, err
	}
	return o.Group.Start(ctx, s)
}

// selfSigned writes a certificate of this machine with its key, for servers and clients that trust
// it alone.
func selfSigned(dir string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	is := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: crossplane}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, is, is, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate of crossplane: %w", err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{
		"ca.crt": certificate, "tls.crt": certificate, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	return certificate, nil
}

// writePackage writes the function's package to where Crossplane keeps what it has fetched.
func writePackage(o Options, dir string) error {
	files, err := filepath.Glob(filepath.Join(o.Binaries.Files(crossplaneFunction), "package", "*.yaml"))
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(zip, "---\n%s\n", text); err != nil {
			return err
		}
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, function+".gz"), packed.Bytes(), 0o600)
}

// installFunction installs the package, and says where the function runs once Crossplane has made a
// revision of it: no Deployment runs it here.
func installFunction(ctx context.Context, client *kube.Client, endpoint string) error {
	revisions := schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: "v1", Resource: "functionrevisions"}
	manifest := fmt.Appendf(nil, "{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: %s}, spec: {package: %[1]s, packagePullPolicy: Never}}", function)
	if err := client.Apply(ctx, "", manifest); err != nil {
		return err
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		all, err := client.List(ctx, revisions, "", "pkg.crossplane.io/package="+function)
		last = err
		for name := range all {
			_, last = client.Dynamic.Resource(revisions).Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"status":{"endpoint":%q}}`, endpoint), metav1.PatchOptions{}, "status")
			return last == nil, nil
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("revision of %s: %w", function, errors.Join(err, last))
	}
	return nil
}

// webhooks has the API server call a program's webhooks at their port.
func webhooks(ctx context.Context, client *kube.Client, file string, port int, authority []byte) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	objects, err := kube.Decode(text)
	if err != nil {
		return err
	}
	for _, o := range objects {
		o.SetName(crossplane + "-" + o.GetName())
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
