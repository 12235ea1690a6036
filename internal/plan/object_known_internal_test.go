package plan

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/expand/manifest"
	"github.com/argosy-hub/argosy/internal/expand/object"
)

// An object that is called as its Application is comes and goes by itself.
func TestObjectsAreNotTheApplicationOfTheirName(t *testing.T) {
	t.Parallel()
	app := &object.Object{Engine: "hub", Tree: manifest.Tree{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": manifest.Tree{"name": "web-hub"},
	}}
	binding := &object.Object{Engine: "hub", Parent: app, Tree: manifest.Tree{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": manifest.Tree{"name": "web-hub"},
	}}
	x := &objects{after: &expand.Hub{}, changes: map[[2]string]Application{{"hub", "web-hub"}: {Name: "web-hub", Action: Change}}}
	for want, pair := range map[Action]expand.Pair{Create: {After: binding}, Remove: {Before: binding}} {
		if got, shown := x.object(pair); !shown || got.Action != want {
			t.Errorf("%s: shown %t as %q", want, shown, got.Action)
		}
	}
	if _, shown := x.object(expand.Pair{After: app}); shown {
		t.Error("the Application itself is in the plan twice")
	}
}
