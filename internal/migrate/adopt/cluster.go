package adopt

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var resources = map[string]schema.GroupVersionResource{
	kindApplication:    {Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"},
	kindApplicationSet: {Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"},
	kindRecord:         {Version: "v1", Resource: "configmaps"},
}

// Live is a Cluster behind an API server.
type Live struct {
	client    dynamic.Interface
	namespace string
}

// NewLive returns the cluster of a configuration, with Argo CD in a namespace.
func NewLive(config *rest.Config, namespace string) (*Live, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.UserAgent, config.Timeout = 100, 200, "argosy-adopt", time.Minute
	client, err := dynamic.NewForConfig(config)
	return &Live{client, namespace}, err
}

// Observe implements Cluster.
func (l *Live) Observe(ctx context.Context) (o Observed, err error) {
	if o.Sets, err = l.list(ctx, kindApplicationSet, ""); err != nil {
		return o, err
	}
	o.Applications, err = l.list(ctx, kindApplication, "")
	return o, err
}

// Records returns the records of all handovers by the ApplicationSet's name.
func (l *Live) Records(ctx context.Context) (map[string]*Record, error) {
	all, err := l.list(ctx, kindRecord, recordLabel)
	if err != nil {
		return nil, err
	}
	out := map[string]*Record{}
	for _, m := range all {
		r, err := ReadRecord(m)
		if err != nil {
			return nil, err
		}
		out[r.Name()] = r
	}
	return out, nil
}

// list returns the objects of a kind by name.
func (l *Live) list(ctx context.Context, kind, selector string) (map[string]*Object, error) {
	out := map[string]*Object{}
	o := metav1.ListOptions{Limit: 500, LabelSelector: selector}
	for {
		page, err := l.of(kind).List(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("list %s in namespace %q: %w", resources[kind].Resource, l.namespace, err)
		}
		for i := range page.Items {
			out[page.Items[i].GetName()] = &page.Items[i]
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return out, nil
		}
	}
}

func (l *Live) of(kind string) dynamic.ResourceInterface {
	return l.client.Resource(resources[kind]).Namespace(l.namespace)
}

// Do implements Cluster.
func (l *Live) Do(ctx context.Context, a Action) (err error) {
	o, api := a.Object, l.of(a.Object.GetKind())
	switch a.Verb {
	case verbCreate:
		_, err = api.Create(ctx, o, metav1.CreateOptions{})
	case verbUpdate:
		_, err = api.Update(ctx, o, metav1.UpdateOptions{})
	case verbDelete:
		uid, version, orphan := o.GetUID(), o.GetResourceVersion(), metav1.DeletePropagationOrphan
		err = api.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &orphan, Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	}
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return ErrConflict
	}
	return fmt.Errorf("%s %s %q: %w", a.Verb, o.GetKind(), o.GetName(), err)
}

// Write implements Cluster.
func (l *Live) Write(ctx context.Context, r *Record) error {
	m, err := r.ConfigMap(l.namespace)
	switch {
	case err != nil:
	case r.Undo && r.Done:
		if err = l.of(kindRecord).Delete(ctx, m.GetName(), metav1.DeleteOptions{}); apierrors.IsNotFound(err) {
			err = nil
		}
	default:
		_, err = l.of(kindRecord).Apply(ctx, m.GetName(), m, metav1.ApplyOptions{FieldManager: "argosy-adopt", Force: true})
	}
	if err != nil {
		return fmt.Errorf("write the record %q: %w", RecordName(r.Name()), err)
	}
	return nil
}
