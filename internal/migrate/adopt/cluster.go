package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
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
		set := manifest.Text(m, "data", "applicationSet")
		if set == "" {
			continue // a further part
		}
		if out[set], err = ReadRecord(set, all); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// list returns the objects of a kind by name.
func (l *Live) list(ctx context.Context, kind, selector string) (map[string]Tree, error) {
	out := map[string]Tree{}
	o := metav1.ListOptions{Limit: 500, LabelSelector: selector}
	for {
		page, err := l.of(kind).List(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("list %s in namespace %q: %w", resources[kind].Resource, l.namespace, err)
		}
		for _, item := range page.Items {
			out[item.GetName()] = item.Object
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
func (l *Live) Do(ctx context.Context, r *Record, a Action) error {
	switch a.Verb {
	case verbRecord:
		return l.Write(ctx, r)
	case verbForget:
		return l.forget(ctx, r, "")
	}
	var err error
	name := nameOf(a.Object)
	switch o, decoded := objectOf(a.Object); {
	case decoded != nil:
		err = decoded
	case a.Verb == verbCreate:
		_, err = l.of(a.Kind).Create(ctx, o, metav1.CreateOptions{})
	case a.Verb == verbUpdate:
		_, err = l.of(a.Kind).Update(ctx, o, metav1.UpdateOptions{})
	case a.Verb == verbDelete:
		uid, version, orphan := o.GetUID(), o.GetResourceVersion(), metav1.DeletePropagationOrphan
		err = l.of(a.Kind).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &orphan, Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	}
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return ErrConflict
	}
	return fmt.Errorf("%s %s %q: %w", a.Verb, a.Kind, name, err)
}

// Write writes a record, and removes parts of an earlier record.
func (l *Live) Write(ctx context.Context, r *Record) error {
	maps, err := r.ConfigMaps(l.namespace)
	if err != nil {
		return err
	}
	for _, m := range maps {
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		force := true
		if _, err := l.of(kindRecord).Patch(ctx, nameOf(m), types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: "argosy-adopt", Force: &force}); err != nil {
			return fmt.Errorf("write the record %q: %w", nameOf(m), err)
		}
	}
	return l.forget(ctx, r, manifest.Text(maps[0], "data", "digest"))
}

// forget deletes the parts of records except the parts of a digest.
func (l *Live) forget(ctx context.Context, r *Record, but string) error {
	all, err := l.list(ctx, kindRecord, recordLabel+"="+r.label())
	if err != nil {
		return err
	}
	for _, m := range sortedValues(all) {
		if but == "" || manifest.Text(m, "data", "digest") != but {
			if err := l.of(kindRecord).Delete(ctx, nameOf(m), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("delete the record %q: %w", nameOf(m), err)
			}
		}
	}
	return nil
}

// Denied returns the permissions that a handover needs and the user lacks.
func (l *Live) Denied(ctx context.Context) ([]string, error) {
	var out []string
	reviews := l.client.Resource(schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"})
	for _, need := range []struct {
		kind  string
		verbs []string
	}{
		{kindApplication, []string{"list", "create", "update", "delete"}},
		{kindApplicationSet, []string{"list", "create", "update", "delete"}},
		{kindRecord, []string{"list", "create", "patch", "delete"}},
	} {
		for _, verb := range need.verbs {
			r := resources[need.kind]
			answer, err := reviews.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
				"spec": map[string]any{"resourceAttributes": map[string]any{"namespace": l.namespace, "verb": verb, "group": r.Group, "resource": r.Resource}},
			}}, metav1.CreateOptions{})
			if err != nil {
				return nil, fmt.Errorf("ask for permissions: %w", err)
			}
			if allowed, _ := manifest.At(answer.Object, "status", "allowed").(bool); !allowed {
				out = append(out, verb+" "+r.GroupResource().String())
			}
		}
	}
	return out, nil
}

// objectOf converts a tree to an object with the types of the API's own decoder.
func objectOf(t Tree) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	return out, out.UnmarshalJSON(manifest.Canonical(t))
}
