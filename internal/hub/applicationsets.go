package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

const (
	// refreshAnnotation makes Argo CD's ApplicationSet controller query its generators at once; it
	// removes the annotation at the end of the reconciliation (argo-cd v2.14, common/common.go).
	refreshAnnotation = "argocd.argoproj.io/application-set-refresh"
	// refreshedAtAnnotation makes each of our patches change the object. Otherwise a second patch
	// could find the first annotation still there and change nothing. The controller, which has
	// already sent its queries, would then remove it. With the change, the controller's update
	// conflicts, and it reconciles again (applicationset_controller.go, Reconcile and
	// shouldRequeueForApplicationSet).
	refreshedAtAnnotation = "argosy.dev/refreshed-at"

	mergePatch = types.MergePatchType

	// patchRate bounds the requests of the client that changes ApplicationSets, per second.
	patchRate = 10
)

var applicationSets = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"}

// ApplicationSets watches the ApplicationSets of one namespace.
type ApplicationSets struct {
	client    dynamic.ResourceInterface
	configMap string
	follower  *follower
	changed   atomic.Pointer[func()]
}

// NewApplicationSets watches the ApplicationSets whose plugin generator names a ConfigMap. It sends
// no request before Run.
func NewApplicationSets(o Options, configMap string) (*ApplicationSets, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	config := named(o.Config)
	config.QPS, config.Burst = patchRate, patchRate
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	a := &ApplicationSets{client: client.Resource(applicationSets).Namespace(o.Namespace), configMap: configMap}
	a.follower, err = newFollower(a.client, followed{
		what: "applicationsets", permission: "list, watch and patch on applicationsets.argoproj.io", namespace: o.Namespace, log: o.Log,
		expected: &unstructured.Unstructured{},
		trim:     a.trim,
		same:     sameQueries,
		changed: func() {
			if f := a.changed.Load(); f != nil {
				(*f)()
			}
		},
	})
	return a, err
}

// Run watches until the context ends, and calls changed, which must not block, after changes. It
// may be called once.
func (a *ApplicationSets) Run(ctx context.Context, changed func()) {
	a.changed.Store(&changed)
	a.follower.run(ctx)
}

// List returns the ApplicationSets that query our plugin, sorted by name, and whether the list is
// complete.
func (a *ApplicationSets) List() ([]facts.ApplicationSet, bool) {
	if !a.follower.synced() {
		return nil, false
	}
	var out []facts.ApplicationSet
	for _, o := range a.follower.objects() {
		if s, ok := o.(*applicationSet); ok && (s.asks.Templated || len(s.asks.Requests) > 0) {
			out = append(out, s.asks)
		}
	}
	slices.SortFunc(out, func(x, y facts.ApplicationSet) int { return strings.Compare(x.Name, y.Name) })
	return out, true
}

// Refresh makes Argo CD send an ApplicationSet's queries now, if it exists.
func (a *ApplicationSets) Refresh(ctx context.Context, name string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		refreshAnnotation: "true", refreshedAtAnnotation: time.Now().UTC().Format(time.RFC3339Nano),
	}}})
	if err != nil {
		return err
	}
	_, err = a.client.Patch(ctx, name, mergePatch, patch, metav1.PatchOptions{FieldManager: "argosy"})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return a.follower.short(err, "patch on applicationsets.argoproj.io")
}

// applicationSet is the stored part of an ApplicationSet.
type applicationSet struct {
	metav1.ObjectMeta
	asks facts.ApplicationSet
}

// sameQueries reports whether two versions of an ApplicationSet have the same queries, and both or
// neither failed.
func sameQueries(old, updated any) bool {
	a, ok := old.(*applicationSet)
	b, also := updated.(*applicationSet)
	return ok && also && reflect.DeepEqual(a.asks, b.asks)
}

// trim keeps the name of an ApplicationSet, its queries, and whether they failed.
func (a *ApplicationSets) trim(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil // trimmed already, or a tombstone
	}
	s := &applicationSet{asks: facts.ApplicationSet{Name: u.GetName()}}
	s.Name, s.Namespace, s.UID, s.ResourceVersion = u.GetName(), u.GetNamespace(), u.GetUID(), u.GetResourceVersion()
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "ErrorOccurred" && c["status"] == "True" {
			s.asks.Failed = true
		}
	}
	all, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "generators")
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("generators of ApplicationSet %q: %w", s.Name, err)
	}
	var generators []generator
	// Skip fields that contradict the custom resource definition: Argo CD cannot use them either.
	_ = json.Unmarshal(text, &generators)
	for _, g := range generators {
		add(&s.asks, g, a.configMap, false)
	}
	return s, nil
}

// generator is the part that we read of an element of spec.generators (argo-cd v2.14,
// pkg/apis/application/v1alpha1/applicationset_types.go).
type generator struct {
	Plugin *struct {
		ConfigMapRef struct {
			Name string `json:"name"`
		} `json:"configMapRef"`
		Input struct {
			Parameters json.RawMessage `json:"parameters"`
		} `json:"input"`
	} `json:"plugin"`
	Matrix *combination `json:"matrix"`
	Merge  *combination `json:"merge"`
}

type combination struct {
	Generators []generator `json:"generators"`
}

// add adds the queries of a generator. Argo CD templates only the parameters of nested generators.
func add(s *facts.ApplicationSet, g generator, configMap string, nested bool) {
	if p := g.Plugin; p != nil && p.ConfigMapRef.Name == configMap {
		parameters := p.Input.Parameters
		if len(parameters) == 0 || string(parameters) == "null" {
			parameters = json.RawMessage("{}")
		}
		if nested && strings.Contains(string(parameters), "{{") {
			s.Templated = true
		} else {
			s.Requests = append(s.Requests, parameters)
		}
	}
	for _, c := range []*combination{g.Matrix, g.Merge} {
		if c == nil {
			continue
		}
		for _, inner := range c.Generators {
			add(s, inner, configMap, true)
		}
	}
}
