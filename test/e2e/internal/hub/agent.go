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
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
	"github.com/argosy-hub/argosy/test/e2e/internal/services"
)

// delivery is how long the hub may take to deliver anything to an agent on two busy cores.
const (
	delivery      = 6 * time.Minute
	deliveryCheck = 200 * time.Millisecond
)

// appCredentials is the key of those that the members' files name (githubSecretName).
const appCredentials = "github/payments/app-creds"

// fleetRead is the key of those that the hub pushes to a member that pulls none by itself.
const fleetRead = "github/analytics/fleet-read"

// credentials are the secrets of the tenants besides their clusters': what their repositories are
// read with, by key.
var credentials = map[string]string{
	appCredentials:               `{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "of the demo"}`,
	"github/payments/fleet-read": `{"username": "reader", "password": "of the demo"}`,
	StorefrontKey:                Credentials,
	fleetRead:                    `{"username": "reader", "password": "pushed by the hub"}`,
}

// Agent is what runs on a member that deploys for itself: one of the two engines, and External
// Secrets if its file wants it.
type Agent struct {
	Cluster *controlplane.Cluster
	Kube    *kube.Client
	Secrets *externalsecrets.Operator
	ArgoCD  *argocd.ArgoCD
	Flux    *flux.Flux
	Plugin  *plugin.Plugin
}

// agentFile is what this package needs of a member's file.
type agentFile struct {
	Agent              string `json:"use_remote_argo"`
	Engine             string `json:"remote_engine"`
	UseExternalSecrets string `json:"use_external_secrets"`
}

func (f agentFile) pullsSecrets() bool { return f.UseExternalSecrets != "false" }

func (h *Hub) agentFile(name string) (agentFile, error) {
	path, text, err := h.Fleet.MemberFile(name)
	if err != nil {
		return agentFile{}, err
	}
	var f agentFile
	if err := yaml.Unmarshal([]byte(text), &f); err != nil {
		return agentFile{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// AddAgent writes the file of a member of the agent model. If it pulls its secrets by itself, they
// come from the demonstration's store: the fleet's own has them in another account. If not, the hub
// pushes it a credential of the fleet's repository, which the fleet itself has no need of, being
// public. The caller commits.
func (h *Hub) AddAgent(name string) error {
	if err := h.Fleet.AddMember(name); err != nil {
		return err
	}
	member, err := h.agentFile(name)
	if err != nil {
		return err
	}
	values := fmt.Sprintf("fleet/registration/%s/fleet/fleet-secret/values.yaml", name)
	if !member.pullsSecrets() {
		return h.Fleet.Write(values, fmt.Sprintf("# What its service and its Flux read the fleet with.\ngitCredentials:\n"+
			"  fleet: {type: http, kind: repository, url: %q, secretName: %s}\n", h.Git.URL(Repository), fleetRead))
	}
	return h.Fleet.Write(values,
		"# The demonstration has no other account.\nsecretStore:\n  create: false\n  kind: ClusterSecretStore\n  name: "+externalsecrets.Store+"\n")
}

// StartAgent starts what the hub delivers to a member of the agent model, each when it is there
// (rule 6), and returns when the member's generator-plugin serves.
func (h *Hub) StartAgent(ctx context.Context, name string) (*Agent, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, delivery, fmt.Errorf("not within %s", delivery))
	defer cancel()
	a := &Agent{Cluster: h.Spokes[name], Kube: h.Spoke[name]}
	if err := h.startAgent(ctx, a); err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agents = append(h.agents, a)
	return a, nil
}

func (h *Hub) startAgent(ctx context.Context, a *Agent) error {
	member, err := h.agentFile(a.Cluster.Name)
	if err != nil {
		return err
	}
	proxy, err := services.Start(ctx, a.Kube)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.closers = append(h.closers, proxy.Close)
	h.mu.Unlock()
	engine, namespace := h.startArgoCD, argocd.Namespace
	if member.Engine == "flux" {
		engine, namespace = h.startFlux, flux.Namespace
	}
	starts := []func() error{
		func() error { return engine(ctx, a, proxy.URL) },
		func() error { return h.startOwnPlugin(ctx, a, namespace, proxy) },
	}
	if member.pullsSecrets() {
		starts = append(starts, func() error { return h.startSecrets(ctx, a) })
	}
	return together(starts, func(start func() error) error { return start() })
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
		Binaries: h.binaries, Group: h.group, Cluster: a.Cluster, Prefix: a.Cluster.Name + "-", Env: h.o.Env,
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

func (h *Hub) startArgoCD(ctx context.Context, a *Agent, proxy string) error {
	if err := delivered(ctx, a.Kube, argocd.Namespace, "argo-cd"); err != nil {
		return err
	}
	var err error
	a.ArgoCD, err = argocd.Start(ctx, argocd.Options{
		Binaries: h.binaries, Group: h.group, Version: h.o.ArgoCD, Cluster: a.Cluster,
		Dir: filepath.Join(h.o.Dir, a.Cluster.Name, "argocd"), Prefix: a.Cluster.Name + "-", HTTPProxy: proxy, Env: h.o.Env,
	})
	return err
}

func (h *Hub) startFlux(ctx context.Context, a *Agent, proxy string) error {
	if err := delivered(ctx, a.Kube, flux.Namespace, "flux2"); err != nil {
		return err
	}
	var err error
	a.Flux, err = flux.Start(ctx, flux.Options{
		Binaries: h.binaries, Group: h.group, Cluster: a.Cluster, Client: a.Kube,
		Dir: filepath.Join(h.o.Dir, a.Cluster.Name, "flux"), Delivered: true, HTTPProxy: proxy,
	})
	return err
}

func (h *Hub) startOwnPlugin(ctx context.Context, a *Agent, namespace string, proxy *services.Proxy) (err error) {
	a.Plugin, err = plugin.Delivered(ctx, plugin.Options{
		Name: a.Cluster.Name + "-generator-plugin", Binary: plugin.Program(h.o.Checkout), Group: h.group,
		Cluster: a.Cluster, Client: a.Kube, Dir: filepath.Join(h.o.Dir, a.Cluster.Name, "generator-plugin"), Namespace: namespace,
	})
	if err == nil {
		proxy.Serve(a.Plugin.URL, a.Plugin.Labels())
		go a.Plugin.Follow(h.life)
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
