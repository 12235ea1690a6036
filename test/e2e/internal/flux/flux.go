// Package flux runs Flux's controllers on a cluster: source-controller, kustomize-controller and
// helm-controller, each a process of this machine.
//
//  1. The CRDs are those of the controllers' releases, which Start applies, or waits for where
//     somebody else delivers them (Options.Delivered). There is no notification-controller: events
//     go to the API server alone, and a push is noticed after Reconcile or else at the source's
//     interval.
//  2. All that listens does so on 127.0.0.1. source-controller gives the controllers artifacts'
//     addresses, which has the same port after each Restart, and its artifacts too: they are in
//     Options.Dir.
//  3. A cluster may have its own Flux or be deployed to from another's (spec.kubeConfig), and
//     several of them may run at once: processes are named after the cluster.
//  4. What the controllers may do is what the user of their kubeconfig may, unless an object names
//     a service account.
//  5. What takes minutes on a large cluster takes seconds here: what failed is tried again within
//     10 seconds, what waits for another object within 3. But what a Kustomization with `wait` or a
//     HelmRelease deployed is looked at every 5 seconds until it is ready, for which the
//     controllers have no flag.
package flux

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// Namespace is Flux's on each cluster.
const Namespace = "flux-system"

// Resources of Flux.
var (
	GitRepositories  = resource("source", "v1", "gitrepositories")
	OCIRepositories  = resource("source", "v1", "ocirepositories")
	HelmRepositories = resource("source", "v1", "helmrepositories")
	HelmCharts       = resource("source", "v1", "helmcharts")
	Kustomizations   = resource("kustomize", "v1", "kustomizations")
	HelmReleases     = resource("helm", "v2", "helmreleases")
)

func resource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group + ".toolkit.fluxcd.io", Version: version, Resource: name}
}

// Commands of the controllers.
const (
	sourceController    = "source-controller"
	kustomizeController = "kustomize-controller"
	helmController      = "helm-controller"
)

// Components are what component.Build has to be asked for.
func Components() []string {
	return []string{flux}
}

// flux is the component with all the controllers.
const flux = "flux"

// Options say what to run and where. All up to Dir are required.
type Options struct {
	Binaries component.Binaries // with Components
	Group    *process.Group
	Cluster  *controlplane.Cluster
	Client   *kube.Client // of the cluster's administrator
	Dir      string       // for artifacts and temporary files; not shared with another Flux

	Kubeconfig string // the controllers'; the default is the cluster's administrator's
	Concurrent int    // Kustomizations, and HelmReleases, reconciled at once; the default is 4
	Delivered  bool   // namespace and CRDs come from elsewhere

	// HTTPProxy is where source-controller asks for what is not on 127.0.0.1: there is no DNS of a
	// cluster here that would know a Service's name.
	HTTPProxy string
}

// Flux is what runs. Each of its processes may be killed and restarted.
type Flux struct {
	Source, Kustomize, Helm *process.Process
	Versions                map[string]string // of the controllers, by their commands

	client *kube.Client
}

// Start installs Flux on the cluster and starts its controllers. They end with the group; a Start
// that failed may have left some of them there.
func Start(ctx context.Context, o Options) (*Flux, error) {
	f := &Flux{client: o.Client}
	if err := f.start(ctx, o); err != nil {
		return nil, fmt.Errorf("flux on %s: %w", o.Cluster.Name, err)
	}
	return f, nil
}

func (f *Flux) start(ctx context.Context, o Options) error {
	if o.Client == nil || o.Dir == "" {
		return errors.New("Options.Client and Options.Dir are required")
	}
	s, err := prepare(o)
	if err != nil {
		return err
	}
	f.Versions = s.versions
	if err := f.install(ctx, o); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	return f.run(ctx, s)
}

// Processes are the controllers, those first that others connect to.
func (f *Flux) Processes() []*process.Process {
	return []*process.Process{f.Source, f.Kustomize, f.Helm}
}

// requestedAt is the annotation `flux reconcile` sets (fluxcd/pkg/apis/meta:
// ReconcileRequestAnnotation).
const requestedAt = "reconcile.fluxcd.io/requestedAt"

// Reconcile has an object of Flux reconciled now: a source looks for what is new, and what depends
// on it follows by itself. There being no such object is no error: it is reconciled when it is
// made.
func (f *Flux) Reconcile(ctx context.Context, r schema.GroupVersionResource, namespace, name string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, requestedAt, time.Now().UTC().Format(time.RFC3339Nano))
	_, err := f.client.Dynamic.Resource(r).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reconcile %s %s/%s: %w", r.Resource, namespace, name, err)
	}
	return nil
}
