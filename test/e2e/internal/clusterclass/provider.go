package clusterclass

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// Resources of ACK.
var (
	Clusters   = schema.GroupVersionResource{Group: "eks.services.k8s.aws", Version: "v1alpha1", Resource: "clusters"}
	Nodegroups = schema.GroupVersionResource{Group: "eks.services.k8s.aws", Version: "v1alpha1", Resource: "nodegroups"}
)

const interval = 200 * time.Millisecond

// A dialect is how the objects of a provider ask for something, and what their status says.
type dialect struct {
	kinds     map[string]schema.GroupVersionResource // of things of the cloud, by their kinds there
	finalizer string
	version   []string // of an object: the version that it asks for
	asked     []string // of an object: all that it asks for
	orphan    func(*unstructured.Unstructured) bool
	// prepare returns an error where an object cannot be asked for yet, and changes its
	// specification where it can complete it.
	prepare func(ctx context.Context, p *ProviderStandIn, kind string, o *unstructured.Unstructured) (changed bool, err error)
	status  func(ctx context.Context, p *ProviderStandIn, kind string, o *unstructured.Unstructured, is *thing, synced bool, problem error) (map[string]any, error)
}

var ack = dialect{
	kinds:     map[string]schema.GroupVersionResource{clusterThing: Clusters, nodesThing: Nodegroups},
	finalizer: "finalizers.eks.services.k8s.aws/stand-in",
	version:   []string{"spec", "version"},
	asked:     []string{"spec"},
	orphan: func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()["services.k8s.aws/deletion-policy"] == "retain"
	},
	prepare: func(context.Context, *ProviderStandIn, string, *unstructured.Unstructured) (bool, error) {
		return false, nil
	},
	status: ackStatus,
}

// ProviderStandIn stands in for the provider of one cluster: the controllers that make in the cloud
// what objects ask for (rule 2).
type ProviderStandIn struct {
	*Cloud

	Client *kube.Client
	// Crossplane says that the objects are those of Crossplane's provider of AWS, not ACK's.
	Crossplane bool

	mu       sync.Mutex
	services map[string]string // Crossplane's packages that run, with their ServiceAccounts
	logins   map[string]login
}

// Serve has the stand-in be the package of a service, under a ServiceAccount. With Crossplane it is
// none before.
func (p *ProviderStandIn) Serve(service, account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.services == nil {
		p.services = map[string]string{}
	}
	p.services[service] = account
}

// account is the ServiceAccount of a service's package, and whether it runs.
func (p *ProviderStandIn) account(service string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	account, is := p.services[service]
	return account, is
}

// Start runs the controller until the returned function is called, which waits for its end.
func (p *ProviderStandIn) Start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			for kind := range p.dialect().kinds {
				p.reconcileAll(ctx, kind)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() { cancel(); running.Wait() }
}

func (p *ProviderStandIn) dialect() dialect {
	if p.Crossplane {
		return upjet
	}
	return ack
}

// reconcileAll takes one step with each object; what fails is tried again with the next.
func (p *ProviderStandIn) reconcileAll(ctx context.Context, kind string) {
	if _, runs := p.account(upjetKinds[kind].service); p.Crossplane && !runs {
		return
	}
	list, err := p.Client.Dynamic.Resource(p.dialect().kinds[kind]).List(ctx, metav1.ListOptions{})
	if err != nil {
		return // the kinds are not there yet, or the API server is away
	}
	for i := range list.Items {
		o := &list.Items[i]
		if err := p.reconcile(ctx, kind, o); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			p.note("%s %s: %v", kind, o.GetName(), err)
		}
	}
}

func (p *ProviderStandIn) reconcile(ctx context.Context, kind string, o *unstructured.Unstructured) error {
	d := p.dialect()
	client := p.Client.Dynamic.Resource(d.kinds[kind]).Namespace(o.GetNamespace())
	if o.GetDeletionTimestamp() != nil {
		if !slices.Contains(o.GetFinalizers(), d.finalizer) || kind != connectionThing && !d.orphan(o) && !p.remove(kind, o.GetName()) {
			return nil
		}
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == d.finalizer }))
		_, err := client.Update(ctx, o, metav1.UpdateOptions{})
		return err
	}
	changed, problem := d.prepare(ctx, p, kind, o)
	if !slices.Contains(o.GetFinalizers(), d.finalizer) {
		o.SetFinalizers(append(o.GetFinalizers(), d.finalizer))
		changed = true
	}
	if changed {
		_, err := client.Update(ctx, o, metav1.UpdateOptions{})
		return err
	}
	is, synced := p.thing(kind, o.GetName()), false
	switch {
	case kind == connectionThing: // which is nothing of the cloud's
		synced = p.thing(clusterThing, o.GetName()) != nil
	case problem == nil:
		version, _, _ := unstructured.NestedString(o.Object, d.version...)
		asked, _, _ := unstructured.NestedMap(o.Object, d.asked...)
		is, synced = p.apply(kind, o.GetName(), version, asked)
	}
	status, err := d.status(ctx, p, kind, o, is, synced, problem)
	if err != nil || fmt.Sprint(o.Object["status"]) == fmt.Sprint(status) {
		return err
	}
	o.Object["status"] = status
	_, err = client.UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

// ackStatus is what ACK writes of an object.
func ackStatus(ctx context.Context, p *ProviderStandIn, kind string, o *unstructured.Unstructured, _ *thing, synced bool, _ error) (map[string]any, error) {
	status := map[string]any{"status": map[bool]string{true: "ACTIVE", false: "UPDATING"}[synced]}
	if kind == clusterThing {
		if err := p.writeToken(ctx, o); err != nil {
			return nil, err
		}
		url, authority := p.Endpoint(o.GetName())
		status["endpoint"], status["certificateAuthority"] = url, map[string]any{"data": base64.StdEncoding.EncodeToString(authority)}
	}
	status["conditions"] = []any{map[string]any{"type": "ACK.ResourceSynced", "status": map[bool]string{true: "True", false: "False"}[synced]}}
	return status, nil
}

// writeToken writes what logs in to a cluster that is as it was asked for.
func (p *ProviderStandIn) writeToken(ctx context.Context, o *unstructured.Unstructured) error {
	if p.Token == nil || p.thing(clusterThing, o.GetName()) == nil {
		return nil
	}
	token := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": o.GetName() + "-token"},
		"stringData": map[string]any{"token": p.Token(o.GetName())},
	}}
	return p.Client.ApplyObject(ctx, o.GetNamespace(), token)
}
