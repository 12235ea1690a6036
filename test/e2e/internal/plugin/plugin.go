// Package plugin runs generator-plugin as charts/generator-plugin ships it.
//
//  1. There is no kubelet here, so this package stands in for one, and for nothing else: the
//     program is started with the arguments of the Deployment's container. Its volumes become
//     folders with what the Secrets and ConfigMaps hold, the listening address a port of 127.0.0.1,
//     and the ServiceAccount's token a kubeconfig, if the pod mounts it. So what the program may
//     see of a cluster is what the RBAC there allows, and no more.
//  2. On a hub (Start) the chart's objects are applied by this package, all but the Deployment, as
//     somebody's Helm would.
//  3. On a member (Delivered) nothing is applied: the Deployment, its RBAC, Secrets and ConfigMaps
//     are those that are there.
//  4. A Deployment's pods are alike: one of them runs, however many it wants.
package plugin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const (
	argocd      = "argocd"
	release     = "generator-plugin"
	tokenSecret = "generator-plugin-token"
	tokenKey    = "token"
	readyWithin = time.Minute

	waitInterval   = 200 * time.Millisecond
	followInterval = 5 * time.Second
)

// Options say what to run, and where. All but the last are required.
type Options struct {
	Name    string // of the process
	Binary  string // generator-plugin
	Group   *process.Group
	Cluster *controlplane.Cluster
	Client  *kube.Client // of the cluster
	Dir     string       // for volumes and the kubeconfig; not shared with another

	Namespace string // where it is installed; the default is Argo CD's
}

// Chart is what a hub's installation is made of.
type Chart struct {
	Helm   string              // the helm command
	Folder string              // of charts/generator-plugin
	Hub    string              // name of the hub
	GitURL string              // of the fleet's repository
	Mounts []map[string]string // values of source.git.mountCredentials; may be missing
}

// Plugin is the running service.
type Plugin struct {
	Process *process.Process
	// URL is the service's address, without a path.
	URL string

	o         Options
	port      int
	pod       pod
	tokenFile string // --token-file
}

// newPlugin has a port and a folder, and nothing else yet.
func newPlugin(o Options) (*Plugin, error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	o.Namespace = cmp.Or(o.Namespace, argocd)
	return &Plugin{o: o, port: port, URL: fmt.Sprintf("http://127.0.0.1:%d", port)}, os.MkdirAll(o.Dir, 0o700)
}

// Start installs the chart's objects on a hub and starts the program (rule 2); it is ready when the
// first commit is served.
func Start(ctx context.Context, o Options, c Chart) (*Plugin, error) {
	p, err := newPlugin(o)
	if err != nil {
		return nil, err
	}
	if err := p.writeToken(ctx, rand.Text()); err != nil {
		return nil, err
	}
	deployment, err := p.install(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("charts/generator-plugin: %w", err)
	}
	return p, p.run(ctx, deployment)
}

// Program is the service's program in a checkout. GENERATOR_PLUGIN names another one, which starts
// it from the files of its image.
func Program(checkout string) string {
	return cmp.Or(os.Getenv("GENERATOR_PLUGIN"), filepath.Join(checkout, "bin", "generator-plugin"))
}

// FromImage is Program, but from the files of the image where `make image-root` has unpacked them
// and they have this very program.
func FromImage(checkout string) string {
	program, starter := Program(checkout), filepath.Join(checkout, "hack", "image-run.sh")
	inImage, err := os.ReadFile(filepath.Join(checkout, "dist", "image-root", "usr", "local", "bin", "generator-plugin"))
	if err != nil || os.Getuid() != 0 { // image-run.sh makes mounts
		return program
	}
	if built, err := os.ReadFile(program); err != nil || !bytes.Equal(built, inImage) {
		return program
	}
	return starter
}

