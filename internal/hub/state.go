package hub

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/base/store"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

const (
	// stateLabel names the service whose state a ConfigMap holds.
	stateLabel     = "argosy.dev/state"
	managedByLabel = "app.kubernetes.io/managed-by"

	// contentKey holds an object's data.
	contentKey = "content"
	// maxContent bounds the data in one ConfigMap, which the API server limits to 1 MiB.
	maxContent = 768 << 10
	// stateTimeout bounds each request for state.
	stateTimeout = 10 * time.Second
)

// StateObjects stores state in ConfigMaps of one namespace whose names begin with a prefix.
type StateObjects struct {
	prefix, namespace string
	values            dynamic.ResourceInterface
	names             metadata.ResourceInterface
}

// NewStateObjects makes StateObjects. It sends no request. Replicas have the same prefix.
func NewStateObjects(config *rest.Config, namespace, prefix string) (*StateObjects, error) {
	if namespace == "" || prefix == "" {
		return nil, errors.New("kubernetes: state needs a namespace and a prefix")
	}
	config = named(config)
	config.Timeout = stateTimeout
	values, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	names, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &StateObjects{
		prefix: prefix, namespace: namespace,
		values: values.Resource(configMaps).Namespace(namespace), names: names.Resource(configMaps).Namespace(namespace),
	}, nil
}

// String returns the place of the state.
func (s *StateObjects) String() string {
	return fmt.Sprintf("ConfigMaps %s-* in namespace %q", s.prefix, s.namespace)
}

func (s *StateObjects) name(name string) string { return s.prefix + "-" + name }

// failed turns an error into one of package store, or shortens it.
func (s *StateObjects) failed(verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return store.ErrNotFound
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return store.ErrConflict
	}
	f := follower{followed: followed{what: "state", namespace: s.namespace}}
	return f.short(err, verb+" on configmaps")
}

// MaxSize returns the limit of a ConfigMap's data.
func (s *StateObjects) MaxSize() int { return maxContent }

// Shared returns true: each replica writes to the same ConfigMaps.
func (s *StateObjects) Shared() bool { return true }

// Get returns an object. Package store reports an object without content as damaged.
func (s *StateObjects) Get(ctx context.Context, name string) ([]byte, string, error) {
	u, err := s.values.Get(ctx, s.name(name), metav1.GetOptions{})
	if err != nil {
		return nil, "", s.failed("get", err)
	}
	text, _, _ := unstructured.NestedString(u.Object, "binaryData", contentKey)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		data = nil
	}
	return data, u.GetResourceVersion(), nil
}

// Put creates or replaces an object.
func (s *StateObjects) Put(ctx context.Context, name string, data []byte, version string) (string, error) {
	meta := map[string]any{
		"name": s.name(name), "namespace": s.namespace, "labels": map[string]any{stateLabel: s.prefix, managedByLabel: "argosy"},
	}
	content := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta,
		"binaryData": map[string]any{contentKey: base64.StdEncoding.EncodeToString(data)},
	}}
	verb, write := "create", func() (*unstructured.Unstructured, error) {
		return s.values.Create(ctx, content, metav1.CreateOptions{FieldManager: "argosy"})
	}
	if version != "" {
		meta["resourceVersion"] = version
		verb, write = "update", func() (*unstructured.Unstructured, error) {
			return s.values.Update(ctx, content, metav1.UpdateOptions{FieldManager: "argosy"})
		}
	}
	u, err := write()
	if err = s.failed(verb, err); version != "" && errors.Is(err, store.ErrNotFound) {
		err = store.ErrConflict // another process has removed it
	}
	if err != nil {
		return "", err
	}
	return u.GetResourceVersion(), nil
}

// Delete removes an object, if it exists.
func (s *StateObjects) Delete(ctx context.Context, name string) error {
	err := s.failed("delete", s.values.Delete(ctx, s.name(name), metav1.DeleteOptions{}))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// List returns the names of all objects of the prefix. It requests only metadata.
func (s *StateObjects) List(ctx context.Context) ([]string, error) {
	list, err := s.names.List(ctx, metav1.ListOptions{LabelSelector: stateLabel + "=" + s.prefix})
	if err != nil {
		return nil, s.failed("list", err)
	}
	var out []string
	for i := range list.Items {
		if name, is := strings.CutPrefix(list.Items[i].Name, s.prefix+"-"); is {
			out = append(out, name)
		}
	}
	return out, nil
}
