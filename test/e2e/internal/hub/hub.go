// Package hub puts a whole hub together from real components on 127.0.0.1, without containers or a
// cloud.
//
//  1. What runs: one etcd; a control plane for the hub and one for each spoke, with KWOK's nodes;
//     Argo CD and External Secrets on the hub; a Git server with this repository's fleet; a Helm
//     repository with stand-in charts; and our generator-plugin as its chart ships it.
//  2. The fleet is this checkout's (package fleetrepo), with the members that have a control plane
//     here.
//  3. The secret store holds for each spoke what terraform/spokes has written, and the hub has the
//     facts that terraform/hub has put out. OpenTofu applies both (package terraform), with
//     the facts of examples/facts.yaml. The spoke that is not a member yet has a record as well:
//     adding its member file is all that its registration takes.
//  4. The hub is registered with Argo CD under its own name, the one thing besides the root
//     Application that is applied by hand; everything else comes from Git.
//  5. A push tells generator-plugin and Argo CD at once, as a forge's webhooks do.
//  6. A member of the agent model has processes of its own (StartAgent). What runs there is what
//     the hub has delivered: Argo CD or Flux, and External Secrets, once the stand-ins of their
//     charts are on the member, and generator-plugin from the very Deployment, Secrets and RBAC
//     that the hub's Argo CD, or the member's Flux, has put there. Flux's custom resources are
//     those that its chart delivers. A secret store of the member's own is another than the hub's,
//     under the same name, and holds no more than the member's credentials.
//  7. The teams' repositories (examples/repositories) are on the Git server, two of which ask for
//     credentials. The service has those of its mounts from Secrets, as the chart's values say;
//     the layout mounts none until somebody writes it. Spokes know ACK's kinds, and a stand-in for
//     ACK reports each of their objects as ready.
//  8. The member's engine finds its plugin by the Service's name, as what was delivered says. No
//     DNS of a cluster knows that name here: it is asked through a proxy, which does (package
//     services).
package hub

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/externalsecrets"
	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
	"github.com/argosy-hub/argosy/test/e2e/internal/terraform"
)

const (
	// Name is the hub's name in the fleet.
	Name = "hub-eu"
	// Spare is the spoke that runs but is no member of the fleet until somebody adds its file.
	Spare = "retail-staging-eu-1"
	// Namespace is Argo CD's on the hub.
	Namespace = "argocd"
	// Root is the Application that the bootstrap file creates.
	Root = "fleet-bootstrap"

	// Repository is the fleet's, on the Git server.
	Repository = "fleet"
)

// Members are the spokes that are registered from the start, unless Options say otherwise.
var Members = []string{"payments-dev-eu-1", "retail-dev-eu-1", "retail-prod-eu-1"}

// Options say where things are, and which Argo CD to run.
type Options struct {
	Checkout string // this repository, with bin/generator-plugin built
	Dir      string // for everything that the hub writes; emptied by nobody
	ArgoCD   string // one of argocd.Versions
	// Members are the spokes that are registered from the start, Spares those that run and are no
	// members yet; the defaults are Members and Spare.
	Members, Spares []string
	// Absent are more members that are registered from the start, and whose clusters nobody
	// reaches: their Applications are there, and what they would deploy is not.
	Absent []string
	Flux   bool // the fleet's chart of Flux brings the kinds of Flux, for members that run it
	// Env is more of the environment of Argo CD and External Secrets, also of members' own.
	Env []string
	// Progress gets what is being done, a line at a time.
	Progress func(line string)
}

// Hub is what runs.
type Hub struct {
	Control *controlplane.Cluster
	Spokes  map[string]*controlplane.Cluster // by name, the spare ones among them
	Kube    *kube.Client                     // of the hub
	Spoke   map[string]*kube.Client

	Git     *gitserver.Server
	Charts  *chartserver.Server
	Fleet   *fleetrepo.Repo
	Teams   map[string]*TeamRepository // by name
	ArgoCD  *argocd.ArgoCD
	Secrets *externalsecrets.Operator
	Plugin  *plugin.Plugin

	o        Options
	binaries component.Binaries
	group    *process.Group
	facts    map[string]Facts
	records  map[string]string // of the members, by name
	packages Packages          // of StartCrossplane
	life     context.Context   // of what goes on beside the calls, until Stop
	ended    func()

	mu      sync.Mutex // guards what follows
	agents  []*Agent
	closers []func() error // besides processes
}

// Facts are what Terraform knows of a cluster.
type Facts struct {
	Name                string
	Labels, Annotations map[string]string
}

