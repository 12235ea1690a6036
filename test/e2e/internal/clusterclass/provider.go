package clusterclass

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	orphan    func(*unstructured.Unstructured) bool
	status    func(ctx context.Context, p *ProviderStandIn, kind string, o *unstructured.Unstructured, synced bool) (map[string]any, error)
}

var ack = dialect{
	kinds:     map[string]schema.GroupVersionResource{"cluster": Clusters, "nodes": Nodegroups},
	finalizer: "finalizers.eks.services.k8s.aws/stand-in",
	version:   []string{"spec", "version"},
	orphan: func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()["services.k8s.aws/deletion-policy"] == "retain"
	},
	status: ackStatus,
}

// ProviderStandIn is a cloud in memory with its controller (rule 2).
type ProviderStandIn struct {
	Client *kube.Client
	// Crossplane says that the objects are those of Crossplane's provider-aws-eks, not ACK's.
	Crossplane bool
	// Endpoint is where a cluster's API server is, and its authority as PEM.
	Endpoint func(cluster string) (url string, authority []byte)
	// Token logs in to a cluster, which has a Secret CLUSTER-token beside it then; nil makes none.
	Token func(cluster string) string

	mu     sync.Mutex
	things map[string]string // "cluster c1" or "nodes c1" to its version
	stuck  map[string]bool
	events []string
}

// Events are what happened in the cloud, in order: "cluster c1 is on 1.31", "nodes c1 is gone", or
// what it refused.
func (p *ProviderStandIn) Events() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.events)
}

// Things are what the cloud has, by name, with their versions.
func (p *ProviderStandIn) Things() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.things)
}

// Stick keeps a thing of the cloud, such as "cluster c1", on its version, or lets it go on.
func (p *ProviderStandIn) Stick(thing string, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stuck == nil {
		p.stuck = map[string]bool{}
	}
	p.stuck[thing] = is
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

func (p *ProviderStandIn) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, fmt.Sprintf(format, args...))
}

func (p *ProviderStandIn) reconcile(ctx context.Context, kind string, o *unstructured.Unstructured) error {
	d := p.dialect()
	client := p.Client.Dynamic.Resource(d.kinds[kind]).Namespace(o.GetNamespace())
	if o.GetDeletionTimestamp() != nil {
		if !slices.Contains(o.GetFinalizers(), d.finalizer) || !p.remove(kind, o) {
			return nil
		}
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == d.finalizer }))
		_, err := client.Update(ctx, o, metav1.UpdateOptions{})
		return err
	}
	if !slices.Contains(o.GetFinalizers(), d.finalizer) {
		o.SetFinalizers(append(o.GetFinalizers(), d.finalizer))
		_, err := client.Update(ctx, o, metav1.UpdateOptions{})
		return err
	}
	status, err := d.status(ctx, p, kind, o, p.apply(kind, o))
	if err != nil || fmt.Sprint(o.Object["status"]) == fmt.Sprint(status) {
		return err
	}
	o.Object["status"] = status
	_, err = client.UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

// ackStatus is what ACK writes of an object.
func ackStatus(ctx context.Context, p *ProviderStandIn, kind string, o *unstructured.Unstructured, synced bool) (map[string]any, error) {
	status := map[string]any{"status": map[bool]string{true: "ACTIVE", false: "UPDATING"}[synced]}
	if kind == "cluster" {
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
	if p.Token == nil || p.Things()["cluster "+o.GetName()] == "" {
		return nil
	}
	token := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": o.GetName() + "-token"},
		"stringData": map[string]any{"token": p.Token(o.GetName())},
	}}
	return p.Client.ApplyObject(ctx, o.GetNamespace(), token)
}

// apply brings the cloud to what an object asks for: a change takes two steps. It reports whether
// the cloud was as asked for before.
func (p *ProviderStandIn) apply(kind string, o *unstructured.Unstructured) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.things == nil {
		p.things = map[string]string{}
	}
	if kind == connection {
		return p.things["cluster "+o.GetName()] != ""
	}
	thing := kind + " " + o.GetName()
	asked, _, _ := unstructured.NestedString(o.Object, p.dialect().version...)
	switch is := p.things[thing]; {
	case is == asked:
		return true
	case p.stuck[thing]:
		return false
	}
	if of := p.things["cluster "+o.GetName()]; kind == "nodes" && asked > of { // of one length here
		p.events = append(p.events, fmt.Sprintf("refused: %s on %s, its control plane is on %q", thing, asked, of))
		return false
	}
	p.things[thing] = asked
	p.events = append(p.events, fmt.Sprintf("%s is on %s", thing, asked))
	return false
}

// remove removes what an object stands for, unless it is to stay; a control plane with nodes is
// refused.
func (p *ProviderStandIn) remove(kind string, o *unstructured.Unstructured) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kind == connection || p.dialect().orphan(o) {
		return true
	}
	if _, has := p.things["nodes "+o.GetName()]; kind == "cluster" && has {
		if refused := "refused: cluster " + o.GetName() + " has nodes"; !slices.Contains(p.events, refused) {
			p.events = append(p.events, refused)
		}
		return false
	}
	delete(p.things, kind+" "+o.GetName())
	p.events = append(p.events, strings.Join([]string{kind, o.GetName(), "is gone"}, " "))
	return true
}
