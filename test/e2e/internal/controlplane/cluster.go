package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// Options are what clusters have in common. All are required.
type Options struct {
	Binaries component.Binaries // etcd, kubernetes and kwok
	Group    *process.Group
	Dir      string   // each cluster has a directory of its name in it
	Off      []string // further features that the API server is without
}

// Cluster is a running control plane.
type Cluster struct {
	Name       string
	URL        string // https://127.0.0.1:PORT
	CAData     []byte // PEM
	AdminToken string // of system:masters
	Kubeconfig string // the path of the administrator's

	APIServer, ControllerManager, Scheduler, KWOK *process.Process
}

// Timeouts of a start are generous, as clusters share few processors. That of a stop is not: an API
// server that still has watches would wait for a minute, and nothing is lost with it.
const (
	serverTimeout = 3 * time.Minute
	actsTimeout   = 2 * time.Minute
	stopTimeout   = 300 * time.Millisecond
)

// Start starts a cluster and waits until it acts (rule 5).
func Start(ctx context.Context, o Options, etcd *Etcd, name string) (*Cluster, error) {
	c, err := start(ctx, o, etcd, name)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return c, nil
}

func start(ctx context.Context, o Options, etcd *Etcd, name string) (*Cluster, error) {
	dir, err := directory(o.Dir, name)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	f, err := prepare(dir, local("https", ports[0]))
	if err != nil {
		return nil, err
	}
	c := &Cluster{Name: name, URL: f.url, CAData: f.ca, AdminToken: f.tokens[admin], Kubeconfig: f.kubeconfig(admin)}

	client, err := rest.HTTPClientFor(c.Config())
	if err != nil {
		return nil, err
	}
	c.APIServer, err = c.start(ctx, o, "kube-apiserver", process.Spec{
		Args:         apiServer(f, etcd, name, ports[0], o.Off),
		Ports:        ports,
		Ready:        process.WaitHTTP(c.URL+"/readyz", client),
		ReadyTimeout: serverTimeout,
	})
	if err != nil {
		return nil, err
	}
	return c, c.startRest(ctx, o, f, client)
}

// startRest starts what needs the API server.
func (c *Cluster) startRest(ctx context.Context, o Options, f *files, client *http.Client) error {
	for _, p := range []struct {
		process **process.Process
		command string
		args    []string
	}{
		{&c.ControllerManager, "kube-controller-manager", controllerManager(f)},
		{&c.Scheduler, "kube-scheduler", scheduler(f)},
		{&c.KWOK, "kwok", kwok(f)},
	} {
		started, err := c.start(ctx, o, p.command, process.Spec{Args: p.args, Env: []string{"HOME=" + f.dir}})
		if err != nil {
			return err
		}
		*p.process = started
	}
	return c.acts(ctx, client)
}

// start starts one of the cluster's processes.
func (c *Cluster) start(ctx context.Context, o Options, command string, s process.Spec) (*process.Process, error) {
	path, err := o.Binaries.Find(command)
	if err != nil {
		return nil, err
	}
	s.Name, s.Path, s.StopTimeout = c.Name+"-"+command, path, stopTimeout
	return o.Group.Start(ctx, s)
}

// RestartAPIServer kills the API server, as a crash would, and starts it again on its port, with
// its objects and keys; it returns when it is ready. The cluster's other processes find it again by
// themselves.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	if err := c.APIServer.Kill(); err != nil {
		return err
	}
	return c.APIServer.Restart(ctx)
}

// Config is the administrator's, without a limit of requests of its own: tests ask a lot at once.
func (c *Cluster) Config() *rest.Config {
	return &rest.Config{
		Host:            c.URL,
		BearerToken:     c.AdminToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.CAData},
		QPS:             -1,
	}
}

// ArgoConfig is `config` of the Secret that registers the cluster with Argo CD.
func (c *Cluster) ArgoConfig() string {
	type tls struct {
		Insecure bool   `json:"insecure,omitempty"`
		CAData   []byte `json:"caData"` // JSON has it in base64, as Argo CD expects
	}
	text, err := json.Marshal(struct {
		BearerToken     string `json:"bearerToken"`
		TLSClientConfig tls    `json:"tlsClientConfig"`
	}{c.AdminToken, tls{CAData: c.CAData}})
	if err != nil { // strings and bytes alone cannot fail
		return err.Error()
	}
	return string(text)
}

// tokenLife is that of service accounts' tokens: longer than any run.
const tokenLife = 7 * 24 * time.Hour

// ServiceAccountKubeconfig writes a kubeconfig of a service account that exists, with a token of
// the TokenRequest API. Its default namespace is the service account's.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name, path string) error {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	seconds := int64(tokenLife / time.Second)
	request := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("cluster %s: token of service account %s/%s: %w", c.Name, namespace, name, err)
	}
	return writeKubeconfig(path, kubeconfig{
		cluster: c.Name, url: c.URL, ca: c.CAData, user: name, token: answer.Status.Token, namespace: namespace,
	})
}

func local(scheme string, port int) string { return scheme + "://127.0.0.1:" + strconv.Itoa(port) }

func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		port, err := process.FreePort()
		if err != nil {
			return nil, err
		}
		ports[i] = port
	}
	return ports, nil
}

func directory(parent, name string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(parent, name))
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}
