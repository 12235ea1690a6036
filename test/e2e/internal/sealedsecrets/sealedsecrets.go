// Package sealedsecrets runs the controller of Sealed Secrets and its command kubeseal.
package sealedsecrets

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// Component is the one of test/e2e/components, and names what a cluster has of it.
const (
	Component = "sealed-secrets"
	// Namespace is the component's, as the catalogs of charts/application-sets have it.
	Namespace = "sealed-secrets"
	// Key is the Secret of the key, as charts/fleet-secret calls it.
	Key = "fleet-sealing-key"
	// Label marks a Secret as a key for the controller.
	Label = "sealedsecrets.bitnami.com/sealed-secrets-key"
)

// Pair is a key pair, as PEM.
type Pair struct {
	Certificate string `json:"tls_crt"`
	Key         string `json:"tls_key"`
}

// NewPair makes a pair as `openssl req -x509` does.
func NewPair() (Pair, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return Pair{}, err
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sealed-secret"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, private.Public(), private)
	if err != nil {
		return Pair{}, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Pair{}, err
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return Pair{block("CERTIFICATE", der), block("PRIVATE KEY", pkcs8)}, nil
}

// Record is the pair as a secret store has it.
func (p Pair) Record() (string, error) {
	text, err := json.Marshal(p)
	return string(text), err
}

// Seal has kubeseal seal a Secret, given as JSON or YAML, for whoever has the pair's key.
func (p Pair) Seal(ctx context.Context, binaries component.Binaries, dir, secret string) (string, error) {
	file := filepath.Join(dir, "sealing.crt")
	if err := os.WriteFile(file, []byte(p.Certificate), 0o600); err != nil {
		return "", err
	}
	kubeseal := exec.CommandContext(ctx, binaries.Path("kubeseal"), "--cert", file, "--format", "yaml")
	var said bytes.Buffer
	kubeseal.Stdin, kubeseal.Stderr = bytes.NewReader([]byte(secret)), &said
	sealed, err := kubeseal.Output()
	if err != nil {
		return "", fmt.Errorf("kubeseal: %w\n%s", err, said.String())
	}
	return string(sealed), nil
}

// Options say what to run and where. All are required.
type Options struct {
	Binaries component.Binaries // with sealed-secrets
	Group    *process.Group
	Cluster  *controlplane.Cluster
	Client   *kube.Client // of the cluster
	Dir      string       // for the controller's account
}

// Start runs the controller for a cluster, until its group ends. It knows nothing but the
// configuration of a pod, in /var/run/secrets: it gets one in a private mount namespace.
func Start(ctx context.Context, o Options) error {
	if err := o.Client.Define(ctx, filepath.Join(o.Binaries.Files(Component), "crds")); err != nil {
		return err
	}
	account := filepath.Join(o.Dir, "sealed-secrets-account")
	if err := os.MkdirAll(account, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"token": o.Cluster.AdminToken, "ca.crt": string(o.Cluster.CAData), "namespace": Namespace} {
		if err := os.WriteFile(filepath.Join(account, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	api, err := url.Parse(o.Cluster.URL)
	if err != nil {
		return err
	}
	listen, err := process.FreePort()
	if err != nil {
		return err
	}
	metrics, err := process.FreePort()
	if err != nil {
		return err
	}
	controller, err := o.Binaries.Find("sealed-secrets-controller")
	if err != nil {
		return err
	}
	const inPod = `mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io && cp -r "$1" /run/secrets/kubernetes.io/serviceaccount && shift && exec "$@"`
	args := []string{"--mount"}
	if exec.CommandContext(ctx, "unshare", "--mount", "true").Run() != nil {
		args = append(args, "--user", "--map-root-user") // without privilege
	}
	_, err = o.Group.Start(ctx, process.Spec{
		Name: "sealed-secrets", Path: "unshare",
		Args: append(args, "sh", "-euc", inPod, "sh", account, controller,
			"--listen-addr", "127.0.0.1:"+strconv.Itoa(listen), "--listen-metrics-addr", "127.0.0.1:"+strconv.Itoa(metrics), "--key-renew-period", "0"),
		Env:   []string{"KUBERNETES_SERVICE_HOST=" + api.Hostname(), "KUBERNETES_SERVICE_PORT=" + api.Port(), "POD_NAMESPACE=" + Namespace},
		Ports: []int{listen, metrics},
		Ready: process.WaitHTTP("http://127.0.0.1:"+strconv.Itoa(listen)+"/healthz", nil),
	})
	return err
}
