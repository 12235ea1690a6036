package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
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
	// An Application that changes by its parameter set does not come or go by it.
	for _, pair := range []expand.Pair{{After: app}, {Before: app}} {
		if _, shown := x.object(pair); !shown {
			t.Errorf("an Application that comes or goes is hidden by a change: %v", pair)
		}
	}
	x.changes[[2]string{"hub", "web-hub"}] = Application{Name: "web-hub", Action: Create}
	if _, shown := x.object(expand.Pair{After: app}); shown {
		t.Error("the Application itself is in the plan twice")
	}
}

// TestOnlyTheSameIsImplied: a changed value or version of a component explains the fields that say
// the same, and no others.
func TestOnlyTheSameIsImplied(t *testing.T) {
	t.Parallel()
	app := &object.Object{Tree: manifest.Tree{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}}
	side := func(v any) *Side { return &Side{Value: v} }
	known := Application{View: query.Components, Action: Change, Differences: []Difference{
		{Kind: Setting, Name: "chart.version", Old: side("1"), New: side("2")},
		{Kind: Setting, Name: "chart.repoURL", Old: side("example.com/a"), New: side("example.com/b")},
		{Kind: Value, Name: "replicas", Old: side(1), New: side(2)},
	}}
	for _, c := range []struct {
		name, old, updated string
		want               bool
	}{
		{"spec.sources.0.targetRevision", "1", "2", true},
		{"spec.sources.1.targetRevision", "v1", "v2", false},
		{"spec.sources.1.targetRevision", "1", "3", false},
		{"spec.source.repoURL", "oci://example.com/a", "oci://example.com/b", true},
		{"spec.sources.0.helm.values.replicas", "1", "2", true},
		{"spec.source.helm.valuesObject.replicas", "1", "2", true},
		{"spec.sources.0.helm.values.hostNetwork", "false", "true", false},
		{"spec.sources.0.helm.values", "x", "y", true},
	} {
		assert.Equal(t, c.want, isImplied(Difference{Name: c.name, Old: side(c.old), New: side(c.updated)}, app, known, true), "%s from %s to %s: implied", c.name, c.old, c.updated)
	}
	moved := Difference{Name: "spec.source.helm.values.size", Old: side(1)}
	if isImplied(moved, app, known, true) {
		t.Error("a value of a source that goes is implied by nothing")
	}
	known.Differences = append(known.Differences, Difference{Name: "companions.extra.chart.name", New: side("x")})
	if !isImplied(moved, app, known, true) {
		t.Error("the first companion lists all values of the component as removed")
	}
}

// TestObjectDifferencesAreBounded: the plan shows the first differences of an object that a chart
// makes, and nothing of what a Secret holds.
func TestObjectDifferencesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("same\n", 200)
	fields := func(n int) manifest.Tree {
		out := manifest.Tree{}
		for i := range 60 {
			out[fmt.Sprint("f", i)] = n
		}
		return out
	}
	list := func(n int) any { return make([]any, n) }
	for _, tt := range []struct {
		kind          string
		before, after manifest.Tree
		shown, more   int
		old, updated  any
	}{
		{"Role", manifest.Tree{"spec": fields(1)}, manifest.Tree{"spec": fields(2)}, maxFields, 60 - maxFields, float64(1), float64(2)},
		{"ConfigMap", manifest.Tree{"data": manifest.Tree{"a": long + "old"}}, manifest.Tree{"data": manifest.Tree{"a": long + "new\nend"}}, 1, 0, "line 201 of 201: old", "line 201 of 202: new"},
		{"ConfigMap", manifest.Tree{}, manifest.Tree{"data": manifest.Tree{"a": long}}, 1, 0, nil, "line 1 of 201: same"},
		{"ConfigMap", manifest.Tree{"data": manifest.Tree{"a": long + "old"}}, manifest.Tree{"data": manifest.Tree{"a": long + "old\nend"}}, 1, 0, "line 202 of 201: ", "line 202 of 202: end"},
		{"Role", manifest.Tree{"rules": list(1)}, manifest.Tree{"rules": list(2000)}, 1, 0, "[null]", "[null" + strings.Repeat(",null", 100)[:maxField-len("[null")-len("...")] + "..."},
		{"Secret", manifest.Tree{"data": manifest.Tree{"tls.key": "b2xk"}}, manifest.Tree{"data": manifest.Tree{"tls.key": "bmV3"}}, 1, 0, Hidden, Hidden},
		{"Secret", manifest.Tree{}, manifest.Tree{"stringData": manifest.Tree{"a.b": "plain"}}, 1, 0, nil, Hidden},
		{"Secret", manifest.Tree{"type": "a"}, manifest.Tree{"type": "b"}, 1, 0, "a", "b"},
	} {
		object := func(tree manifest.Tree) *object.Object {
			tree["apiVersion"], tree["kind"] = "v1", tt.kind
			return &object.Object{Tree: tree}
		}
		b, a := object(tt.before), object(tt.after)
		shown, more := bounded(a, fieldsOf(b, a))
		if len(shown) != tt.shown || more != tt.more {
			t.Errorf("%s: %d shown, %d more; want %d and %d", tt.kind, len(shown), more, tt.shown, tt.more)
			continue
		}
		side := func(s *Side) any {
			if s == nil {
				return nil
			}
			return s.Value
		}
		if old, updated := side(shown[0].Old), side(shown[0].New); fmt.Sprintf("%v|%v", old, updated) != fmt.Sprintf("%v|%v", tt.old, tt.updated) {
			t.Errorf("%s: %v -> %v; want %v -> %v", tt.kind, old, updated, tt.old, tt.updated)
		}
	}
}
