package plancheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// Engine is one engine, and how its live objects are read.
type Engine struct {
	Owner string // as the service calls it
	Kube  *kube.Client
	// All lists every live object of Kinds. Of other kinds, only desired objects are read.
	All   func(testing.TB) []*unstructured.Unstructured
	Kinds []string
	// Ours reports whether the engine makes a desired object; nil means every object.
	Ours func(*unstructured.Unstructured) bool
	// Manager is the field manager that applies desired objects. With one, an object is as desired
	// when a repeated apply would not change it: the API server fills in defaults, and
	// controllers add to it.
	Manager string
	// Applied are the objects that Flux's Kustomizations made from the fleet's own manifests, by
	// the engine that the plan names.
	Applied func(testing.TB) map[string][]*unstructured.Unstructured
}

// objectsOf are an engine's desired and live objects.
type objectsOf struct {
	want, have objects
	// makers are the names of ApplicationSets by Application; those without one are absent.
	makers map[string]string
	// left are the objects that no ApplicationSet makes any more, and that stay unchanged.
	left objects
	// applied are the objects that Kustomizations made.
	applied applied
}

// keeps makes the previous state of an Application the desired one.
func (o *objectsOf) keeps(application string, was *objectsOf) {
	for name, object := range was.want {
		if _, of, _ := strings.Cut(name, " "); of == application {
			o.want[name] = object
		}
	}
}

// leaves adds the objects that are left behind, earlier ones included, unless an engine makes
// them now.
func (o *objectsOf) leaves(names []string, was *objectsOf) {
	o.left = objects{}
	if was == nil {
		return
	}
	maps.Copy(o.left, was.left)
	for _, name := range names {
		o.left[name] = was.have[name]
	}
	maps.DeleteFunc(o.left, func(name string, _ map[string]any) bool { return o.want[name] != nil })
	maps.Copy(o.want, o.left)
}

// live reads an engine's objects: all of its Kinds, and of other kinds the desired ones.
func (e Engine) live(t testing.TB, desired objects) map[string]*unstructured.Unstructured {
	t.Helper()
	out := map[string]*unstructured.Unstructured{}
	for _, object := range e.All(t) {
		out[id(object.GetKind(), object.GetName())] = object
	}
	for name, wanted := range desired {
		object := &unstructured.Unstructured{Object: wanted}
		if slices.Contains(e.Kinds, object.GetKind()) {
			continue
		}
		there, err := e.Kube.Same(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		if there != nil {
			out[name] = there
		}
	}
	return out
}

// compare describes how the live objects differ from the desired ones. It names Applications that
// another ApplicationSet controls, too.
func (e Engine) compare(t testing.TB, o *objectsOf) string {
	t.Helper()
	live, want := e.live(t, o.want), maps.Clone(o.want)
	var misowned []string
	for name, object := range live {
		if maker, want := kube.Controller(object), o.makers[name]; object.GetKind() == "Application" && maker != want {
			misowned = append(misowned, fmt.Sprintf("%s is controlled by %q; expected %q", name, maker, want))
		}
		if e.Manager != "" && o.want[name] != nil {
			applied, err := e.Kube.WouldBe(t.Context(), e.Manager, &unstructured.Unstructured{Object: o.want[name]})
			if err != nil {
				t.Fatal(err)
			}
			want[name] = Normalized(t, applied)
		}
	}
	slices.Sort(misowned)
	o.have = normalizedAll(t, live)
	if e.Applied != nil {
		o.applied = appliedBy(t, e.Applied(t))
	}
	return cmp.Or(differing(want, o.have), strings.Join(misowned, "\n"))
}