// Start builds what is missing and starts everything but the fleet's own bootstrap. What fails ends
// all that was started; the error says what and why.
func Start(ctx context.Context, o Options) (_ *Hub, err error) {
	if o.Members == nil && o.Spares == nil {
		o.Members, o.Spares = Members, []string{Spare}
	}
	h := &Hub{o: o, Spokes: map[string]*controlplane.Cluster{}, Spoke: map[string]*kube.Client{}}
	// Requests of servers that are still running are ended with the hub, not with the caller's
	// context.
	life, ended := context.WithCancel(context.WithoutCancel(ctx))
	h.life, h.ended = life, ended
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Stop())
		}
	}()
	if err := h.prepare(ctx); err != nil {
		return nil, err
	}
	if err := h.serveRepositories(life); err != nil {
		return nil, err
	}
	if err := h.startClusters(ctx); err != nil {
		return nil, err
	}
	if err := h.provision(ctx); err != nil {
		return nil, err
	}
	if err := h.startOperators(ctx); err != nil {
		return nil, err
	}
	if err := h.fillStore(ctx); err != nil {
		return nil, err
	}
	return h, h.startPlugin(ctx, life)
}

// prepare looks whether all is there that cannot be built, and builds the rest.
func (h *Hub) prepare(ctx context.Context) error {
	if _, err := os.Stat(plugin.Program(h.o.Checkout)); err != nil {
		return fmt.Errorf("%w: build it with `make build`", err)
	}
	var err error
	components := Components(h.o.ArgoCD)
	if h.o.Flux {
		components = append(components, flux.Components()...)
	}
	if h.binaries, err = Build(ctx, h.o.Checkout, h.o.Progress, components...); err != nil {
		return err
	}
	h.facts, err = readFacts(filepath.Join(h.o.Checkout, "examples", "facts.yaml"))
	h.group = process.NewGroup(filepath.Join(h.o.Dir, "log"))
	h.group.OnExit = func(p *process.Process, err error) { h.o.Progress(fmt.Sprintf("%s has ended: %v", p.Name(), err)) }
	return err
}

// Components are what a hub is made of.
func Components(argoCD string) []string {
	return append(terraform.Components(), "etcd", "kubernetes", "kwok", "external-secrets", "kustomize", "argocd-"+argoCD)
}

// Build builds the components that the user's cache does not have yet.
func Build(ctx context.Context, checkout string, progress func(line string), components ...string) (component.Binaries, error) {
	if err := component.Require("git", "redis-server"); err != nil {
		return component.Binaries{}, err
	}
	return component.Build(ctx, component.Options{Root: filepath.Join(checkout, "test", "e2e", "components"), Progress: progress}, components...)
}

// readFacts reads a file of kind Facts.
func readFacts(file string) (map[string]Facts, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var content struct{ Clusters []Facts }
	if err := yaml.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	byName := map[string]Facts{}
	for _, c := range content.Clusters {
		byName[c.Name] = c
	}
	return byName, nil
}

// serveRepositories starts the Git server and the Helm repository, and pushes the fleet.
func (h *Hub) serveRepositories(ctx context.Context) error {
	h.o.Progress("Git server and Helm repository")
	var err error
	if h.Git, err = gitserver.Start(ctx, filepath.Join(h.o.Dir, "git")); err != nil {
		return err
	}
	if _, err = h.Git.Create(Repository); err != nil {
		return err
	}
	charts, err := fleetrepo.Charts(ctx, h.o.Checkout)
	if err != nil {
		return err
	}
	if h.Charts, err = chartserver.Start(ctx, charts); err != nil {
		return err
	}
	if h.o.Flux {
		if err := h.Charts.Define("flux2", flux.Definitions(h.binaries)...); err != nil {
			return err
		}
	}
	h.Fleet, err = fleetrepo.New(ctx, fleetrepo.Options{
		Source: h.o.Checkout, Remote: h.Git.URL(Repository), ChartRepo: h.Charts.URL(), Hub: Name, Members: slices.Concat(h.o.Members, h.o.Absent),
		Dir: filepath.Join(h.o.Dir, "fleet"),
	})
	if err != nil {
		return err
	}
	return h.serveTeams(ctx)
}

