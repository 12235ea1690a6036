package hub

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/externalsecrets"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
)

// delivery is how long the hub may take to deliver anything to an agent on two busy cores.
const (
	delivery      = 4 * time.Minute
	deliveryCheck = 200 * time.Millisecond
)

// appCredentials is the key of those that the members' files name (githubSecretName).
const appCredentials = "github/payments/app-creds"

// credentials are the secrets of the tenant payments besides its clusters': what its repositories are read with, by key.
// The Git server here asks for none.
var credentials = map[string]string{
	appCredentials:               `{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "of the demo"}`,
	"github/payments/fleet-read": `{"username": "reader", "password": "of the demo"}`,
}

// Agent is what runs on a member that deploys for itself.
type Agent struct {
	Cluster *controlplane.Cluster
	Kube    *kube.Client
	Secrets *externalsecrets.Operator
	ArgoCD  *argocd.ArgoCD
	Plugin  *plugin.Plugin
}

// AddAgent writes the file of a member of the agent model, and has its secrets come from the demonstration's store: the
// fleet's own has them in another account. The caller commits.
func (h *Hub) AddAgent(name string) error {
	if err := h.Fleet.AddMember(name); err != nil {
		return err
	}
	_, text, err := h.Fleet.MemberFile(name)
	if err != nil {
		return err
	}
	var member struct{ Tenant string }
	if err := yaml.Unmarshal([]byte(text), &member); err != nil {
		return err
	}
	return h.Fleet.Write(fmt.Sprintf("addons/tenants/%s/clusters/%s/fleet/fleet-secret/values.yaml", member.Tenant, name),
		"# The demonstration has no other account.\nsecretStore:\n  create: false\n  kind: ClusterSecretStore\n  name: "+externalsecrets.Store+"\n")
}

// StartAgent starts what the hub delivers to a member of the agent model, each when it is there (rule 6), and returns
// when the member's generator-plugin serves.
func (h *Hub) StartAgent(ctx context.Context, name string) (*Agent, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, delivery, fmt.Errorf("not within %s", delivery))
	defer cancel()
	a := &Agent{Cluster: h.Spokes[name], Kube: h.Spoke[name]}
	services := &services{client: a.Kube}
	err := together([]func() error{
		func() error { return h.startSecrets(ctx, a) },
		func() error { return h.startEngine(ctx, a, services) },
		func() error { return h.startOwnPlugin(ctx, a, services) },
	}, func(start func() error) error { return start() })
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agents = append(h.agents, a)
	return a, nil
}

// running are the agents that have been started.
func (h *Hub) running() []*Agent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.agents)
}

func (h *Hub) startSecrets(ctx context.Context, a *Agent) (err error) {
	if err := delivered(ctx, a.Kube, "external-secrets", "external-secrets"); err != nil {
		return err
	}
	a.Secrets, err = externalsecrets.Start(ctx, externalsecrets.Options{
		Binaries: h.binaries, Group: h.group, Cluster: a.Cluster, Prefix: a.Cluster.Name + "-",
	})
	if err != nil {
		return err
	}
	for key, text := range credentials {
		if err := a.Secrets.Put(ctx, key, text); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hub) startEngine(ctx context.Context, a *Agent, services *services) error {
	if err := delivered(ctx, a.Kube, Namespace, "argo-cd"); err != nil {
		return err
	}
	proxy, err := services.serve(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.closers = append(h.closers, services.server.Close)
	h.mu.Unlock()
	a.ArgoCD, err = argocd.Start(ctx, argocd.Options{
		Binaries: h.binaries, Group: h.group, Version: h.o.ArgoCD, Cluster: a.Cluster,
		Dir: filepath.Join(h.o.Dir, a.Cluster.Name, "argocd"), Prefix: a.Cluster.Name + "-", HTTPProxy: proxy,
	})
	return err
}

func (h *Hub) startOwnPlugin(ctx context.Context, a *Agent, services *services) (err error) {
	a.Plugin, err = plugin.Delivered(ctx, plugin.Options{
		Name: a.Cluster.Name + "-generator-plugin", Binary: h.bin("generator-plugin"), Group: h.group,
		Cluster: a.Cluster, Client: a.Kube, Dir: filepath.Join(h.o.Dir, a.Cluster.Name, "generator-plugin"),
	})
	if err == nil {
		services.pod.Store(a.Plugin)
	}
	return err
}

// delivered waits for a Deployment.
func delivered(ctx context.Context, client *kube.Client, namespace, name string) error {
	err := wait.PollUntilContextCancel(ctx, deliveryCheck, true, func(ctx context.Context) (bool, error) {
		o, err := client.Get(ctx, kube.Deployments, namespace, name)
		return err == nil && o != nil, nil // an error is asked again
	})
	if err != nil {
		return fmt.Errorf("deployment %s/%s has not been delivered: %w", namespace, name, context.Cause(ctx))
	}
	return nil
}
