package clusterclass

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/container"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// CrossplaneComponents are what Crossplane runs.
var CrossplaneComponents = []string{crossplane, crossplaneFunction}

const (
	crossplane         = "crossplane"
	crossplaneFunction = "crossplane-function"
	function           = "function-patch-and-transform" // the name that charts/cluster-crossplane has
	crossplaneSystem   = "crossplane-system"
	rbacManager        = "crossplane-rbac-manager"
	functionPort       = 9443 // of all functions
	webhooksPort       = 9444 // 9443, the chart's, is that of the function in Crossplane's network
	probePort          = 8081

	functionLabel = "pkg.crossplane.io/function"
	providerLabel = "pkg.crossplane.io/provider"
)

// CrossplaneChart is Crossplane's own chart, of its module, under the version that the module has.
func CrossplaneChart(binaries component.Binaries, version string) ([]byte, error) {
	files := map[string][]byte{}
	dir := filepath.Join(binaries.Files(crossplane), "chart")
	for _, glob := range []string{"*.yaml", "templates/*"} {
		found, err := filepath.Glob(filepath.Join(dir, glob))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(dir, file)
			if err != nil {
				return nil, err
			}
			if name == "Chart.yaml" { // which a release fills in
				data = []byte(strings.ReplaceAll(string(data), ": 0.0.1", ": "+version))
			}
			files[name] = data
		}
	}
	return chartserver.Pack(crossplane, files)
}

// Crossplane runs the Deployments in Crossplane's namespace of a cluster, once they are there (rule
// 5).
type Crossplane struct {
	o        Options
	client   *kube.Client
	dir      string
	registry int // the port of the packages' registry
	provider *ProviderStandIn
	ports    struct{ function, webhooks, probe int }

	mu      sync.Mutex
	running map[string]*process.Process // by Deployment
	problem string                      // why something does not run yet
}

// RunCrossplane runs until the context ends what a chart, and then Crossplane itself, deploys on
// the cluster: the core, its manager of rights, and functions. Providers are the stand-in. Registry
// is the port of the registry with the packages.
func RunCrossplane(ctx context.Context, o Options, provider *ProviderStandIn, registry int, dir string) (*Crossplane, error) {
	client, err := kube.New(o.Cluster.Config())
	if err != nil {
		return nil, err
	}
	c := &Crossplane{o: o, client: client, dir: dir, registry: registry, provider: provider, running: map[string]*process.Process{}}
	for _, port := range []*int{&c.ports.function, &c.ports.webhooks, &c.ports.probe} {
		if *port, err = process.FreePort(); err != nil {
			return nil, err
		}
	}
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			err := c.step(ctx)
			c.mu.Lock()
			c.problem = ""
			if err != nil {
				c.problem = err.Error()
			}
			c.mu.Unlock()
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return c, nil
}

// Problem is why something does not run yet, empty if all does.
func (c *Crossplane) Problem() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.problem
}

// Programs are the running processes by their Deployments' names, "crossplane" among them.
func (c *Crossplane) Programs() map[string]*process.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.running)
}