// Delivered starts the program of the Deployment that somebody has put onto the cluster (rule 3),
// which may still wait for its Secrets and ConfigMaps, as a kubelet does: until the context ends.
func Delivered(ctx context.Context, o Options) (*Plugin, error) {
	p, err := newPlugin(o)
	if err != nil {
		return nil, err
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, waitInterval, true, func(ctx context.Context) (bool, error) {
		var deployment *unstructured.Unstructured
		if deployment, last = o.Client.Get(ctx, kube.Deployments, p.o.Namespace, release); last == nil && deployment == nil {
			last = errors.New("there is none")
		}
		if last == nil {
			last = p.mount(ctx, deployment)
		}
		return last == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: Deployment %s/%s: %w: %w", o.Cluster.Name, p.o.Namespace, release, context.Cause(ctx), last)
	}
	return p, p.start(ctx)
}

// run starts the program of a Deployment.
func (p *Plugin) run(ctx context.Context, deployment *unstructured.Unstructured) error {
	if err := p.mount(ctx, deployment); err != nil {
		return fmt.Errorf("the Deployment of charts/generator-plugin: %w", err)
	}
	return p.start(ctx)
}

// mount makes the pod's volumes.
func (p *Plugin) mount(ctx context.Context, deployment *unstructured.Unstructured) (err error) {
	if p.pod, err = newPod(deployment, p.o.Namespace, filepath.Join(p.o.Dir, "volumes")); err != nil {
		return err
	}
	return p.pod.mount(ctx, p.o.Client)
}

func (p *Plugin) start(ctx context.Context) error {
	spec := process.Spec{
		Name: p.o.Name, Path: p.o.Binary, Dir: p.o.Dir, Ports: []int{p.port},
		Ready: process.WaitHTTP(p.URL+"/readyz", http.DefaultClient), ReadyTimeout: readyWithin,
		Env: append(p.pod.service.env(), "PATH="+os.Getenv("PATH")),
	}
	if mounts := p.pod.spec.AutomountServiceAccountToken; mounts != nil && *mounts {
		kubeconfig := filepath.Join(p.o.Dir, "kubeconfig")
		if err := p.o.Cluster.ServiceAccountKubeconfig(ctx, p.o.Namespace, p.pod.spec.ServiceAccountName, kubeconfig); err != nil {
			return err
		}
		spec.Env = append(spec.Env, "KUBECONFIG="+kubeconfig)
	}
	for _, a := range p.pod.service.args() {
		if strings.HasPrefix(a, "--listen=") {
			a = fmt.Sprintf("--listen=127.0.0.1:%d", p.port)
		}
		if file, ok := strings.CutPrefix(a, "--token-file="); ok {
			p.tokenFile = file
		}
		spec.Args = append(spec.Args, a)
	}
	var err error
	p.Process, err = p.o.Group.Start(ctx, spec)
	return err
}

// install applies what the chart renders, without its Deployment, which it returns.
func (p *Plugin) install(ctx context.Context, c Chart) (*unstructured.Unstructured, error) {
	values, err := yaml.Marshal(map[string]any{
		"hub":      c.Hub,
		"source":   map[string]any{"git": map[string]any{"url": c.GitURL, "mountCredentials": c.Mounts}},
		"token":    map[string]any{"existingSecret": tokenSecret, "key": tokenKey},
		"plugin":   map[string]any{"baseUrl": p.URL},
		"replicas": 1, "logFormat": "text", "drainDelay": "0s",
	})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(p.o.Dir, "values.yaml")
	if err := os.WriteFile(file, values, 0o600); err != nil {
		return nil, err
	}
	version, err := p.o.Client.Typed.Discovery().ServerVersion()
	if err != nil {
		return nil, err
	}
	objects, err := kube.Template(ctx, c.Helm, p.o.Dir, release, c.Folder,
		"--namespace", p.o.Namespace, "--values", file, "--kube-version", version.GitVersion)
	if err != nil {
		return nil, err
	}
	deployments := kube.ByKind(objects, "Deployment")
	if len(deployments) != 1 {
		return nil, fmt.Errorf("renders %d Deployments; expected 1", len(deployments))
	}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			continue // nothing here pulls images
		}
		if err := p.o.Client.ApplyObject(ctx, p.o.Namespace, o); err != nil {
			return nil, err
		}
	}
	return deployments[0], nil
}

// writeToken makes the Secret that Argo CD and the program read.
func (p *Plugin) writeToken(ctx context.Context, token string) error {
	return p.o.Client.Apply(ctx, p.o.Namespace, fmt.Appendf(nil, `apiVersion: v1
kind: Secret
metadata:
  name: %s
  labels: {app.kubernetes.io/part-of: argocd}
data:
  %s: %s
`, tokenSecret, tokenKey, base64.StdEncoding.EncodeToString([]byte(token))))
}

// Follow has the volumes follow their Secrets and ConfigMaps until the context ends, as the kubelet
// does within a minute: a token that is made twice in a row is the first to a pod that was fast,
// and the second to everybody else.
func (p *Plugin) Follow(ctx context.Context) {
	_ = wait.PollUntilContextCancel(ctx, followInterval, true, func(ctx context.Context) (bool, error) {
		_ = p.pod.mount(ctx, p.o.Client) // what cannot be read now is read next time
		return false, nil
	})
}

// Sync has the volumes follow their Secrets and ConfigMaps once.
func (p *Plugin) Sync(ctx context.Context) error { return p.pod.mount(ctx, p.o.Client) }

// Labels are those of the Deployment's pods, by which a Service finds them.
func (p *Plugin) Labels() map[string]string { return p.pod.labels }

// RotateToken gives Argo CD and the service another token.
func (p *Plugin) RotateToken(ctx context.Context) error {
	if err := p.writeToken(ctx, rand.Text()); err != nil {
		return err
	}
	return p.pod.mount(ctx, p.o.Client) // as the kubelet does within a minute
}

// TokenFile is the file with the service's bearer token.
func (p *Plugin) TokenFile() string { return p.tokenFile }

// Token is the bearer token of the service.
func (p *Plugin) Token() (string, error) {
	token, err := os.ReadFile(p.tokenFile)
	return string(token), err
}

// Pushed tells the service that there is something new, as a Git forge's webhook does.
func (p *Plugin) Pushed(ctx context.Context) error {
	token, err := p.Token()
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/api/v1/webhook", http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("the webhook answers %s; expected 202", response.Status)
	}
	return nil
}