// startClusters starts the control planes side by side.
func (h *Hub) startClusters(ctx context.Context) error {
	names := slices.Concat([]string{Name}, h.o.Spares, h.o.Members)
	h.o.Progress(fmt.Sprintf("%d control planes", len(names)))
	o := controlplane.Options{Binaries: h.binaries, Group: h.group, Dir: filepath.Join(h.o.Dir, "clusters")}
	if h.o.ArgoCD == "2.14" { // it compares nothing with a field that its own Kubernetes, 1.31, does not know
		o.Off = []string{"DeploymentReplicaSetTerminatingReplicas"}
	}
	etcd, err := controlplane.StartEtcd(ctx, o)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	return together(names, func(name string) error {
		cluster, err := controlplane.Start(ctx, o, etcd, name)
		if err != nil {
			return fmt.Errorf("control plane %s: %w", name, err)
		}
		client, err := kube.New(cluster.Config())
		if err != nil {
			return err
		}
		if name != Name {
			if err := standInForACK(ctx, h.life, client); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if name == Name {
			h.Control, h.Kube = cluster, client
		} else {
			h.Spokes[name], h.Spoke[name] = cluster, client
		}
		return nil
	})
}

// together runs f for each item at once, and gives all that went wrong.
func together[T any](items []T, f func(T) error) error {
	var wg sync.WaitGroup
	errs := make([]error, len(items))
	for i, item := range items {
		wg.Go(func() { errs[i] = f(item) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// startOperators starts Argo CD and External Secrets on the hub, and registers the hub itself.
func (h *Hub) startOperators(ctx context.Context) error {
	h.o.Progress("Argo CD " + h.o.ArgoCD + " and External Secrets")
	return together([]func() error{
		func() (err error) {
			var reached []int
			for _, c := range h.Spokes {
				port, err := portOf(c.URL)
				if err != nil {
					return err
				}
				reached = append(reached, port)
			}
			health, err := argocd.HealthChecks(filepath.Join(h.o.Checkout, "charts"))
			if err != nil {
				return err
			}
			h.ArgoCD, err = argocd.Start(ctx, argocd.Options{
				Binaries: h.binaries, Group: h.group, Version: h.o.ArgoCD, Cluster: h.Control, Forward: reached, Config: health,
				Dir: filepath.Join(h.o.Dir, "argocd"), Env: h.o.Env,
			})
			if err != nil {
				return err
			}
			self := h.facts[Name]
			return h.ArgoCD.RegisterCluster(ctx, Name, h.Control, self.Labels, self.Annotations)
		},
		func() (err error) {
			h.Secrets, err = externalsecrets.Start(ctx, externalsecrets.Options{
				Binaries: h.binaries, Group: h.group, Cluster: h.Control, Env: h.o.Env,
			})
			return err
		},
	}, func(start func() error) error { return start() })
}

func portOf(address string) (int, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(u.Port())
}

// fillStore writes the members' records as Terraform has written them, by what the members' files
// say.
func (h *Hub) fillStore(ctx context.Context) error {
	for name, record := range h.records {
		if err := h.Secrets.Put(ctx, h.Fleet.SecretKeys()[name], record); err != nil {
			return err
		}
	}
	for _, key := range []string{appCredentials, fleetRead, StorefrontKey} { // the hub has no use for the others
		if err := h.Secrets.Put(ctx, key, credentials[key]); err != nil {
			return err
		}
	}
	return nil
}

// startPlugin starts our own service, and notifies it of each push.
func (h *Hub) startPlugin(ctx, life context.Context) error {
	h.o.Progress("generator-plugin")
	err := h.Kube.Apply(ctx, Namespace, fmt.Appendf(nil, "{apiVersion: v1, kind: Secret, metadata: {name: %s}, stringData: {username: %s, password: %s}}\n", governanceSecret, reader, password))
	if err != nil {
		return err
	}
	h.Plugin, err = plugin.Start(ctx, plugin.Options{
		Name: "generator-plugin", Binary: plugin.Program(h.o.Checkout),
		Group: h.group, Cluster: h.Control, Client: h.Kube, Dir: filepath.Join(h.o.Dir, "generator-plugin"),
	}, plugin.Chart{
		Helm: h.binaries.Path("helm"), Folder: filepath.Join(h.o.Checkout, "charts", "generator-plugin"),
		Hub: Name, GitURL: h.Git.URL(Repository), Mounts: h.mounts(),
	})
	if err != nil {
		return err
	}
	h.Git.OnPush(func(push gitserver.Push) {
		ctx, cancel := context.WithTimeout(life, 10*time.Second)
		defer cancel()
		// A service that misses it polls: the next minute brings what the webhook could not.
		_ = h.Plugin.Pushed(ctx)
		url := h.Git.URL(push.Repo)
		_ = h.ArgoCD.Pushed(ctx, url, push.Files)
		for _, a := range h.running() {
			_ = a.Plugin.Pushed(ctx)
			if a.ArgoCD != nil {
				_ = a.ArgoCD.Pushed(ctx, url, push.Files)
			}
		}
	})
	return nil
}

// Bootstrap applies the one manifest that a hub starts from.
func (h *Hub) Bootstrap(ctx context.Context) error {
	text, err := h.Fleet.Read("fleet/bootstrap/" + Name + ".yaml")
	if err != nil {
		return err
	}
	return h.Kube.Apply(ctx, Namespace, []byte(text))
}

// Members are the spokes that are registered from the start.
func (h *Hub) Members() []string { return h.o.Members }

// Absent are the members whose clusters nobody reaches.
func (h *Hub) Absent() []string { return h.o.Absent }

// Facts are what Terraform wrote of a cluster: the output of its wrapper.
func (h *Hub) Facts(name string) Facts { return h.facts[name] }

// Logs is the folder of the processes' logs.
func (h *Hub) Logs() string { return filepath.Join(h.o.Dir, "log") }

// Stop ends everything, also after a Start that failed halfway.
func (h *Hub) Stop() error {
	h.ended()
	var errs []error
	if h.group != nil {
		errs = append(errs, h.group.Stop())
	}
	if h.Charts != nil {
		errs = append(errs, h.Charts.Close())
	}
	if h.Git != nil {
		errs = append(errs, h.Git.Close())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, end := range h.closers {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