// step starts what is there and does not run, and ends what runs and is not there any more.
func (c *Crossplane) step(ctx context.Context) error {
	list, err := c.client.Typed.AppsV1().Deployments(crossplaneSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	var all []error
	for i := range list.Items {
		d := &list.Items[i]
		there[d.Name] = true
		if provider := d.Spec.Selector.MatchLabels[providerLabel]; provider != "" {
			c.serve(provider, d)
			continue
		}
		if err := c.run(ctx, d); err != nil {
			all = append(all, fmt.Errorf("%s: %w", d.Name, err))
		}
	}
	for name, p := range c.Programs() {
		if !there[name] {
			all = append(all, p.Stop())
			c.mu.Lock()
			delete(c.running, name)
			c.mu.Unlock()
		}
	}
	return errors.Join(all...)
}

// serve has the stand-in be a provider's package.
func (c *Crossplane) serve(provider string, d *appsv1.Deployment) {
	if service, is := strings.CutPrefix(provider, "provider-aws-"); is {
		c.provider.Serve(service, d.Spec.Template.Spec.ServiceAccountName)
	}
}

// run starts a Deployment's container, unless it runs.
func (c *Crossplane) run(ctx context.Context, d *appsv1.Deployment) error {
	if c.Programs()[d.Name] != nil {
		return nil
	}
	o := container.Options{Group: c.o.Group, Cluster: c.o.Cluster, Client: c.client, Namespace: d.Namespace, Pod: d.Spec.Template.Spec, Dir: c.dir, Name: c.o.Cluster.Name + "-" + d.Name}
	program := crossplane
	switch {
	case d.Name == crossplane:
		if err := c.initialise(ctx, o); err != nil {
			return err
		}
		probe := "http://" + localhost + strconv.Itoa(c.ports.probe) + "/readyz"
		o.Env = map[string]string{"WEBHOOK_PORT": strconv.Itoa(webhooksPort)}
		o.Forward = []int{c.registry}
		o.Services = map[string]container.Address{function + "." + crossplaneSystem: {Port: functionPort, At: c.ports.function}}
		o.Publish = map[int]int{c.ports.webhooks: webhooksPort, c.ports.probe: probePort}
		o.Ready = process.WaitHTTP(probe, nil)
	case d.Name == rbacManager: // says nothing
	case d.Spec.Selector.MatchLabels[functionLabel] == function:
		program = function
		o.Publish = map[int]int{c.ports.function: functionPort}
		o.Ready = process.WaitTCP(localhost + strconv.Itoa(c.ports.function))
	default:
		return errors.New("nothing here takes the place of its image")
	}
	var err error
	if o.Program, err = c.o.Binaries.Find(program); err != nil {
		return err
	}
	p, err := container.Start(ctx, o, d.Spec.Template.Spec.Containers[0])
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[d.Name] = p
	return nil
}

// initialise does what comes before the core: its init container, which defines the kinds, with a
// certificate for the address at which the API server finds the webhooks here.
func (c *Crossplane) initialise(ctx context.Context, o container.Options) error {
	if err := c.certify(ctx); err != nil {
		return err
	}
	files, err := c.initFiles()
	if err != nil {
		return err
	}
	o.Name += "-init"
	o.Files = files
	if o.Program, err = c.o.Binaries.Find(crossplane); err != nil {
		return err
	}
	if err := container.Run(ctx, o, o.Pod.InitContainers[0]); err != nil {
		return err
	}
	return c.webhooks(ctx)
}

// initFiles are what the init container has in its image.
func (c *Crossplane) initFiles() (map[string][]byte, error) {
	files := map[string][]byte{}
	for from, to := range map[string]string{"crds": "/crds", "webhooks": "/webhookconfigurations"} {
		found, err := filepath.Glob(filepath.Join(c.o.Binaries.Files(crossplane), from, "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			files[filepath.Join(to, filepath.Base(file))] = data
		}
	}
	return files, nil
}

// certify fills the Secret of the webhooks' certificate, unless it is filled.
func (c *Crossplane) certify(ctx context.Context) error {
	const name = "crossplane-tls-server"
	secrets := c.client.Typed.CoreV1().Secrets(crossplaneSystem)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil || len(secret.Data) > 0 {
		return err
	}
	secret.Data, err = selfSigned()
	if err != nil {
		return err
	}
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

// webhooks has the API server call the webhooks at their port: no Service leads anywhere here.
func (c *Crossplane) webhooks(ctx context.Context) error {
	at := func(client *admissionv1.WebhookClientConfig) {
		if s := client.Service; s != nil && s.Namespace == crossplaneSystem && s.Path != nil {
			url := "https://" + localhost + strconv.Itoa(c.ports.webhooks) + *s.Path
			client.URL, client.Service = &url, nil
		}
	}
	all := c.client.Typed.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	list, err := all.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		w := &list.Items[i]
		for j := range w.Webhooks {
			at(&w.Webhooks[j].ClientConfig)
		}
		if _, err := all.Update(ctx, w, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// selfSigned is a certificate of this machine with its key, which is its own authority.
func selfSigned() (map[string][]byte, error) {
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
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, is, is, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate of crossplane: %w", err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return map[string][]byte{"ca.crt": certificate, "tls.crt": certificate, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text})}, nil
}

// Kill ends a program as a crash would, and starts it again.
func (c *Crossplane) Kill(ctx context.Context, deployment string) error {
	p := c.Programs()[deployment]
	if p == nil {
		return fmt.Errorf("%s does not run; running are %v", deployment, slices.Sorted(maps.Keys(c.Programs())))
	}
	if err := p.Kill(); err != nil {
		return err
	}
	return p.Restart(ctx)
}
