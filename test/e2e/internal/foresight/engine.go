package foresight

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

// Engine is one, and how it is looked at.
type Engine struct {
	Owner string // as the service calls it
	Kube  *kube.Client
	// All is what there is of some kinds. Of others, what is foreseen is looked at.
	All   func(testing.TB) []*unstructured.Unstructured
	Kinds []string
	// Ours tells what is foreseen that it makes; nil is all.
	Ours func(*unstructured.Unstructured) bool
	// Manager is who applies to its API server what is foreseen, and owns what it sets. Where there is one, an object is as foreseen if it
	// would be the same when that is applied again: the API server fills in defaults, and controllers add to it.
	Manager string
	// Applied is what Kustomizations of Flux have made of the fleet's own manifests, by whose engine the plan says.
	Applied func(testing.TB) map[string][]*unstructured.Unstructured
}

// outlook is what an engine is to have, and has.
type outlook struct {
	want, have objects
	// makers are the ApplicationSets' names, by those of their Applications; nobody's are not in it.
	makers map[string]string
	// left is what nobody makes any more, and stays as it was.
	left objects
	// applied is what Kustomizations have made.
	applied applied
}

// keeps has what there was of an Application stay.
func (o *outlook) keeps(application string, was *outlook) {
	for name, object := range was.want {
		if _, of, _ := strings.Cut(name, " "); of == application {
			o.want[name] = object
		}
	}
}

// leaves adds what is left behind, of old and since what there was, as long as nobody makes it again.
func (o *outlook) leaves(names []string, was *outlook) {
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

// live is what an engine has: all of the kinds that it is looked at for, and of others what is foreseen.
func (e Engine) live(t testing.TB, foreseen objects) map[string]*unstructured.Unstructured {
	t.Helper()
	out := map[string]*unstructured.Unstructured{}
	for _, object := range e.All(t) {
		out[id(object.GetKind(), object.GetName())] = object
	}
	for name, wanted := range foreseen {
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

// look is how what an engine has differs from what it is to have: Applications that another ApplicationSet controls are named, too.
func (e Engine) look(t testing.TB, o *outlook) string {
	t.Helper()
	live, want := e.live(t, o.want), maps.Clone(o.want)
	var misowned []string
	for name, object := range live {
		if maker, want := kube.Controller(object), o.makers[name]; object.GetKind() == "Application" && maker != want {
			misowned = append(misowned, fmt.Sprintf("%s is controlled by %q; foreseen is %q", name, maker, want))
		}
		if e.Manager != "" && o.want[name] != nil {
			applied, err := e.Kube.WouldBe(t.Context(), e.Manager, &unstructured.Unstructured{Object: o.want[name]})
			if err != nil {
				t.Fatal(err)
			}
			want[name] = told(t, applied)
		}
	}
	slices.Sort(misowned)
	o.have = toldAll(t, live)
	if e.Applied != nil {
		o.applied = appliedBy(t, e.Applied(t))
	}
	return cmp.Or(differing(want, o.have), strings.Join(misowned, "\n"))
}
