package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/base/store"
)

// configMaps is the resource with a name for texts.
func configMaps(what string, isMetadata bool) resource {
	return resource{GroupVersion: schema.GroupVersion{Version: "v1"}, plural: "configmaps", kind: "ConfigMap", what: what, isMetadata: isMetadata}
}

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
	prefix        string
	values, names *client // of whole ConfigMaps, and of their metadata
}

// stateMap is the part of a ConfigMap that holds state.
type stateMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	BinaryData map[string][]byte `json:"binaryData"`
}

// NewStateObjects makes StateObjects. It sends no request. Replicas have the same prefix.
func NewStateObjects(config *rest.Config, namespace, prefix string) (*StateObjects, error) {
	if namespace == "" || prefix == "" {
		return nil, errors.New("kubernetes: state needs a namespace and a prefix")
	}
	o := Options{Config: config, Namespace: namespace}.within(stateTimeout)
	values, err := newClient(o, configMaps("state", false))
	if err != nil {
		return nil, err
	}
	names := *values
	names.isMetadata = true
	return &StateObjects{prefix, values, &names}, nil
}

// String returns the place of the state.
func (s *StateObjects) String() string {
	return fmt.Sprintf("ConfigMaps %s-* in namespace %q", s.prefix, s.values.namespace)
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
	return s.values.short(err, s.values.permission(verb))
}

// MaxSize returns the limit of a ConfigMap's data.
func (s *StateObjects) MaxSize() int { return maxContent }

// Shared returns true: each replica writes to the same ConfigMaps.
func (s *StateObjects) Shared() bool { return true }

// Get returns an object. Package store reports an object without content as damaged.
func (s *StateObjects) Get(ctx context.Context, name string) ([]byte, string, error) {
	var m stateMap
	err := s.values.send(ctx, s.values.request("GET", false).Name(s.name(name)), &m)
	return m.BinaryData[contentKey], m.ResourceVersion, s.failed("get", err)
}

// Put creates or replaces an object.
func (s *StateObjects) Put(ctx context.Context, name string, data []byte, version string) (string, error) {
	content, err := json.Marshal(stateMap{
		metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		metav1.ObjectMeta{Name: s.name(name), Namespace: s.values.namespace, ResourceVersion: version, Labels: map[string]string{stateLabel: s.prefix, managedByLabel: "argosy"}},
		map[string][]byte{contentKey: data},
	})
	if err != nil {
		return "", err
	}
	verb, q := "create", s.values.request("POST", false)
	if version != "" {
		verb, q = "update", s.values.request("PUT", false).Name(s.name(name))
	}
	var m stateMap
	err = s.values.send(ctx, q.Param("fieldManager", "argosy").SetHeader("Content-Type", runtime.ContentTypeJSON).Body(content), &m)
	if err = s.failed(verb, err); version != "" && errors.Is(err, store.ErrNotFound) {
		err = store.ErrConflict // another process has removed it
	}
	return m.ResourceVersion, err
}

// Delete removes an object, if it exists.
func (s *StateObjects) Delete(ctx context.Context, name string) error {
	err := s.failed("delete", s.values.request("DELETE", false).Name(s.name(name)).Do(ctx).Error())
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// List returns the names of all objects of the prefix. It requests only metadata.
func (s *StateObjects) List(ctx context.Context) ([]string, error) {
	var out []string
	_, err := list(ctx, s.names, stateLabel+"="+s.prefix, func(o *object) {
		if name, is := strings.CutPrefix(o.Name, s.prefix+"-"); is {
			out = append(out, name)
		}
	})
	return out, s.failed("list", err)
}
