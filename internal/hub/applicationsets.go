package hub

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
)

var applicationSets = resource{GroupVersion: applications.GroupVersion, plural: "applicationsets", kind: "ApplicationSet", what: "applicationsets"}

// ApplicationSets watches the ApplicationSets of one namespace.
type ApplicationSets struct {
	configMap string
	follower  *follower[facts.ApplicationSet]
}

// NewApplicationSets watches the ApplicationSets whose plugin generator names a ConfigMap. It sends
// no request before Run.
func NewApplicationSets(o Options, configMap string) (*ApplicationSets, error) {
	a := &ApplicationSets{configMap: configMap}
	var err error
	if a.follower, err = follow(o, applicationSets, "", a.reduce); err != nil {
		return nil, err
	}
	a.follower.verbs = "list, watch and patch"
	return a, nil
}

// Run watches until the context ends, and calls changed, which must not block, after changes. It
// may be called once.
func (a *ApplicationSets) Run(ctx context.Context, changed func()) {
	a.follower.changed = changed
	a.follower.run(ctx)
}

// List returns the ApplicationSets that query our plugin, sorted by name, and whether the list is
// complete.
func (a *ApplicationSets) List() ([]facts.ApplicationSet, bool) {
	if !a.follower.synced() {
		return nil, false
	}
	var out []facts.ApplicationSet
	for s := range a.follower.objects() {
		if s.Templated || len(s.Requests) > 0 {
			out = append(out, s)
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
	if err = a.follower.patch(ctx, name, patch); apierrors.IsNotFound(err) {
		return nil
	}
	return a.follower.short(err, applicationSets.permission("patch"))
}

// reduce returns the name of an ApplicationSet, its queries, and whether they failed.
func (a *ApplicationSets) reduce(o *object, _ *facts.ApplicationSet, _ time.Time) facts.ApplicationSet {
	out := facts.ApplicationSet{Name: o.Name, Failed: o.condition("ErrorOccurred").Status == "True"}
	var generators []generator
	// Skip fields that contradict the custom resource definition: Argo CD cannot use them either.
	_ = json.Unmarshal(o.Spec.Generators, &generators)
	for _, g := range generators {
		add(&out, g, a.configMap, false)
	}
	return out
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
