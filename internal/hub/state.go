package hub

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/state"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// Labels of the ConfigMaps that hold state. Those of one service have the same stateLabel.
const (
	stateLabel      = "argosy.dev/state"
	recordLabel     = "argosy.dev/state-record"
	generationLabel = "argosy.dev/state-generation"
	chunkLabel      = "argosy.dev/state-chunk"
	managedByLabel  = "app.kubernetes.io/managed-by"

	// contentKey holds an object's data.
	contentKey = "content"
	// stateTimeout bounds each request for state.
	stateTimeout = 10 * time.Second
)

// StateObjects are the ConfigMaps of one namespace that hold state: their names begin with a prefix
// (rule 12).
type StateObjects struct {
	prefix, namespace string
	values            dynamic.ResourceInterface
	names             metadata.ResourceInterface
}

// NewStateObjects sends no request yet. Replicas have the same prefix.
func NewStateObjects(config *rest.Config, namespace, prefix string) (*StateObjects, error) {
	if namespace == "" || prefix == "" {
		return nil, errors.New("kubernetes: state needs a namespace and a prefix")
	}
	config = stateOnly(config, namespace, prefix)
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

// String names the place of the state.
func (s *StateObjects) String() string {
	return fmt.Sprintf("ConfigMaps %s-* in namespace %q", s.prefix, s.namespace)
}

func (s *StateObjects) name(name string) string { return s.prefix + "-" + name }

// failed turns an error into one of package state, or shortens it.
func (s *StateObjects) failed(verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return state.ErrNotFound
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return state.ErrConflict
	}
	f := follower{followed: followed{what: "state", namespace: s.namespace}}
	return f.short(err, verb+" on configmaps")
}

// Get returns an object.
func (s *StateObjects) Get(ctx context.Context, name string) (state.Object, error) {
	u, err := s.values.Get(ctx, s.name(name), metav1.GetOptions{})
	if err != nil {
		return state.Object{}, s.failed("get", err)
	}
	o := s.object(u.GetName(), u.GetResourceVersion(), u.GetLabels())
	o.Meta, _, err = unstructured.NestedStringMap(u.Object, "data")
	if err != nil { // a foreign ConfigMap
		o.Meta = nil
	}
	text, _, _ := unstructured.NestedString(u.Object, "binaryData", contentKey)
	if o.Data, err = base64.StdEncoding.DecodeString(text); err != nil {
		o.Data = nil // its checksum will not be right
	}
	return o, nil
}

// object reads the labels of a ConfigMap. Package state reports missing ones as damage.
func (s *StateObjects) object(name, version string, labels map[string]string) state.Object {
	o := state.Object{Name: strings.TrimPrefix(name, s.prefix+"-"), Version: version, Record: labels[recordLabel], Chunk: -1}
	o.Generation, _ = strconv.Atoi(labels[generationLabel])
	if n, err := strconv.Atoi(labels[chunkLabel]); err == nil {
		o.Chunk = n
	}
	return o
}

// Put creates or replaces an object.
func (s *StateObjects) Put(ctx context.Context, o state.Object) (string, error) {
	labels := map[string]any{
		stateLabel: s.prefix, recordLabel: o.Record, generationLabel: strconv.Itoa(o.Generation), managedByLabel: "argosy",
	}
	content := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"binaryData": map[string]any{contentKey: base64.StdEncoding.EncodeToString(o.Data)},
	}
	if o.Chunk >= 0 {
		labels[chunkLabel] = strconv.Itoa(o.Chunk)
		content["immutable"] = true
	}
	if len(o.Meta) > 0 {
		data := map[string]any{}
		for k, v := range o.Meta {
			data[k] = v
		}
		content["data"] = data
	}
	meta := map[string]any{"name": s.name(o.Name), "namespace": s.namespace, "labels": labels}
	content["metadata"] = meta
	if o.Version == "" {
		u, err := s.values.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{FieldManager: "argosy"})
		if err != nil {
			return "", s.failed("create", err)
		}
		return u.GetResourceVersion(), nil
	}
	meta["resourceVersion"] = o.Version
	u, err := s.values.Update(ctx, &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{FieldManager: "argosy"})
	if errors.Is(s.failed("update", err), state.ErrNotFound) {
		return "", state.ErrConflict // another process has removed it
	}
	if err != nil {
		return "", s.failed("update", err)
	}
	return u.GetResourceVersion(), nil
}

// Delete removes an object, if it exists.
func (s *StateObjects) Delete(ctx context.Context, name string) error {
	err := s.failed("delete", s.values.Delete(ctx, s.name(name), metav1.DeleteOptions{}))
	if errors.Is(err, state.ErrNotFound) {
		return nil
	}
	return err
}

// List returns all objects of the prefix, by their metadata alone.
func (s *StateObjects) List(ctx context.Context) ([]state.Object, error) {
	list, err := s.names.List(ctx, metav1.ListOptions{LabelSelector: stateLabel + "=" + s.prefix})
	if err != nil {
		return nil, s.failed("list", err)
	}
	var out []state.Object
	for i := range list.Items {
		m := &list.Items[i]
		if strings.HasPrefix(m.Name, s.prefix+"-") {
			out = append(out, s.object(m.Name, m.ResourceVersion, m.Labels))
		}
	}
	return out, nil
}

// stateOnly returns a configuration that reaches the ConfigMaps of one namespace whose names begin
// with a prefix, and lists those that have its label. RBAC can say neither.
func stateOnly(c *rest.Config, namespace, prefix string) *rest.Config {
	collection := path.Join("/api/v1/namespaces", namespace, configMaps.Resource)
	return guarded(c, func(next http.RoundTripper) http.RoundTripper { return stateful{collection, prefix, next} })
}

type stateful struct {
	collection, prefix string
	next               http.RoundTripper
}

func (s stateful) RoundTrip(q *http.Request) (*http.Response, error) {
	one := strings.HasSuffix(path.Dir(q.URL.Path), s.collection) && strings.HasPrefix(path.Base(q.URL.Path), s.prefix+"-")
	all := strings.HasSuffix(q.URL.Path, s.collection)
	switch {
	case one && (q.Method == http.MethodGet || q.Method == http.MethodPut || q.Method == http.MethodDelete):
	case all && q.Method == http.MethodPost:
	case all && q.Method == http.MethodGet && q.URL.Query().Get("labelSelector") == stateLabel+"="+s.prefix:
	default:
		return nil, fmt.Errorf("only requests for state are allowed: %s %s", q.Method, q.URL.Path)
	}
	return s.next.RoundTrip(q)
}
