// Package kube talks to an API server about objects of any kind: manifests are applied as kubectl
// apply --server-side does, and objects are read, watched and deleted by the names that people use
// for their kinds.
package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	fieldManager = "argosy-e2e"
	// establish is how long a custom resource's API may take to appear after its definition.
	establish = 2 * time.Minute
)

// Client is an API server and what it serves. Its methods may be called concurrently.
type Client struct {
	Config  *rest.Config
	Typed   kubernetes.Interface
	Dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// New makes a client; nothing is asked of the API server yet.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 200, 400
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery()))
	return &Client{Config: config, Typed: typed, Dynamic: dyn, mapper: mapper}, nil
}

// Decode reads YAML documents; empty ones are left out.
func Decode(manifests []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	var out []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("manifest %d: %w", len(out)+1, err)
		case len(o.Object) > 0:
			out = append(out, o)
		}
	}
}

// Template renders a chart by the helm program at a path, with home as its home folder, and decodes
// what it renders. args follow "helm template"; an error carries what Helm says.
func Template(ctx context.Context, program, home string, args ...string) ([]*unstructured.Unstructured, error) {
	helm := exec.CommandContext(ctx, program, append([]string{"template"}, args...)...)
	helm.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	manifests, err := helm.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("helm template: %s", exit.Stderr)
	} else if err != nil {
		return nil, err
	}
	return Decode(manifests)
}

// Apply creates or changes what the manifests describe, in their order. Objects without a namespace
// go to the one given, where their kind has namespaces. Kinds whose definition has only just been
// applied are waited for.
func (c *Client) Apply(ctx context.Context, namespace string, manifests []byte) error {
	objects, err := Decode(manifests)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := c.ApplyObject(ctx, namespace, o); err != nil {
			return err
		}
	}
	return nil
}

// ApplyObject is Apply for one object.
func (c *Client) ApplyObject(ctx context.Context, namespace string, o *unstructured.Unstructured) error {
	_, err := c.apply(ctx, namespace, o, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// WouldBe is what an object would be if a manager applied it, which does not happen.
func (c *Client) WouldBe(ctx context.Context, manager string, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.apply(ctx, "", o, metav1.PatchOptions{FieldManager: manager, DryRun: []string{metav1.DryRunAll}})
}

// apply takes over what others have set.
func (c *Client) apply(ctx context.Context, namespace string, o *unstructured.Unstructured, how metav1.PatchOptions) (*unstructured.Unstructured, error) {
	resource, err := c.resource(ctx, o.GroupVersionKind(), namespace, o)
	if err != nil {
		return nil, err
	}
	data, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	force := true
	how.Force = &force
	out, err := resource.Patch(ctx, o.GetName(), types.ApplyPatchType, data, how)
	if err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return out, nil
}

// resource finds the endpoint of a kind, waiting for it if it is not served yet.
func (c *Client) resource(ctx context.Context, kind schema.GroupVersionKind, namespace string, o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	var mapping *meta.RESTMapping
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, establish, true, func(context.Context) (bool, error) {
		m, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			c.mapper.Reset()
			return false, nil
		}
		mapping = m
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("the API server does not serve %s: %w", kind, err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return c.Dynamic.Resource(mapping.Resource), nil
	}
	if o != nil && o.GetNamespace() != "" {
		namespace = o.GetNamespace()
	}
	return c.Dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// Namespace makes sure that a namespace exists.
func (c *Client) Namespace(ctx context.Context, name string) error {
	return c.Apply(ctx, "", fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", name))
}

// Resources of what the demo looks at.
var (
	Applications    = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	ApplicationSets = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"}
	AppProjects     = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}
	ExternalSecrets = schema.GroupVersionResource{Group: "external-secrets.io", Version: "v1", Resource: "externalsecrets"}
	ConfigMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	Secrets         = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	Deployments     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// Get is one object, nil when there is none.
func (c *Client) Get(ctx context.Context, r schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	o, err := c.Dynamic.Resource(r).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nothing there is an answer
	}
	return o, err
}

// List is all objects of a kind in a namespace ("" is all), by name.
func (c *Client) List(ctx context.Context, r schema.GroupVersionResource, namespace, selector string) (map[string]*unstructured.Unstructured, error) {
	list, err := c.Dynamic.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	out := make(map[string]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[list.Items[i].GetName()] = &list.Items[i]
	}
	return out, nil
}

// Delete deletes an object, and by the policy what it owns; one that is gone already is no error.
func (c *Client) Delete(ctx context.Context, r schema.GroupVersionResource, namespace, name string, policy metav1.DeletionPropagation) error {
	err := c.Dynamic.Resource(r).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// ByKind are the objects of one kind.
func ByKind(objects []*unstructured.Unstructured, kind string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetKind() != kind })
}

// Same is an object as it is there; nil where it is not.
func (c *Client) Same(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := c.resource(ctx, o.GroupVersionKind(), o.GetNamespace(), o)
	if err != nil {
		return nil, err
	}
	found, err := resource.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}
