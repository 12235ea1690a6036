package argocd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const (
	// Namespace is Argo CD's on the hub.
	Namespace = "argocd"
	// InCluster is the hub's API server to Applications (rule 5).
	InCluster = "https://kubernetes.default.svc"

	refreshAnnotation = "argocd.argoproj.io/refresh"
	secretTypeLabel   = "argocd.argoproj.io/secret-type"
	nameAnnotation    = "cluster_name"

	defaultResync = 30 * time.Second
)

// Options say what to run and where. All up to Dir are required.
type Options struct {
	Binaries component.Binaries // with the version's component, and with kustomize where folders are kustomizations
	Group    *process.Group
	Version  string                // one of Versions
	Cluster  *controlplane.Cluster // the hub
	Dir      string                // for checkouts, caches and links; not shared with another Argo CD

	Forward []int             // ports of the other API servers that it deploys to
	Resync  time.Duration     // between comparisons of an Application (rule 3); the default is 30 seconds
	Config  map[string]string // more of argocd-cm, and instead of what this package sets
	Prefix  string            // of the processes' names, where there is another Argo CD in the group
	API     bool              // also start the server of its API

	Env []string // more of all processes' environment

	// HTTPProxy is where the ApplicationSet controller sends what it asks generator plugins by
	// HTTP, other than those on 127.0.0.1: there is no DNS of a cluster here that would know a
	// Service's name.
	HTTPProxy string
}

// ArgoCD is what runs. Each of its processes may be killed and restarted: nothing but redis keeps
// anything, and that is a cache.
type ArgoCD struct {
	Controller, ApplicationSets, RepoServer, Redis *process.Process

	// SetsMetrics is where the ApplicationSet controller's metrics are.
	SetsMetrics string
	// SetsWebhook is where the ApplicationSet controller takes a forge's webhooks.
	SetsWebhook string
	// API is where its API is, if it has been started.
	API string

	client *kube.Client
	hub    string // address of the hub's API server
}

// Start installs Argo CD on the hub and starts its processes. They end with the group; a Start that
// failed may have left some of them there.
func Start(ctx context.Context, o Options) (*ArgoCD, error) {
	r, err := releaseOf(o.Version)
	if err != nil {
		return nil, fmt.Errorf("argo cd: %w", err)
	}
	client, err := kube.New(o.Cluster.Config())
	if err != nil {
		return nil, fmt.Errorf("argo cd %s: %w", o.Version, err)
	}
	if o.Resync <= 0 {
		o.Resync = defaultResync
	}
	a := &ArgoCD{client: client, hub: o.Cluster.URL}
	if err := a.install(ctx, filepath.Join(o.Binaries.Files(r.component), "crds"), o.Config); err != nil {
		return nil, fmt.Errorf("install argo cd %s on %s: %w", o.Version, o.Cluster.Name, err)
	}
	if err := a.run(ctx, o, r); err != nil {
		return nil, fmt.Errorf("argo cd %s: %w", o.Version, err)
	}
	return a, nil
}

// Refresh has an Application compared now, with what Git has now; hard leaves cached manifests out.
// There being no such Application is no error: it is compared when it is made.
func (a *ArgoCD) Refresh(ctx context.Context, app string, hard bool) error {
	how := "normal"
	if hard {
		how = "hard"
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, refreshAnnotation, how)
	_, err := a.client.Dynamic.Resource(kube.Applications).Namespace(Namespace).
		Patch(ctx, app, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("refresh Application %s: %w", app, err)
	}
	return nil
}

// Pushed refreshes the Applications that a push to a repository concerns, because they read a
// folder with a changed file. Argo CD's own webhook does the same for
// Applications that say which folders they read (util/webhook: affectedRevisionInfo; the annotation
// argocd.argoproj.io/manifest-generate-paths).
func (a *ArgoCD) Pushed(ctx context.Context, repoURL string, files []string) error {
	apps, err := a.client.Dynamic.Resource(kube.Applications).Namespace(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("a push to %s: %w", repoURL, err)
	}
	var errs []error
	for _, app := range apps.Items {
		if concerns(&app, repoURL, files) {
			errs = append(errs, a.Refresh(ctx, app.GetName(), false))
		}
	}
	return errors.Join(errs...)
}

func concerns(app *unstructured.Unstructured, repoURL string, files []string) bool {
	sources, _, _ := unstructured.NestedSlice(app.Object, "spec", "sources")
	if source, ok, _ := unstructured.NestedMap(app.Object, "spec", "source"); ok {
		sources = append(sources, source)
	}
	return slices.ContainsFunc(sources, func(source any) bool {
		fields, _ := source.(map[string]any)
		folder, _ := fields["path"].(string)
		return fields["repoURL"] == repoURL && slices.ContainsFunc(files, func(file string) bool {
			relative, err := filepath.Rel(folder, file)
			return err == nil && filepath.IsLocal(relative)
		})
	})
}

// RegisterCluster writes a cluster's Secret. The hub's own has the address InCluster and no
// credentials, as charts/generator-plugin writes it (templates/local-cluster.yaml).
func (a *ArgoCD) RegisterCluster(ctx context.Context, name string, c *controlplane.Cluster, labels, annotations map[string]string) error {
	server, config := c.URL, c.ArgoConfig()
	if c.URL == a.hub {
		server, config = InCluster, `{"tlsClientConfig":{"insecure":false}}`
	}
	secret := object("Secret", name, map[string]string{"name": encode(name), "server": encode(server), "config": encode(config)})
	secret.SetLabels(with(labels, secretTypeLabel, "cluster"))
	secret.SetAnnotations(with(annotations, nameAnnotation, name))
	if err := a.client.ApplyObject(ctx, Namespace, secret); err != nil {
		return fmt.Errorf("register cluster %s: %w", name, err)
	}
	return nil
}

// with is a fresh map.
func with(m map[string]string, key, value string) map[string]string {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]string{}
	}
	out[key] = value
	return out
}

// link makes the names by which the one binary chooses its command, and the commands that it finds
// in PATH.
func link(dir string, commands map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, path := range commands {
		file := filepath.Join(dir, name)
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return err
		}
		if err := os.Symlink(path, file); err != nil {
			return err
		}
	}
	return nil
}
