package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

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
